"""Where the field's own scorer goes wrong: each mistake a test, with what it gives there and what it gives here."""

from pathlib import Path
from typing import Any

import pytest

from instruments.errors import BadFixtures, NoScenarios
from instruments.evals.suite.loader import Suite, load
from tests.instruments.evals import suites
from tests.instruments.evals.answers import (
    PULL,
    PULLED,
    finding,
    part,
    points,
    scored,
)

STEPS = {"command_types": ["kubectl", "aws"], "must_include": ["describe"]}
CAUSE = {"patterns": ["ImagePullBackOff"], "match_type": "substring"}


def alone(path: Path, description: object) -> Suite:
    """A suite of one scenario with this description."""
    suites.scenario(path / "suite" / "case", description)
    return load(path / "suite")


def test_no_fix_scores_30_there_and_0_here() -> None:
    fix = {"all_of": [{"patterns": ["image tag"], "match_type": "substring"}]}
    answers: list[dict[str, Any]] = [
        {},
        {"rca": {"remediation": []}},
        {"rca": {"remediation": [" "]}, "decision": {"next": [""]}},
    ]
    for answer in answers:
        assert points("fix_accuracy", fix, answer) == 0.0


def test_no_hypotheses_score_40_there_and_0_here() -> None:
    answers: list[dict[str, Any]] = [
        {},
        {"hypotheses": []},
        {"hypotheses": None},
        {"hypotheses": [{}, {"title": "", "why": [" "]}]},
    ]
    for answer in answers:
        assert points("hypothesis_quality", {"hypotheses": {"any_of": ["image pull"]}}, answer) == 0.0


def test_what_must_be_included_is_not_read_there_beside_commands_and_costs_half_here() -> None:
    """All commands and no `describe`: 100 there."""
    assert points("next_steps", STEPS, {"decision": {"next": ["kubectl get pods", "aws ecr login"]}}) == 50.0


def test_the_failure_mode_is_never_scored_there_and_is_here() -> None:
    """Any failure mode whatever: 100 there, as nothing of it is read."""
    expected = {"failure_mode": {"exact": "image_pull"}}
    assert points("hypothesis_quality", expected, {"failure_mode": "image_pull"}) == 100.0
    assert points("hypothesis_quality", expected, {"failure_mode": "oom_killed"}) == 40.0
    assert points("hypothesis_quality", expected, {"hypotheses": [{"title": "Out of memory"}]}) == 40.0
    assert points("hypothesis_quality", expected, {}) == 0.0


def test_weights_of_nine_tenths_each_give_360_there_and_are_refused_here(tmp_path: Path) -> None:
    names = ("root_cause_weight", "fix_accuracy_weight", "hypothesis_quality_weight", "next_steps_weight")
    scoring = dict.fromkeys(names, 0.9)
    assert sum(weight * 100 for weight in scoring.values()) == 360
    with pytest.raises(BadFixtures, match="sum"):
        alone(tmp_path, suites.expecting(**PULL) | {"scoring": scoring})
    assert scored(PULL, PULLED, scoring=scoring).total == 100.0


def test_what_is_not_expected_is_a_free_100_there_and_not_applicable_here() -> None:
    """A wrong root cause, where nothing else is expected: 0 of .4, and 100 of .6, is 60 there."""
    result = scored({"root_cause": CAUSE}, {"rca": {"root_cause": "Out of memory"}})
    assert result.total == 0.0
    assert [component.applicable for component in result.components] == [True, False, False, False]
    assert part("fix_accuracy", result).score is None
    two = scored({"root_cause": CAUSE, "next_steps": {"command_types": ["kubectl"]}}, PULLED | {"decision": None})
    assert [component.weight for component in two.components] == [0.8, None, None, 0.2]
    assert two.total == 80.0


def test_a_scenario_that_expects_nothing_scores_100_there_and_is_an_error_here(tmp_path: Path) -> None:
    with pytest.raises(BadFixtures, match="expects nothing"):
        alone(tmp_path, suites.expecting())
    with pytest.raises(ValueError, match="no applicable component has a weight"):
        scored({}, PULLED)


def test_exact_can_never_match_an_item_of_a_list_there_and_does_here() -> None:
    """Items are joined before they are compared: 0, and 30, there."""
    reasons = {"decision": {"why": ["A pod waits", " Image not found\n"]}}
    assert points("root_cause", {"exact": "image not found"}, reasons) == 90.0
    assert points("root_cause", {"patterns": ["Image Not Found"], "match_type": "exact"}, reasons) == 90.0
    fixes = {"rca": {"remediation": ["Correct the tag", "Restart"]}}
    assert points("fix_accuracy", {"all_of": [{"patterns": ["restart"], "match_type": "exact"}]}, fixes) == 100.0
    assert points("fix_accuracy", {"exact": ["restart it", "restart"]}, fixes) == 100.0
    assert points("fix_accuracy", {"exact": "the tag"}, fixes) == 30.0


