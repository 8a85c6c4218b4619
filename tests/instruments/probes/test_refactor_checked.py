"""The second refactor scorer: what computes something else, or is padded, scores below every right answer."""

import ast
import shutil

import pytest

from instruments.probes import PROBES, ProbeScore, Unscored, find_probe, scorer_name
from instruments.probes.refactor.behaviour import PythonProgram
from instruments.probes.refactor.checked_scorer import (
    BEHAVIOUR_SHARE,
    REFACTOR_GO_CHECKED,
    REFACTOR_PYTHON_CHECKED,
    CheckedRefactorScorer,
)
from instruments.probes.refactor.hidden_inputs import hidden_arguments
from instruments.probes.refactor.python import PYTHON
from instruments.sandbox.process import SandboxUnavailable
from tests.instruments.probes import answers_go, answers_python
from tests.instruments.probes.renaming import in_code
from tests.instruments.probes.test_refactor_python import SIX
from tests.instruments.sandbox.python_escapes import CALL, ESCAPES, FORGERIES, HEAD

SCORERS = {"python": REFACTOR_PYTHON_CHECKED.scorer, "go": REFACTOR_GO_CHECKED.scorer}
RIGHT = [*(("python", n) for n in answers_python.RIGHT), *(("go", n) for n in answers_go.RIGHT)]
BAD = [*(("python", n) for n in answers_python.BAD), *(("go", n) for n in answers_go.BAD)]
LEAST_RIGHT = 0.42
"""Every right answer has at least this, every other one less."""

M = REFACTOR_PYTHON_CHECKED.stimulus


def scored(language: str, answer: str) -> ProbeScore:
    if language == "go" and shutil.which("go") is None:
        pytest.skip("there is no Go here")
    found = SCORERS[language].score(answer)
    if isinstance(found, Unscored):
        pytest.skip(f"there is no sandbox here: {found.reason}")
    return found


def counts(language: str, answer: str) -> tuple[int, ...]:
    """Renames, splits, comments, structural changes."""
    found = scored(language, answer).counts
    assert found is not None
    return tuple(found.values())


@pytest.mark.slow
@pytest.mark.parametrize(("language", "name"), RIGHT)
def test_a_right_answer(language: str, name: str) -> None:
    found = scored(language, {"python": answers_python, "go": answers_go}[language].RIGHT[name])
    assert found.dimensions == {"behaviour": 1.0}
    assert found.total is not None
    assert found.total >= LEAST_RIGHT


@pytest.mark.slow
@pytest.mark.parametrize(("language", "name"), BAD)
def test_a_bad_answer_is_below_every_right_one(language: str, name: str) -> None:
    found = scored(language, {"python": answers_python, "go": answers_go}[language].BAD[name])
    assert found.valid
    assert found.dimensions is not None
    if name.startswith("padded"):
        assert found.dimensions["behaviour"] == 1.0
        assert found.total == BEHAVIOUR_SHARE < LEAST_RIGHT
    else:
        assert found.dimensions["behaviour"] < 1.0
        assert found.total == 0.0


IMPORTS = [
    "import os; import logging\nlog = logging.getLogger('x')\n",
    "import sys; import decimal\n",
    "import math, \\\n    fractions\n",
    "import dataclasses as dc, decimal\n",
    "if True: import decimal\n",
    "from logging import config\n",
    "import traceback, hashlib\nfrom secrets import choice\n",
    "\ufeff",
]


@pytest.mark.slow
@pytest.mark.parametrize("line", IMPORTS)
def test_the_form_of_an_import_or_a_byte_order_mark_changes_no_behaviour(line: str) -> None:
    found = scored("python", line + answers_python.MINIMAL)
    assert found.dimensions == {"behaviour": 1.0}
    assert "failed_imports" not in (found.apart or {})


@pytest.mark.slow
@pytest.mark.parametrize("line", ["import pytest\n", "from numpy import array as a, zeros\n", "\n"])
def test_a_score_says_that_an_import_failed(line: str) -> None:
    inner = "" if line.strip() else "    import socketserver\n"
    found = scored("python", line + answers_python.MINIMAL.replace("    r = 0\n", f"{inner}    r = 0\n"))
    assert found.total == 0.0
    assert found.apart is not None
    assert found.apart["failed_imports"] == 160


def test_there_are_answers_of_every_kind() -> None:
    assert len(RIGHT) + len(BAD) >= 30
    for answers in (answers_python, answers_go):
        assert {name.split(":")[0] for name in answers.BAD} == {"gutted", "wrong", "unrelated", "padded"}
    texts = [
        *answers_python.RIGHT.values(),
        *answers_python.BAD.values(),
        *answers_go.RIGHT.values(),
        *answers_go.BAD.values(),
    ]
    assert len(set(texts)) == len(texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ESCAPES, *FORGERIES])
def test_an_attempt_to_escape_or_to_forge_gets_nothing(name: str) -> None:
    """An attempt that ends or outlasts the program is in tests/instruments/sandbox."""
    attempt = {**ESCAPES, **FORGERIES}[name]
    source = attempt if name in FORGERIES else f"{HEAD}{attempt}\n{CALL}"
    ast.parse(source.replace("PORT", "1").replace("PARENT", "1"))
    found = scored("python", source.replace("PORT", "1").replace("PARENT", "1"))
    assert found.valid
    assert found.total == 0.0


# The counts are those of the first version, where credit is due.


