"""Patterns that backtrack endlessly: the scorer cuts them off, names them, and keeps scores that they cannot change."""

import re
import threading
from typing import Any

import pytest

from instruments.evals.scoring.regex_budget import PATTERN_S, REGEX_CHARS_MAX, SCENARIO_S
from instruments.evals.scoring.scorer import ScenarioScore
from tests.instruments.evals.answers import finding, part, scored

TEXT = "a" * 5_000 + "!"
LONG = "a" * 4 * 1024 * 1024 + "!"

NESTED = "(a+)+$"

KINDS = {
    "nested": NESTED,
    "nested again": "((a*b?)*)*$",
    "alternation": "(a|a)*$",
    "overlapping alternation": "(a|aa)+$",
    "counted": "(?:a?){30}a{30}b",
    "backreference": r"(a+)+\1$",
    "backreference to a nested group": r"((a+)+)+\2b",
    "fuzzy": "(?b)(?:bcdefghijklmnop.*){e<=8}$",
}
LONG_KINDS = {
    "nested": NESTED,
    "lookahead": r"(?=\p{L}*?\d)",
    "lookaheads": "(?=a*b)c|(?=a*c)d",
    "lookbehind": r"(?<=\d\p{L}*)",
    "negative lookbehind": "(?<!(a|a)*)!",
    "atomic": "(?>a+)+b",
    "possessive": "a++b",
    "plain, and quadratic": r"\p{L}*?\d",
}


def regex(*patterns: str) -> dict[str, Any]:
    return {"patterns": list(patterns), "match_type": "regex"}


def cause(text: str, *patterns: str) -> ScenarioScore:
    return scored({"root_cause": regex(*patterns)}, {"rca": {"root_cause": text}})


def spent_s(result: ScenarioScore) -> float:
    """How long regexes were looked for until they were cut off, as their findings say."""
    notes = [one.note or "" for component in result.components for one in component.findings]
    return sum(float(found[1]) for note in notes if (found := re.search(r"cut off after (\d+\.\d+) s", note)))


@pytest.mark.parametrize("pattern", KINDS.values(), ids=KINDS)
def test_a_hostile_pattern_is_cut_off_and_named(pattern: str) -> None:
    result = cause(TEXT, pattern)
    assert (result.total, result.passed, result.failure) == (None, None, "pattern")
    assert result.detail is not None
    assert f"root_cause.patterns[0] ({pattern}) was cut off after {PATTERN_S:.2f} s in rca.root_cause" in result.detail
    found = finding("root_cause.patterns[0]", result)
    assert not found.matched
    assert found.note == f"cut off after {PATTERN_S:.2f} s in rca.root_cause"
    assert part("root_cause", result).score is None
    assert part("root_cause", result).passed is None


@pytest.mark.parametrize("pattern", LONG_KINDS.values(), ids=LONG_KINDS)
def test_a_hostile_pattern_is_cut_off_in_a_huge_text(pattern: str) -> None:
    result = cause(LONG, pattern)
    assert result.failure == "pattern"
    assert spent_s(result) <= PATTERN_S


def test_a_pattern_that_was_cut_off_is_not_tried_again() -> None:
    expected = {"root_cause": regex(NESTED), "proposed_fix": regex(NESTED), "hypotheses": {"any_of": [regex(NESTED)]}}
    answer = {
        "rca": {"root_cause": TEXT, "remediation": [TEXT] * 100},
        "decision": {"why": [TEXT] * 100},
        "hypotheses": [{"title": TEXT, "confidence_0_100": 90}] * 100,
    }
    result = scored(expected, answer)
    assert spent_s(result) == PATTERN_S
    again = finding("proposed_fix.patterns[0]", result).note
    assert again == "not looked for, as it was cut off before, in rca.remediation[0]"


@pytest.mark.slow
def test_two_hundred_hostile_patterns_take_no_longer_than_a_few() -> None:
    result = cause(TEXT, *(f"(a+)+[{number}]$" for number in range(200)))
    assert result.failure == "pattern"
    assert 0 < spent_s(result) <= SCENARIO_S + 0.01
    last = finding("root_cause.patterns[199]", result).note
    assert last == "not looked for, as the time of all patterns was used up, in rca.root_cause"