@pytest.mark.parametrize(
    ("matcher", "key", "there"),
    [
        ({"patterns": ["a"], "match_type": "fuzzy"}, "root_cause.match_type", "silently false"),
        ({"patterns": ["a"]}, "root_cause.match_type", "a crash in all_of and any_of"),
        ({"patterns": [""], "match_type": "substring"}, "root_cause.patterns[0]", "matches everything"),
        ({"patterns": ["(a"], "match_type": "regex"}, "root_cause.patterns[0]", "raises half-way"),
        ({"patterns": [], "match_type": "regex"}, "root_cause.patterns", "never true"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_what_cannot_be_scored_is_refused_when_it_is_loaded(
    tmp_path: Path, matcher: dict[str, Any], key: str, there: str
) -> None:
    with pytest.raises(BadFixtures) as refused:
        alone(tmp_path, suites.expecting(root_cause=matcher))
    (fault,) = refused.value.faults
    assert fault.key == f"expected_outcomes.{key}", there
    assert fault.file.endswith("case/scenario.json")


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("KUBECTL get pods", {"kubectl"}),
        ("Run `kubectl describe pod`.", {"kubectl"}),
        ("/usr/local/bin/AWS s3 ls", {"aws"}),
        ("kubectl, aws", {"kubectl", "aws"}),
        ("-kubectl get pods", {"kubectl"}),
        ("Ask aws.", {"aws"}),
        ("It has flaws", set[str]()),
        ("Restart aws-node", set[str]()),
        ("See https://aws.amazon.com and ~/.aws", set[str]()),
        ("kubectlx, my_kubectl, aws_region", set[str]()),
    ],
)
def test_kubectl_in_capitals_is_missed_there_and_flaws_is_an_aws_and_here_commands_are_words(
    step: str, found: set[str]
) -> None:
    expected = {"command_types": ["kubectl", "aws"]}
    result = scored({"next_steps": expected}, {"decision": {"next": [step]}})
    assert {one.pattern for one in part("next_steps", result).findings if one.matched} == found
    assert part("next_steps", result).score == 50.0 * len(found)


DENIED = {"none_of": [{"patterns": [r"\bnot\b[^.]*ImagePullBackOff"], "match_type": "regex"}]}


def test_a_denial_counts_as_found_there_and_does_not_here() -> None:
    denial = "It is not ImagePullBackOff, but out of memory"
    assert points("root_cause", CAUSE | DENIED, {"rca": {"root_cause": denial}}) == 0.0
    elsewhere = {"rca": {"root_cause": denial}, "decision": {"why": ["ImagePullBackOff"]}}
    result = scored({"root_cause": CAUSE | DENIED}, elsewhere)
    assert part("root_cause", result).score == 45.0, "one part claims what the other denies"
    refused = finding("root_cause.none_of[0].patterns[0]", result)
    assert (refused.matched, refused.where, refused.text) == (True, "rca.root_cause", "not ImagePullBackOff")
    both = {"decision": {"why": ["ImagePullBackOff", denial]}}
    assert points("root_cause", CAUSE | DENIED, both) == 0.0


def test_denials_of_fixes_hypotheses_and_steps_do_not_count() -> None:
    fix = {"all_of": ["image tag"], "any_of": ["secret"], "none_of": ["do not change the image tag"]}
    answer = {"rca": {"remediation": ["Do not change the image tag", "Renew the secret"]}}
    assert points("fix_accuracy", fix, answer) == 30.0
    modes = {"hypotheses": {"any_of": ["image pull"], "none_of": ["no image pull"]}}
    assert points("hypothesis_quality", modes, {"hypotheses": [{"title": "No image pull error"}]}) == 40.0
    two = {"hypotheses": [{"title": "No image pull error"}, {"title": "Image pull fails"}]}
    assert points("hypothesis_quality", modes, two) == 100.0
    assert points("hypothesis_quality", modes, {"decision": {"label": "no image pull"}}) == 0.0
    steps = {"command_types": ["kubectl"], "none_of": ["kubectl delete"]}
    assert points("next_steps", steps, {"decision": {"next": ["kubectl delete pod web-1"]}}) == 50.0


def test_a_captured_answer_stays_on_the_tape_there_and_never_reaches_an_agent_here(tmp_path: Path) -> None:
    """There the tape scores for an agent that answers nothing: 100, where it was a good one."""
    (scenario,) = alone(tmp_path, suites.DESCRIPTION).scenarios
    assert "analysis" not in scenario.investigation
    assert scenario.captured is not None


def test_zero_scenarios_end_green_there_and_are_refused_here(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    with pytest.raises(NoScenarios):
        load(tmp_path / "suite")


NOTHING: list[dict[str, Any]] = [
    {},
    {"rca": None, "decision": None, "hypotheses": None, "verdict": None, "failure_mode": None},
    {"rca": {}, "decision": {}, "hypotheses": [], "verdict": {}},
    {"rca": {"root_cause": "", "remediation": [""], "failure_mode": ""}, "failure_mode": " "},
    {"decision": {"label": "", "why": ["", "\n"], "next": ["\t"]}, "verdict": {"next_steps": [" "]}},
    {"hypotheses": [{"title": " ", "why": [""], "confidence_0_100": 100, "hypothesis_id": ""}]},
    {"failure_mode": "Unknown"},
]


@pytest.mark.parametrize("answer", NOTHING)
def test_an_agent_that_returns_nothing_scores_23_there_and_0_here(answer: dict[str, Any]) -> None:
    """By the template of a scenario: no root cause 0, no option of a fix 50, no hypothesis 40, no command 0."""
    there = 0.4 * 0 + 0.3 * 50 + 0.2 * 40 + 0.1 * 0
    assert there == 23
    template = PULL | {"proposed_fix": {"any_of": [{"patterns": ["pull secret"], "match_type": "substring"}]}}
    for expected in (template, PULL, {"root_cause": {"patterns": [r"^\s*$"], "match_type": "regex"}}):
        result = scored(expected, answer)
        assert result.total == 0.0
        assert result.passed is False
        assert {component.score for component in result.components if component.applicable} == {0.0}


@pytest.mark.parametrize(
    "spelt", ["image pull", "Image-Pull", "IMAGE_PULL", "imagePull", "ImagePullBackOff", "imagepull"]
)
def test_a_failure_mode_is_named_however_its_words_are_joined(spelt: str) -> None:
    expected = {"failure_mode": {"exact": "image_pull"}}
    for hypothesis in (
        {"title": f"It is {spelt}!"},
        {"why": [spelt]},
        {"hypothesis_id": spelt},
        {"failure_mode": spelt},
    ):
        assert points("hypothesis_quality", expected, {"hypotheses": [hypothesis]}) == 100.0
    assert (
        points("hypothesis_quality", {"hypotheses": {"any_of": ["image pull"]}}, {"hypotheses": [{"title": spelt}]})
        == 100.0
    )


@pytest.mark.parametrize("other", ["image puller", "reimage pull", "image", "pull image", "image. Pull"])
def test_other_words_name_no_failure_mode(other: str) -> None:
    expected = {"failure_mode": {"exact": "image_pull"}}
    assert points("hypothesis_quality", expected, {"hypotheses": [{"title": other}]}) == 40.0


def test_a_stated_class_is_the_whole_of_it_and_another_one_contradicts() -> None:
    expected = {"failure_mode": {"exact": ["oom_killed", "OutOfMemory"]}, "hypotheses": {"any_of": ["memory"]}}
    named = {"hypotheses": [{"title": "Out of memory"}]}
    for stated in ("OOMKilled", "oom killed", "out-of-memory", "unknown", ""):
        assert points("hypothesis_quality", expected, named | {"failure_mode": stated}) == 100.0
        assert points("hypothesis_quality", expected, named | {"rca": {"failure_mode": stated}}) == 100.0
    for stated in ("oom_killed_by_probe", "cpu_throttling"):
        result = scored(expected, named | {"rca": {"failure_mode": stated}})
        assert part("hypothesis_quality", result).score == 40.0
        note = finding("failure_mode.exact[0]", result).note
        assert note == f"rca.failure_mode states another class, {stated}: 40 points at most"
    torn = named | {"failure_mode": "oom_killed", "rca": {"failure_mode": "cpu_throttling"}}
    assert points("hypothesis_quality", expected, torn) == 40.0


def test_a_label_names_a_failure_mode_and_never_contradicts() -> None:
    expected = {"failure_mode": {"exact": "image_pull"}}
    assert points("hypothesis_quality", expected, {"decision": {"label": "job_image_pull_failure"}}) == 100.0
    assert points("hypothesis_quality", expected, {"decision": {"label": "crash"}}) == 0.0
    answer = {"decision": {"label": "crash"}, "hypotheses": [{"title": "image pull"}]}
    assert points("hypothesis_quality", expected, answer) == 100.0


def test_what_a_hypothesis_must_say_beside_its_class_stands_in_the_same_hypothesis() -> None:
    expected = {"hypotheses": {"any_of": ["image pull"], "all_of": ["403"]}}
    apart = {"hypotheses": [{"title": "Image pull"}, {"title": "403"}]}
    assert points("hypothesis_quality", expected, apart) == 40.0
    assert points("hypothesis_quality", expected, {"hypotheses": [{"title": "Image pull", "why": ["403"]}]}) == 100.0
    assert (
        points("hypothesis_quality", expected, {"hypotheses": [{"title": "403"}], "failure_mode": "image pull"})
        == 100.0
    )
    assert points("hypothesis_quality", expected, {"failure_mode": "image pull"}) == 40.0
