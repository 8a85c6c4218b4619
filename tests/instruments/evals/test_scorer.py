"""The score table, a test for each row, with its numbers."""

from typing import Any

import pytest

from instruments.evals.scoring.scorer_version import SCORER_ID, SCORER_VERSION
from tests.instruments.evals.answers import (
    PULL,
    PULLED,
    finding,
    part,
    points,
    said_at,
    scored,
)

CAUSE = {"patterns": ["ImagePullBackOff"], "match_type": "substring"}
SAID = "It is ImagePullBackOff"

REQUIRED = {"all_of": ["image tag"]}
BOTH = {"all_of": ["image tag"], "any_of": ["pull secret", "registry"]}
MODES = {"hypotheses": {"any_of": ["image pull"]}}


def test_the_scorer_has_a_name_and_a_version() -> None:
    assert (SCORER_ID, SCORER_VERSION) == ("rca", "3")


def test_a_good_answer_scores_100() -> None:
    result = scored(PULL, PULLED)
    assert result.total == 100.0
    assert result.passed is True
    assert [component.score for component in result.components] == [100.0] * 4
    assert [component.weight for component in result.components] == [0.4, 0.3, 0.2, 0.1]
    assert [component.mark for component in result.components] == [70.0, 60.0, 50.0, 50.0]
    assert all(component.passed for component in result.components)


def test_a_root_cause_in_its_place_scores_100() -> None:
    assert points("root_cause", CAUSE, {"rca": {"root_cause": SAID}}) == 100.0


def test_a_root_cause_among_the_reasons_scores_90() -> None:
    answer = {"rca": {"root_cause": "It is broken"}, "decision": {"why": ["A pod waits", SAID]}}
    assert points("root_cause", CAUSE, answer) == 90.0


@pytest.mark.parametrize(("confidence", "expected"), [(80, 80.0), (79.9, 0.0), (100, 80.0), (None, 0.0)])
@pytest.mark.parametrize("where", [{"title": SAID}, {"title": "A pod waits", "why": ["Waiting", SAID]}])
def test_a_root_cause_in_a_hypothesis_of_confidence_80_scores_80(
    where: dict[str, Any], confidence: float | None, expected: float
) -> None:
    assert points("root_cause", CAUSE, {"hypotheses": [{"confidence_0_100": confidence, **where}]}) == expected


def test_a_root_cause_that_is_said_nowhere_scores_0() -> None:
    assert points("root_cause", CAUSE, {"rca": {"root_cause": "Out of memory"}, "decision": {"next": [SAID]}}) == 0.0


def test_a_fix_with_all_that_is_required_and_one_option_scores_100() -> None:
    assert points("fix_accuracy", BOTH, {"rca": {"remediation": ["Correct the IMAGE TAG in the registry"]}}) == 100.0
    assert (
        points("fix_accuracy", BOTH, {"decision": {"next": ["image tag"]}, "verdict": {"next_steps": ["registry"]}})
        == 100.0
    )


def test_a_fix_with_one_of_what_is_required_and_what_is_optional_scores_50() -> None:
    assert points("fix_accuracy", BOTH, {"rca": {"remediation": ["Renew the pull secret"]}}) == 50.0
    assert points("fix_accuracy", BOTH, {"rca": {"remediation": ["Correct the image tag"]}}) == 50.0


def test_a_fix_without_key_elements_scores_30() -> None:
    assert points("fix_accuracy", BOTH, {"rca": {"remediation": ["Restart it"]}}) == 30.0
    assert points("fix_accuracy", REQUIRED, {"rca": {"remediation": ["Restart it"]}}) == 30.0
    assert points("fix_accuracy", {"any_of": ["pull secret"]}, {"rca": {"remediation": ["Restart it"]}}) == 30.0


def test_a_fix_where_only_one_kind_is_expected_scores_100_with_it() -> None:
    assert points("fix_accuracy", REQUIRED, {"rca": {"remediation": ["Correct the image tag"]}}) == 100.0
    assert (
        points("fix_accuracy", {"any_of": ["a", "tag"]}, {"rca": {"remediation": ["Correct the image tag"]}}) == 100.0
    )


def test_no_fix_scores_0() -> None:
    assert points("fix_accuracy", BOTH, {"rca": {"root_cause": "image tag, pull secret"}}) == 0.0
    assert points("fix_accuracy", BOTH, {"rca": {"remediation": ["", " \n"]}, "verdict": {"next_steps": []}}) == 0.0


def test_a_hypothesis_that_names_the_expected_failure_mode_scores_100() -> None:
    answer = {"hypotheses": [{"title": "Out of disk"}, {"title": "Perhaps", "why": ["the image pull fails"]}]}
    assert points("hypothesis_quality", MODES, answer) == 100.0