@pytest.mark.parametrize(
    ("expected", "answer", "total"),
    [
        ({"root_cause": regex(NESTED, "a!")}, {"rca": {"root_cause": TEXT}}, 100.0),
        ({"root_cause": regex(NESTED) | {"all_of": ["oom"]}}, {"rca": {"root_cause": TEXT}}, 0.0),
        (
            {"root_cause": {"all_of": ["a!"], "any_of": [regex(NESTED), "oom"]}},
            {"hypotheses": [{"title": text, "confidence_0_100": 80} for text in (TEXT, "a! oom")]},
            80.0,
        ),
        ({"root_cause": {"all_of": ["oom"], "none_of": [regex(NESTED)]}}, {"rca": {"root_cause": TEXT}}, 0.0),
        ({"proposed_fix": {"any_of": [regex(NESTED), "a!"]}}, {"rca": {"remediation": [TEXT]}}, 100.0),
        ({"proposed_fix": {"all_of": ["oom"], "none_of": [regex(NESTED)]}}, {"rca": {"remediation": [TEXT]}}, 30.0),
        (
            {"hypotheses": {"any_of": [regex(NESTED)]}, "failure_mode": {"exact": "oom"}},
            {"hypotheses": [{"title": TEXT}], "failure_mode": "disk"},
            40.0,
        ),
        (
            {"next_steps": {"command_types": ["aws"], "must_include": [regex(NESTED)]}},
            {"decision": {"next": [TEXT]}},
            0.0,
        ),
    ],
)
def test_a_score_stands_where_other_patterns_decide_it(
    expected: dict[str, Any], answer: dict[str, Any], total: float
) -> None:
    result = scored(expected, answer)
    assert (result.total, result.failure) == (total, None)
    assert spent_s(result) == PATTERN_S


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"root_cause": regex(NESTED)}, {"rca": {"root_cause": TEXT}, "decision": {"why": ["oom"]}}),
        (
            {"root_cause": {"any_of": [regex(NESTED), "oom"]}},
            {"rca": {"root_cause": TEXT}, "decision": {"why": ["oom"]}},
        ),
        ({"root_cause": {"all_of": ["a!"], "none_of": [regex(NESTED)]}}, {"rca": {"root_cause": TEXT}}),
        ({"proposed_fix": {"all_of": ["a!"], "any_of": [regex(NESTED)]}}, {"rca": {"remediation": [TEXT]}}),
        ({"proposed_fix": {"all_of": ["oom"], "any_of": [regex(NESTED)]}}, {"rca": {"remediation": [TEXT]}}),
        ({"hypotheses": {"any_of": [regex(NESTED)]}}, {"hypotheses": [{"title": TEXT}]}),
        ({"next_steps": {"must_include": [regex(NESTED)]}}, {"decision": {"next": [TEXT]}}),
    ],
)
def test_there_is_no_score_where_it_hangs_on_a_pattern_that_was_cut_off(
    expected: dict[str, Any], answer: dict[str, Any]
) -> None:
    result = scored(expected, answer)
    assert (result.total, result.passed, result.failure) == (None, None, "pattern")


def test_a_regex_is_looked_for_at_the_head_of_a_huge_text_and_says_so() -> None:
    head = "x" * (REGEX_CHARS_MAX - 3)
    assert cause(head[1:] + "oom" + LONG, "oo[m]").total == 100.0
    assert cause(head + "oom" + LONG, "oo[m]").failure == "pattern"
    result = cause(head + "-oom", "oo[m]")
    assert result.failure == "pattern"
    why = f"looked for in the first {REGEX_CHARS_MAX:,} characters alone in rca.root_cause"
    assert finding("root_cause.patterns[0]", result).note == why
    assert (result.detail or "").endswith(f"was {why}. No answer needs so long a text")
    assert cause("a" * REGEX_CHARS_MAX + "!", "b?a$").failure == "pattern"
    halves = {"decision": {"why": [head + head, head + "oom"]}}
    assert scored({"root_cause": regex("oo[m]")}, halves).total == 90.0
    many = {"decision": {"why": ["x" * 1_000] * 1_000}}
    assert scored({"root_cause": regex("oo[m]")}, many).total == 0.0
    substring = {"patterns": ["OOM"], "match_type": "substring"}
    assert scored({"root_cause": substring}, {"rca": {"root_cause": LONG + "oom"}}).total == 100.0


def test_threads_score_at_once_as_one_does() -> None:
    expected = {"root_cause": regex("o+m", "(?:a|b)!"), "hypotheses": {"any_of": ["memory"]}}
    answers = [{"rca": {"root_cause": f"{number} {TEXT} oom"}} for number in range(40)]
    alone = [scored(expected, answer) for answer in answers]
    found: dict[int, ScenarioScore] = {}

    def one(number: int) -> None:
        found[number] = scored(expected, answers[number])

    threads = [threading.Thread(target=one, args=(number,)) for number in range(len(answers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[number] for number in range(len(answers))] == alone
