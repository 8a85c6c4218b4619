"""What answers without an agent are worth, by the scorer that every agent has."""

import random
from typing import Any

import msgspec
import pytest

from events.evaluation import Baseline
from instruments.evals.analysis import parse_analysis
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.baseline_answers import TEXT_CHARS_MAX, baseline_answer, pattern_words
from instruments.evals.scoring.expected_patterns import ExpectedPattern
from instruments.evals.scoring.scorer import score
from tests.instruments.evals.answers import (
    PULL,
    finding,
    part,
    scenario,
)

MEMORY: dict[str, Any] = {
    "root_cause": {"patterns": ["out of memory"], "match_type": "substring", "none_of": ["memory leak"]},
    "failure_mode": {"exact": "oom_killed"},
    "proposed_fix": {"all_of": ["memory limit"]},
    "hypotheses": {"any_of": ["OOMKilled"]},
    "next_steps": {"command_types": ["kubectl"]},
}


def named(name: str, expected: dict[str, Any], failure_type: str | None) -> Scenario:
    about = {"failure_type": failure_type} if failure_type else {}
    return msgspec.structs.replace(scenario(expected, **about), id=name, title=name)


def pull(number: int, failure_type: str | None = "image_pull", **changed: object) -> Scenario:
    return named(f"pull-{number}", PULL | changed, failure_type)


def memory(number: int, failure_type: str | None = "oom_killed") -> Scenario:
    return named(f"memory-{number}", MEMORY, failure_type)


def worth(given: dict[str, Any], one: Scenario) -> float | None:
    return score(one, parse_analysis(given), reads_language=False).total


def test_an_empty_answer_scores_0_everywhere() -> None:
    assert baseline_answer("empty", [pull(1)]) == {}
    assert worth(baseline_answer("empty", []), pull(1)) == 0.0


def test_the_most_frequent_cause_scores_100_where_it_is_the_cause_and_little_elsewhere() -> None:
    suite = [pull(1), memory(1), pull(2)]
    given = baseline_answer("most_frequent", suite)
    assert [worth(given, one) for one in suite] == [100.0, 27.0, 100.0]
    assert given["failure_mode"] == "image_pull"
    assert part("hypothesis_quality", score(memory(1), parse_analysis(given), reads_language=False)).score == 40.0
    assert (
        finding("root_cause.patterns[0]", score(pull(1), parse_analysis(given), reads_language=False)).where
        == "rca.root_cause"
    )


def test_it_is_the_same_whatever_the_order_of_scenarios() -> None:
    suite = [pull(1), pull(2, root_cause={"exact": "No image"}), memory(1), memory(2), memory(3, "OOM-Killed")]
    given = baseline_answer("most_frequent", suite)
    for seed in range(10):
        assert baseline_answer("most_frequent", random.Random(seed).sample(suite, len(suite))) == given
    assert given["decision"]["label"] == "OOM-Killed"


def test_of_several_most_frequent_causes_it_is_the_first_in_the_alphabet() -> None:
    assert baseline_answer("most_frequent", [memory(1), pull(1)])["failure_mode"] == "image_pull"


def test_without_a_failure_type_the_failure_mode_is_the_cause() -> None:
    assert baseline_answer("most_frequent", [memory(1, None), memory(2, None), pull(1)])["failure_mode"] == "oom_killed"
    plain = named("plain", {"root_cause": {"exact": "disk"}}, None)
    assert baseline_answer("most_frequent", [plain]) == {}
    assert baseline_answer("most_frequent", []) == {}
    typed = named("typed", {"root_cause": {"exact": "disk"}}, "disk_full")
    given = baseline_answer("most_frequent", [typed])
    assert given["failure_mode"] == "disk_full"
    assert worth(given, typed) == 100.0


def test_regexes_are_read_as_words_and_fit() -> None:
    patterns = [r"\bImagePull\s?BackOff", r"image.*(?:not found|denied)", r"(?i)403 \(forbidden\)", r"[Rr]egistry|tag"]
    expected = PULL | {"root_cause": {"all_of": [{"patterns": [one], "match_type": "regex"} for one in patterns]}}
    one = named("regex", expected, "image_pull")
    assert worth(baseline_answer("most_frequent", [one]), one) == 100.0


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        (r"S3.*(?:access denied|403)", "S3 access denied 403"),
        (r"\bOOM\s?Killed\b", "OOM Killed"),
        (r"a\.b\\c \[x\]", r"a.b\c [x]"),
        (r"(?P<what>pull)(?#why) {2,}x{3}", "pull x"),
        (r"\d+\s*%", "%"),
    ],
)
def test_signs_of_a_regex_become_spaces(pattern: str, said: str) -> None:
    assert pattern_words(ExpectedPattern("", pattern, "regex")) == said
    assert pattern_words(ExpectedPattern("", pattern, "substring")) == pattern


def test_nothing_that_is_denied_is_said() -> None:
    denying = {
        "root_cause": {
            "patterns": ["registry", "no image"],
            "match_type": "substring",
            "none_of": ["no image", "tag; x"],
        },
        "proposed_fix": {"all_of": ["image tag"], "none_of": [{"patterns": ["delete.*pod"], "match_type": "regex"}]},
        "next_steps": {"must_include": ["delete", "pod"], "none_of": ["no image"]},
    }
    suite = [pull(1), named("denying", denying, "image_pull")]
    given = baseline_answer("most_frequent", suite)
    result = score(suite[1], parse_analysis(given), reads_language=False)
    assert part("root_cause", result).score == 100.0
    assert not any(one.matched for found in result.components for one in found.findings if "none_of" in one.expectation)


def test_an_answer_to_very_many_scenarios_stays_small() -> None:
    causes = [{"patterns": [f"cause {number} " + "x" * 900], "match_type": "substring"} for number in range(200)]
    suite = [pull(number, root_cause=root) for number, root in enumerate(causes)]
    given = baseline_answer("most_frequent", suite)
    assert len(given["rca"]["root_cause"]) <= TEXT_CHARS_MAX
    kinds: tuple[Baseline, ...] = ("empty", "most_frequent")
    assert all(
        msgspec.json.encode(baseline_answer(kind, suite)) == msgspec.json.encode(baseline_answer(kind, suite))
        for kind in kinds
    )