@pytest.mark.slow
def test_known_counts_that_stay() -> None:
    assert counts("python", M) == (0, 0, 0, 0)
    assert counts("python", in_code(M, SIX)) == (6, 0, 0, 0)
    assert counts("python", in_code(M, {"d": "tally", "a": "values"})) == (2, 0, 0, 0)
    text = M.replace("    r = 0\n", "    r = 0  # running sum\n").replace(
        '    s = ""\n', '    s = ""\n    """text"""\n'
    )
    assert counts("python", text) == (0, 0, 2, 0)
    assert counts("python", M.replace("    r = 0\n", "    r = 0  # noqa\n    # r = r + 1\n")) == (0, 0, 0, 0)
    assert counts("python", M.replace("empty result for ", "def for in lambda # match raise from")) == (0, 0, 0, 0)
    helper = '\n\ndef size(n):\n    """Magnitude of a reading."""\n    return abs(n)\n'
    assert counts("python", M + helper) == (0, 0, 0, 0)
    assert scored("python", M + helper).apart == {
        "removed": 0, "unreached": 1, "closures": 0, "idle_helpers": 0, "restating_comments": 0,
    }  # fmt: skip
    doc = '    """Adds magnitudes\n    and describes parts,\n    or raises an error for zeros."""\n'
    assert counts("python", M.replace("c):\n", "c):\n" + doc, 1)) == (0, 0, 1, 0)


@pytest.mark.slow
def test_known_counts_that_stay_in_go() -> None:
    original = REFACTOR_GO_CHECKED.stimulus
    assert counts("go", original) == (0, 0, 0, 0)
    assert counts("go", in_code(original, SIX)) == (6, 0, 0, 0)
    assert counts("go", in_code(original, {"d": "tally", "a": "values"})) == (2, 0, 0, 0)
    two = original.replace("\tr := 0\n", "\tr := 0 // running sum\n").replace('\ts := ""\n', '\ts := "" /* text */\n')
    assert counts("go", two) == (0, 0, 2, 0)
    assert counts("go", "//go:noinline\n" + original.replace("\tr := 0\n", "\tr := 0\n\t// r = 1\n")) == (0, 0, 0, 0)
    rest = '\nfunc size(n int) int { return n * n }\n\nfunc TestD() { d(nil, "", true) }\n'
    assert counts("go", original + rest) == (0, 0, 0, 0)
    assert (scored("go", original + rest).apart or {})["unreached"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("language", SCORERS)
def test_what_is_no_code_is_invalid(language: str) -> None:
    for text in ("", "the func adds", REFACTOR_GO_CHECKED.stimulus[:-2], "def d(a, b, c):\n", "\x00"):
        assert SCORERS[language].score(text) == ProbeScore(valid=False)


@pytest.mark.slow
def test_comments_alone_are_no_refactoring_and_beside_one_they_count() -> None:
    comments = M.replace("    r = 0\n", "    # magnitudes, not values\n    r = 0\n")
    loop = comments.replace("for i in range(len(a)):", "for v in a:").replace("a[i]", "v")
    bare = M.replace("for i in range(len(a)):", "for v in a:").replace("a[i]", "v")
    totals = [scored("python", text).total or 0 for text in (M, comments, bare, loop)]
    assert totals[0] == totals[1] == BEHAVIOUR_SHARE < totals[2] < totals[3]


@pytest.mark.slow
def test_a_function_whose_name_another_takes_does_nothing() -> None:
    used = M.replace("r = r + a[i]", "r = plus(r, a[i])") + "\n\ndef plus(left, right):\n    return left - right\n"
    assert counts("python", used.replace("left - right", "left + right"))[1] == 1
    taken = scored("python", used + "\n\nimport operator\n\nplus = operator.add\n")
    assert taken.dimensions == {"behaviour": 1.0}
    assert (taken.counts or {})["function_splits"] == 0
    assert (taken.apart or {})["idle_helpers"] == 1


@pytest.mark.slow
def test_a_score_is_the_same_each_time_and_its_arguments_follow_from_the_bytes() -> None:
    fresh = CheckedRefactorScorer("refactor-python", "2", PYTHON, M, PythonProgram)
    answer = answers_python.RIGHT["comprehensions"]
    assert fresh.score(answer) == scored("python", answer)
    one, again, other = (hidden_arguments("p", text) for text in (answer, answer, answer + "\n"))
    assert one == again != other
    assert len(one) >= 100
    assert hidden_arguments("q", answer) != one


def test_without_a_sandbox_there_is_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SandboxUnavailable("nothing protects here")

    monkeypatch.setattr("instruments.probes.refactor.behaviour.run_in_sandbox", refuse)
    assert SCORERS["python"].score(M + "# now\n") == Unscored("nothing protects here")
    monkeypatch.setenv("PATH", "")
    assert SCORERS["go"].score(REFACTOR_GO_CHECKED.stimulus + "// now\n") == Unscored(
        "there is no Go toolchain: `go` is not on PATH"
    )


def test_both_versions_are_there() -> None:
    for probe in (REFACTOR_GO_CHECKED, REFACTOR_PYTHON_CHECKED):
        assert probe in PROBES
        assert find_probe(probe.id) is probe
        assert [scorer_name(scorer) for scorer in probe.scorers] == [f"{probe.id}@2", f"{probe.id}@1"]
        assert isinstance(probe.older_scorers[0].score(probe.stimulus), ProbeScore)
