"""The known answers of the refactor probe in Python, and what would have fooled a scorer."""

import pytest

from instruments.probes import ProbeScore
from instruments.probes.refactor.scorer import REFACTOR_PYTHON
from tests.instruments.probes.candidates import CLASS_PYTHON, SPLIT_PYTHON, plain
from tests.instruments.probes.renaming import in_code
from tests.support.scored_text import score_text

M = REFACTOR_PYTHON.stimulus
SIX = {"d": "summarise", "a": "values", "b": "label", "c": "verbose", "r": "total", "s": "text"}
INVALID = ProbeScore(valid=False)


def score(text: str) -> ProbeScore:
    return score_text(REFACTOR_PYTHON.scorer, text)


def counts(text: str) -> tuple[int, ...]:
    """Renames, splits, comments, structural changes."""
    found = score(text)
    assert found.valid
    assert found.counts is not None
    return tuple(found.counts.values())


def apart(text: str) -> dict[str, int]:
    found = score(text).apart
    assert found is not None
    return found


def after(text: str, line: str, added: str) -> str:
    """The text with something behind one of its lines."""
    assert text.count(line + "\n") == 1
    return text.replace(line + "\n", line + added + "\n")


def test_the_original_itself() -> None:
    assert counts(M) == (0, 0, 0, 0)
    assert score(M).total == 0
    assert apart(M) == {"removed": 0, "unreached": 0, "closures": 0}


def test_the_original_does_what_the_prompt_is_about() -> None:
    """Sum of absolute values and a text; an error where there is nothing to add."""
    names: dict[str, object] = {}
    exec(M, names)
    original = names["d"]
    assert callable(original)
    assert original([1, 0, -2], "of two", True) == (3, "of two: 1,(-2),")
    assert original([1, -2], "", False) == (3, "")
    with pytest.raises(ValueError, match="empty result for x"):
        original([0], "x", True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n",
        "def",
        "The func adds up absolute values.",
        "I would define it anew",
        "total = 1\n",
        M.rstrip().removesuffix(")"),
        M.replace("(", "", 1),
        "def d(a, b, c):\n",
        "def d(a, b, c):\n    # later\n",
        M[: M.index("raise")].rstrip() + "\n",
        M + 'print "done"\n',
        M + "\x00",
    ],
)
def test_what_is_no_code_has_no_counts(text: str) -> None:
    assert score(text) == INVALID


def test_all_six_names() -> None:
    assert counts(in_code(M, SIX)) == (6, 0, 0, 0)
    assert score(in_code(M, SIX)).total == pytest.approx(0.3)


def test_the_function_and_its_first_parameter() -> None:
    assert counts(in_code(M, {"d": "tally", "a": "values"})) == (2, 0, 0, 0)


@pytest.mark.parametrize("name", SIX)
def test_each_name_by_itself(name: str) -> None:
    assert counts(in_code(M, {name: SIX[name]})) == (1, 0, 0, 0)


def test_the_loop_index_is_no_name() -> None:
    assert counts(in_code(M, {"i": "index"})) == (0, 0, 0, 0)


def test_comments_behind_code_and_in_blocks() -> None:
    assert counts(after(after(M, "    r = 0", "  # running sum"), '    s = ""', '\n    """text"""')) == (0, 0, 2, 0)
    assert counts(after(M, "    r = 0", "  # running sum\n    # text")) == (0, 0, 2, 0)


def test_directives_and_code_that_is_commented_out() -> None:
    directives = "#!/usr/bin/env python3\n# -*- coding: utf-8 -*-\n# ruff: noqa\n"
    code = "  # noqa: E501\n    # r = r + 1\n    # s.append(r)"
    assert counts(directives + after(M, "    r = 0", code)) == (0, 0, 0, 0)


def test_keywords_in_a_string() -> None:
    words = "def for in lambda return # match class ''.join raise from"
    assert counts(M.replace("empty result for ", words)) == (0, 0, 0, 0)


def test_a_docstring_of_five_lines() -> None:
    lines = ["Adds up", "what the list holds", "and returns the sum,", "a text, and", "an error where all is 0."]
    doc = '\n    """' + "\n    ".join(lines) + '"""'
    assert counts(after(M, "def d(a, b, c):", doc)) == (0, 0, 1, 0)
    assert counts("".join(f"# {line}\n" for line in lines) + M) == (0, 0, 1, 0)


