"""The known answers of the refactor probe in Go, and what would have fooled a scorer."""

import pytest

from instruments.probes import ProbeScore
from instruments.probes.refactor.scorer import REFACTOR_GO
from tests.instruments.probes.candidates import NAMED_GO, SPLIT_GO, plain
from tests.instruments.probes.renaming import in_code
from tests.support.scored_text import score_text

M = REFACTOR_GO.stimulus
SIX = {"d": "Summarise", "a": "values", "b": "label", "c": "verbose", "r": "total", "s": "text"}
INVALID = ProbeScore(valid=False)


def score(text: str) -> ProbeScore:
    return score_text(REFACTOR_GO.scorer, text)


def counts(text: str) -> tuple[int, ...]:
    """Renames, splits, comments, structural changes."""
    found = score(text)
    assert found.valid
    assert found.counts is not None
    assert list(found.counts) == ["renames", "function_splits", "comments_added", "structural_changes"]
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
    assert 20 <= M.count("\n") <= 30


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t\n",
        "func",
        "The func adds up absolute values and returns an error when there is nothing to add.",
        "I would not refactor this func: it is fine.\n\nfunc",
        M.rstrip().removesuffix("}"),
        M.replace("{", "", 1),
        "func d(a []int, b string, c bool) (int, string, error)\n",
        "package d\n\nvar d = 1\n",
        "Sure\n\n" + M,
        M + "d(nil, b, true)\n",
        M + "\x00",
    ],
)
def test_what_is_no_code_has_no_counts(text: str) -> None:
    assert score(text) == INVALID


def test_all_six_names() -> None:
    assert counts(in_code(M, SIX)) == (6, 0, 0, 0)
    assert score(in_code(M, SIX)).total == pytest.approx(0.3)


def test_the_function_and_its_first_parameter() -> None:
    assert counts(in_code(M, {"d": "Sum", "a": "values"})) == (2, 0, 0, 0)


@pytest.mark.parametrize("name", SIX)
def test_each_name_by_itself(name: str) -> None:
    assert counts(in_code(M, {name: SIX[name]})) == (1, 0, 0, 0)


def test_the_loop_index_is_no_name() -> None:
    assert counts(in_code(M, {"i": "index"})) == (0, 0, 0, 0)


def test_comments_behind_code_and_in_blocks() -> None:
    assert counts(after(after(M, "\tr := 0", " // running sum"), '\ts := ""', " /* text */")) == (0, 0, 2, 0)
    assert counts(after(M, "\tr := 0", " // running sum\n\t/* text */")) == (0, 0, 2, 0)


def test_directives_and_code_that_is_commented_out() -> None:
    assert counts("//go:noinline\n" + after(M, "\tr := 0", "\n\t// r = r + 1\n\t// s = append(s, r)")) == (0, 0, 0, 0)


def test_keywords_in_a_string() -> None:
    words = "func range switch return // const type /* strings.Builder */ var e = errors.New if for %%w"
    assert counts(M.replace("empty result for", words)) == (0, 0, 0, 0)


def test_a_doc_comment_of_five_lines() -> None:
    lines = ["d adds up", "what the slice holds", "and returns the sum,", "a text, and", "an error where all is 0."]
    assert counts("".join(f"// {line}\n" for line in lines) + M) == (0, 0, 1, 0)


def test_what_is_not_reached_counts_for_nothing() -> None:
    helper = "\n// abs is handy\nfunc abs(n int) int {\n\tif n < 0 {\n\t\treturn -n\n\t}\n\treturn n\n}\n"
    test = "\nfunc TestD(t *testing.T) {\n\tfor _, n := range []int{1} { // each\n\t\td([]int{n}, b, true)\n\t}\n}\n"
    assert counts(M + helper + test) == (0, 0, 0, 0)
    assert apart(M + helper + test) == {"removed": 0, "unreached": 2, "closures": 0}


def test_a_thorough_refactoring() -> None:
    assert counts(plain(SPLIT_GO)) == (6, 2, 4, 6)
    assert apart(plain(SPLIT_GO)) == {"removed": 0, "unreached": 1, "closures": 1}
    assert score(plain(SPLIT_GO)).total == pytest.approx(0.3 + 0.25 * 2 / 3 + 0.2 + 0.25)


def test_named_results_are_locals() -> None:
    assert counts(plain(NAMED_GO)) == (6, 1, 2, 3)


def test_nothing_counts_beyond_its_cap() -> None:
    helpers = "".join(f"func h{n}() {{}}\n" for n in range(9))
    assert score(after(M, "\tr := 0", "".join(f"\n\th{n}()" for n in range(9))) + helpers).total == pytest.approx(0.25)


# What would have fooled it.


def test_a_program_that_calls_the_entry_is_not_the_entry() -> None:
    """With another signature the entry is the root that reaches most: main would reach more than it."""
    entry = "func Sum(xs ...int) int {\n\tn := 0\n\tfor _, x := range xs {\n\t\tn += abs(x)\n\t}\n\treturn n\n}\n"
    rest = "func abs(x int) int { return x }\nfunc main() { print(Sum(1)); help() }\nfunc help() {}\n"
    found = score("package main\n" + entry + rest)
    assert found.counts is not None
    assert found.counts["function_splits"] == 1
    assert apart(entry + rest) == {"removed": 3, "unreached": 2, "closures": 0}


def test_a_name_that_lives_on_as_another_thing_has_changed() -> None:
    """The text still says `r`, but the sum is called something else now."""
    assert counts(
        """\
func d(a []int, b string, c bool) (int, string, error) {
	sum, s := 0, ""
	for _, r := range a {
		sum += r
	}
	return sum, s, nil
}
"""
    ) == (1, 0, 0, 1)


