"""What denials, hedges, lists and contradictions do to the points of each component, and what their findings say."""

from typing import Any

import pytest

from tests.instruments.evals.answers import finding, part, points, scored

CAUSE = {"patterns": ["image tag"], "match_type": "substring"}
FIX = {"all_of": ["image tag"], "any_of": ["registry"]}
CLASSES = {"hypotheses": {"any_of": ["image tag"]}}


def cause(text: str, **more: Any) -> float | None:  # noqa: ANN401 - JSON
    return points("root_cause", CAUSE, {"rca": {"root_cause": text}, **more})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The image tag is wrong", 100.0),
        ("It is not the image tag", 0.0),
        ("It is not the network; the image tag is wrong", 100.0),
        ("The image tag was ruled out at first, but then the image tag was found to be wrong", 100.0),
        ("Possibly the image tag", 50.0),
        ("Either the image tag or the secret", 50.0),
        ("The image tag, the secret, DNS or the node", 25.0),
        ("image tag, secret, dns, node, probe", 20.0),
    ],
)
def test_a_root_cause_has_its_points_times_the_credit(text: str, expected: float) -> None:
    assert cause(text) == expected
    assert points("root_cause", CAUSE, {"decision": {"why": [text]}}) == expected * 0.9


def test_several_conditions_have_the_least_credit_and_several_patterns_the_best() -> None:
    both = {"all_of": ["image tag", "registry"]}
    assert points("root_cause", both, {"rca": {"root_cause": "Possibly the image tag. The registry says so"}}) == 50.0
    one_of = {"any_of": ["image tag", "registry"]}
    assert (
        points("root_cause", one_of, {"rca": {"root_cause": "Possibly the image tag. The registry says so"}}) == 100.0
    )


def test_a_doubt_in_the_root_cause_bounds_the_reasons() -> None:
    why = {"decision": {"why": ["The image tag is wrong"]}}
    assert cause("Possibly the image tag", **why) == 50.0
    assert cause("Something fails", **why) == 90.0


@pytest.mark.parametrize(
    "other",
    [
        {"decision": {"why": ["The image tag is correct"]}},
        {"hypotheses": [{"title": "Not the image tag", "confidence_0_100": 90}]},
    ],
)
def test_a_contradiction_halves_the_root_cause_and_says_where(other: dict[str, Any]) -> None:
    assert cause("The image tag is wrong", **other) == 50.0
    answer = {"rca": {"root_cause": "The image tag is wrong"}, **other}
    note = finding("root_cause.patterns[0]", scored({"root_cause": CAUSE}, answer)).note
    assert note is not None
    assert note.startswith("contradicted: ")
    assert "negated by" in note


def test_a_part_that_names_another_cause_or_claims_as_well_contradicts_nothing() -> None:
    assert cause("The image tag is wrong", decision={"why": ["The node is full"]}) == 100.0
    mixed = ["The image tag is not the only problem", "The image tag is unknown to the registry"]
    assert cause("The image tag is wrong", decision={"why": mixed}) == 100.0
    unsure = [{"title": "Not the image tag", "confidence_0_100": 20}]
    assert cause("The image tag is wrong", hypotheses=unsure) == 100.0


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["Correct the image tag in the registry"], 100.0),
        (["Correct the image tag or push it to the registry"], 100.0),
        (["Do not change the image tag", "Ask the registry"], 50.0),
        (["Do not change the image tag", "The registry needs no change"], 30.0),
        (["Maybe correct the image tag", "Ask the registry"], 50.0),
        (["Change the image tag, the secret, the node, or the registry"], 30.0),
        (["image tag, registry, secret, node, rollback"], 30.0),
    ],
)
def test_a_fix_has_its_points_times_the_credit_and_not_under_30(steps: list[str], expected: float) -> None:
    assert points("fix_accuracy", FIX, {"rca": {"remediation": steps}}) == expected


def hypotheses(*stated: tuple[str, float | None]) -> float | None:
    listed = [{"title": title, "confidence_0_100": confidence} for title, confidence in stated]
    return points("hypothesis_quality", CLASSES, {"hypotheses": listed})


def test_a_hypothesis_may_be_hedged_and_not_denied_listed_or_outdone() -> None:
    assert hypotheses(("Perhaps the image tag", 60.0)) == 100.0
    assert hypotheses(("Not the image tag", 60.0)) == 40.0
    assert hypotheses(("Image tag or secret", 60.0)) == 45.0
    assert hypotheses(("Image tag", 60.0), ("Secret", 30.0)) == 100.0
    assert hypotheses(("Image tag", 30.0), ("Secret", 60.0)) == 45.0
    assert hypotheses(("Image tag", 50.0), ("Secret", 50.0)) == 45.0
    assert hypotheses(("Image tag", 30.0), ("Secret", None)) == 100.0, "not all state a confidence"


def test_a_denial_is_not_what_none_of_forbids() -> None:
    expected = CAUSE | {"none_of": ["memory"]}
    denied = {"rca": {"root_cause": "The image tag is wrong; memory was ruled out"}}
    assert points("root_cause", expected, denied) == 100.0
    assert finding("root_cause.none_of[0]", scored({"root_cause": expected}, denied)).matched is False
    hedged = {"rca": {"root_cause": "The image tag is wrong; memory may be short"}}
    assert points("root_cause", expected, hedged) == 0.0


def test_a_step_that_is_advised_against_is_no_step() -> None:
    expected = {"command_types": ["kubectl"], "must_include": ["describe"]}
    assert points("next_steps", expected, {"decision": {"next": ["Perhaps kubectl describe pod"]}}) == 100.0
    assert points("next_steps", expected, {"decision": {"next": ["Do not kubectl delete, describe it"]}}) == 0.0


def test_findings_say_why_a_match_counts_less() -> None:
    said = "Not the image tag"
    result = scored({"root_cause": CAUSE}, {"rca": {"root_cause": said}})
    one = finding("root_cause.patterns[0]", result)
    assert (one.matched, one.where, one.text, one.note) == (
        False,
        "rca.root_cause",
        "image tag",
        "negated by 'not the'",
    )
    listed = scored({"root_cause": CAUSE}, {"rca": {"root_cause": "Either the image tag, the secret or DNS"}})
    one = finding("root_cause.patterns[0]", listed)
    assert (one.matched, one.note) == (True, "one of 3 alternatives")
    assert part("root_cause", listed).score == pytest.approx(33.333333)


def test_a_pattern_that_occurs_very_often_is_read_so_often_only() -> None:
    denied = "It is not the image tag. " * 100
    assert cause(denied) == 0.0
    assert cause("It is not the image tag. " * 3 + "The image tag is wrong.") == 100.0