def test_hypotheses_of_which_none_names_it_score_40() -> None:
    assert points("hypothesis_quality", MODES, {"hypotheses": [{"title": "Out of disk"}]}) == 40.0


def test_no_hypotheses_score_0() -> None:
    assert points("hypothesis_quality", MODES, {"hypotheses": []}) == 0.0
    assert points("hypothesis_quality", MODES, {"hypotheses": [{"title": " ", "confidence_0_100": 99}]}) == 0.0


def test_next_steps_score_the_share_of_the_expected_commands() -> None:
    expected = {"command_types": ["kubectl", "aws", "helm"]}
    for steps, share in (
        (["kubectl get pods", "aws ecr get-login", "helm rollback web"], 100.0),
        (["kubectl get pods", "helm rollback web"], 66.666667),
        (["helm rollback web"], 33.333333),
        (["Look at it"], 0.0),
    ):
        assert points("next_steps", expected, {"decision": {"next": steps}}) == share
        assert points("next_steps", expected, {"verdict": {"next_steps": steps}}) == share


def test_next_steps_score_50_at_most_where_one_that_must_be_there_is_missing() -> None:
    expected = {"command_types": ["kubectl", "aws", "helm", "dig"], "must_include": ["describe"]}
    assert points("next_steps", expected, {"decision": {"next": ["kubectl, aws, helm and dig"]}}) == 50.0
    assert points("next_steps", expected, {"decision": {"next": ["kubectl get"]}}) == 25.0
    assert points("next_steps", expected, {"decision": {"next": ["kubectl describe, aws, helm, dig"]}}) == 100.0


def test_next_steps_without_expected_commands_score_100_or_50() -> None:
    expected = {"must_include": ["describe", {"patterns": ["logs?", "events?"], "match_type": "regex"}]}
    assert points("next_steps", expected, {"decision": {"next": ["Describe the pod", "Read its EVENTS"]}}) == 100.0
    assert points("next_steps", expected, {"decision": {"next": ["Describe the pod"]}}) == 50.0


def test_no_next_steps_score_0() -> None:
    for expected in ({"command_types": ["kubectl"]}, {"must_include": ["describe"]}, {"none_of": ["delete"]}):
        assert points("next_steps", expected, {"rca": {"root_cause": "kubectl describe"}}) == 0.0


@pytest.mark.parametrize(("threshold", "passed"), [(70.0, True), (70.000001, False), (69.0, True)])
def test_the_whole_passes_from_its_threshold(threshold: float, passed: bool) -> None:
    scoring = {
        "root_cause_weight": 0.7,
        "fix_accuracy_weight": 0.3,
        "hypothesis_quality_weight": 0.0,
        "next_steps_weight": 0.0,
        "pass_threshold": threshold,
    }
    expected = {"root_cause": CAUSE, "proposed_fix": REQUIRED}
    result = scored(expected, {"rca": {"root_cause": SAID}}, scoring=scoring)
    assert result.total == 70.0
    assert result.passed is passed


def test_a_component_passes_from_its_mark() -> None:
    result = scored(PULL, {**PULLED, "rca": None, "verdict": None})
    assert [(one.score, one.passed) for one in result.components] == [
        (90.0, True),
        (30.0, False),
        (100.0, True),
        (100.0, True),
    ]
    assert result.total == 75.0


def test_every_pattern_has_its_finding_with_the_text_that_matched() -> None:
    result = scored(PULL, PULLED)
    assert len([one for component in result.components for one in component.findings]) == 9
    for component in result.components:
        for one in component.findings:
            if one.matched:
                assert one.where is not None
                assert said_at(PULLED, one.where)[one.start : one.end] == one.text
    found = finding("root_cause.patterns[0]", result)
    assert (found.where, found.start, found.end, found.text) == ("rca.root_cause", 0, 16, "ImagePullBackOff")
    missed = finding("root_cause.patterns[1]", result)
    assert (missed.matched, missed.where, missed.text) == (False, None, None)
    assert finding("next_steps.command_types[1]", result).where == "decision.next[1]"
    assert finding("failure_mode.exact", result).where == "hypotheses[0].title"


def test_the_place_that_decided_is_shown_rather_than_one_that_failed() -> None:
    expected = {"root_cause": {"all_of": ["registry", "403"]}}
    answer = {"rca": {"root_cause": "The registry"}, "decision": {"why": ["403", "Our registry"]}}
    result = scored(expected, answer)
    assert part("root_cause", result).score == 90.0
    assert finding("root_cause.all_of[0]", result).where == "decision.why[1]"