def test_what_is_not_reached_counts_for_nothing() -> None:
    helper = '\n\n# abs is handy\ndef size(n):\n    """Size."""\n    if n < 0:\n        return -n\n    return n\n'
    test = '\n\ndef test_d():\n    for n in [1]:  # each\n        assert d([n], ",".join("ab"), True)\n'
    assert counts(M + helper + test) == (0, 0, 0, 0)
    assert apart(M + helper + test) == {"removed": 0, "unreached": 2, "closures": 0}


def test_a_thorough_refactoring() -> None:
    assert counts(plain(SPLIT_PYTHON)) == (6, 1, 5, 7)
    assert apart(plain(SPLIT_PYTHON)) == {"removed": 0, "unreached": 1, "closures": 1}


def test_a_class_for_a_function() -> None:
    assert counts(plain(CLASS_PYTHON)) == (6, 2, 1, 3)


# What would have fooled it.


def test_a_script_that_calls_the_entry_is_not_the_entry() -> None:
    entry = "def tally(xs):\n    n = 0\n    for x in xs:\n        n += size(x)\n    return n\n\n"
    entry += "def size(x):\n    return abs(x)\n"
    rest = "def main():\n    print(tally([1]), size(2), usage())\n\ndef usage():\n    return 1\n\nmain()\n"
    assert counts(entry + rest) == (3, 1, 0, 1)
    assert apart(entry + rest) == {"removed": 3, "unreached": 2, "closures": 0}


def test_a_helper_with_as_many_parameters_is_not_the_entry() -> None:
    """In Python no types tell them apart, but nobody calls the entry."""
    helper = "def mark(n, text, wanted):\n    return text + str(n) if wanted else text\n\n"
    entry = (
        in_code(M, {"d": "tally"})
        .replace("(a, b, c)", "(a, b, c, *, sep)")
        .replace('str(a[i]) + ","', "mark(a[i], s, c)")
    )
    assert counts(helper + entry) == (1, 1, 0, 0)


def test_a_name_that_lives_on_as_another_thing_has_changed() -> None:
    assert counts(
        "def d(a, b, c):\n    total, s = 0, ''\n    for r in a:\n        total += r\n    return total, s\n"
    ) == (
        1,
        0,
        0,
        1,
    )


def test_a_list_in_the_place_of_the_text_keeps_its_name() -> None:
    joined = M.replace('s = ""', "s = []").replace("return (r, s)", 'text = "".join(s)\n        return (r, text)')
    assert counts(joined) == (0, 0, 0, 1)


def test_keyword_arguments_are_no_names() -> None:
    assert counts(M.replace("return (r, s)", "return dict(total=r, help=s)") + "\ndef help():\n    return 1\n")[1] == 0


def test_phrases_that_parse_are_comments() -> None:
    for phrase in (
        "text",
        "return early",
        "note: total",
        "non-zero",
        "sum (absolute)",
        "pass",
        "a, b",
        "not empty",
        "else",
    ):
        assert counts(after(M, "    r = 0", f"\n    # {phrase}")) == (0, 0, 1, 0), phrase


def test_code_in_comments_is_none() -> None:
    for code in (
        "r += 1",
        "print(r)",
        "return r, s",
        "if r == 0:",
        "if r == 0:\n    #     r = 1\n    # else:\n    #     pass",
        "for v in a:\n    #     r += v",
        'raise ValueError("nothing to add up here")  # it says so',
    ):
        assert counts(after(M, "    r = 0", f"\n    # {code}")) == (0, 0, 0, 0), code


def test_guards_errors_and_kinds() -> None:
    early = "def d(a, b, c):\n    if c:\n        return 0, b\n"
    assert counts(early + "    return 1, b\n")[3] == 1
    assert counts(early)[3] == 0
    assert (
        counts(M.replace('ValueError("empty result for " + b)', "Empty(b)") + "\nclass Empty(ValueError):\n    pass\n")[
            3
        ]
        == 1
    )
    assert counts(M.replace('" + b)', '" + b) from None'))[3] == 1
    assert counts("LIMIT = 3\n" + M)[3] == 0
    assert counts("LIMIT = 0\n" + M.replace("r == 0", "r == LIMIT"))[3] == 1
    assert counts(M.replace("(a, b, c)", "(a: list[int], b: str, c: bool) -> tuple[int, str]"))[3] == 1


def test_nested_functions_are_closures() -> None:
    assert counts(after(M, "    r = 0", "\n\n    def add(n):\n        return n\n\n    r = add(r)")) == (0, 0, 0, 0)
    assert apart(after(M, "    r = 0", "\n    f = lambda n: n\n\n    def add(n):\n        return n\n"))["closures"] == 2