def test_names_that_change_places_have_both_changed() -> None:
    assert counts(in_code(M, {"r": "s", "s": "r"})) == (2, 0, 0, 0)
    assert counts(in_code(M, {"b": "c", "c": "b"})) == (2, 0, 0, 0)


def test_parameters_that_change_places_have_not_changed() -> None:
    assert counts(M.replace("a []int, b string, c bool", "c bool, a []int, b string")) == (0, 0, 0, 0)


def test_a_parameter_of_any_type_is_the_one_in_its_place() -> None:
    generic = M.replace("func d(a []int", "func d[T ~int](values []T")
    assert counts(generic) == (1, 0, 0, 0)
    assert apart(generic)["removed"] == 0


def test_a_builder_in_the_place_of_the_text_keeps_its_name() -> None:
    built = M.replace('s := ""', "var s strings.Builder").replace("return r, s, nil", "return r, s.String(), nil")
    assert counts(built) == (0, 0, 0, 1)


def test_a_local_that_hides_a_function_is_no_call() -> None:
    hidden = after(M, "\tr := 0", "\n\thelp := r") + "func help() int { return 1 }\n"
    assert counts(hidden) == (0, 0, 0, 0)
    assert counts(hidden.replace("help := r", "help := help()")) == (0, 1, 0, 0)


def test_a_call_of_another_package_is_no_call_of_ours() -> None:
    assert counts(M + "func Sprintf(s string) string { return s }\n") == (0, 0, 0, 0)


def test_a_function_that_is_handed_on_is_reached() -> None:
    assert counts(
        after(M, "\tr := 0", "\n\teach(a, mark)") + "func each(a []int, f func(int)) {}\nfunc mark(int) {}\n"
    ) == (
        0,
        2,
        0,
        0,
    )


def test_phrases_that_parse_are_comments() -> None:
    for phrase in ("text", "return early", "note: total", "non-zero", "sum (absolute)", "break", "a, b", "and so on"):
        assert counts(after(M, "\tr := 0", f"\n\t// {phrase}")) == (0, 0, 1, 0), phrase


def test_code_in_comments_is_none() -> None:
    for code in (
        "r++",
        "fmt.Println(r)",
        "return r, s, nil",
        "if r == 0 {",
        "if r == 0 {\n\t// \tr = 1\n\t// }",
        "for _, v := range a {\n\t// \tr += v\n\t// }",
        'return 0, "", fmt.Errorf("nothing to add up here") // it says so',
    ):
        assert counts(after(M, "\tr := 0", f"\n\t// {code}")) == (0, 0, 0, 0), code
    assert counts(after(M, "\tr := 0", "\n\t/*\n\tr = 1\n\ts = b\n\t*/")) == (0, 0, 0, 0)


def test_lines_that_say_nothing_are_no_comments() -> None:
    assert counts("// -----\n//\n" + M) == (0, 0, 0, 0)


def test_a_last_return_is_no_guard() -> None:
    early = "func d(a []int, b string, c bool) (int, string, error) {\n\tif c {\n\t\treturn 0, b, nil\n\t}\n"
    assert counts(early + "\treturn 1, b, nil\n}\n")[3] == 1
    assert counts(early + "\t// that was it\n}\n")[3] == 0


def test_errors_that_wrap_or_are_known_by_name() -> None:
    assert counts(M.replace("%s", "%w"))[3] == 1
    assert counts(M.replace("%s", "%%w"))[3] == 0
    assert counts(M.replace('fmt.Errorf("empty result for %s", b)', 'errors.New("empty")'))[3] == 0
    typed = M.replace('fmt.Errorf("empty result for %s", b)', "Empty(b)")
    assert counts(typed + "type Empty string\nfunc (e Empty) Error() string { return string(e) }\n") == (0, 1, 0, 1)


def test_what_a_type_is_asked_for_unnamed_is_reached() -> None:
    assert apart(M + "type T int\nfunc (t T) String() string { return d }\n")["unreached"] == 1


def test_a_method_that_is_called_is_reached() -> None:
    methods = "type tally struct{ n int }\nfunc (t *tally) add(n int) { t.n += n }\nfunc (t *tally) sub(n int) {}\n"
    assert counts(after(M, "\tr := 0", "\n\tn := &tally{}\n\tn.add(1)") + methods) == (0, 1, 0, 1)


def test_results_that_another_function_gives_are_its_locals() -> None:
    thin = "func d(a []int, b string, c bool) (int, string, error) {\n\treturn sum(a, b, c)\n}\n"
    assert counts(thin + in_code(M, {"d": "sum"})) == (0, 1, 0, 0)
    assert counts(thin + in_code(M, {"d": "sum", "r": "total"})) == (1, 1, 0, 0)


def test_results_in_a_struct_are_reported_apart() -> None:
    struct = M.replace("(int, string, error)", "(Sum, error)").replace(
        "return r, s, nil", "return Sum{N: r, Text: s}, nil"
    )
    assert counts(struct.replace('0, "", fmt', "Sum{}, fmt") + "type Sum struct {\n\tN int\n\tText string\n}\n") == (
        0,
        0,
        0,
        1,
    )


def test_a_name_that_vanished_is_removed() -> None:
    short = "func d(a []int, b string, _ bool) (int, string, error) {\n\treturn len(a), b, nil\n}\n"
    assert counts(short) == (0, 0, 0, 0)
    assert apart(short)["removed"] == 3
