"""What denials, hedges, lists and contradictions do to the points of each component, and what their findings say."""

from typing import Any

import pytest
import yaml

from tests.instruments.evals.answers import finding, part, points, scored
from tests.support.paths import ROOT

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


TAG = {"patterns": [r"(?:tag|image)\b.*\b(?:not found|(?:never|not) (?:pushed|built)|missing)"], "match_type": "regex"}
"""A pattern that lets other words be between its own, and states negations of its own."""


@pytest.mark.parametrize(
    "text",
    [
        "Contrary to first reports the image tag is not missing; the disk is full.",
        "The image tag isn\N{RIGHT SINGLE QUOTATION MARK}t missing: the disk is full.",
        "The image tag is certainly not missing.",
        "No image tag is missing; the disk is full.",
        "The image tag was at no moment missing.",
        "The image tag could hardly be missing.",
        "The image tag is anything but missing.",
        "The image tag was ruled out as missing.",
        "The image tag is correct. The secret is missing.",
        "It would be premature to conclude that the image tag was never pushed.",
        "It is too early to say that the image tag is missing.",
        "It would be wrong to blame a tag that is missing.",
        "It is a myth that the image tag was never pushed; the certificate expired.",
        "It is a misconception that the image tag is missing.",
        "The alert wrongly says that the image tag is missing.",
        "We mistakenly assumed that the tag was never pushed.",
        "I doubt that the image tag was never pushed.",
        "There is nothing to show that the tag was never pushed.",
        "The image tag was never pushed is what the dashboard claims, but that is wrong: the disk is full.",
        "The image tag was never pushed, says the alert, but it is wrong.",
        "If the image tag was never pushed we would see a 404, yet we see x509 errors.",
        "Had the image tag been missing, we would see a 404.",
        "We would see a 404 if the image tag were missing.",
        "The registry has the image tag; the alert that the tag was missing was a false alarm.",
        "The claim that the image tag was never pushed is untrue.",
        "That the image tag was never pushed is the wrong conclusion.",
        "The image tag was never pushed. Actually no: the tag is there.",
        "The image tag was never pushed. On second thought, the certificate expired.",
        "The image tag was never pushed. Scratch that: the disk is full.",
        "The image tag was never pushed, or so we thought. The disk is full.",
        "The image tag was never pushed. That theory was wrong; the disk is full.",
        "The image tag was never pushed - no, it was; the disk is full.",
        "The image tag was never pushed? No.",
        "It is anyone's guess whether the image tag was never pushed.",
        "Nobody knows whether the image tag was never pushed.",
    ],
)
def test_a_cause_that_is_denied_or_taken_back_has_no_points(text: str) -> None:
    assert points("root_cause", TAG, {"rca": {"root_cause": text}}) == 0.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Candidates: (1) image tag missing (2) secret wrong (3) disk full. Any of these fits.", 33.333333),
        ("Three explanations fit. The image tag was never pushed. The secret expired. The disk is full.", 33.333333),
        ("Possible causes: a) the image tag was never pushed, b) the secret expired, c) DNS fails.", 33.333333),
        ("There are several candidates. The image tag was never pushed. The secret expired.", 50.0),
        ("The image tag was never pushed. The secret expired. The disk is full. All three are likely.", 33.333333),
        ("Four theories remain: the tag was never pushed; the secret expired; DNS; the disk.", 25.0),
        ("Hypotheses:\n- the tag is missing\n- the secret expired\n- the disk is full", 33.333333),
        ("Two of the following hold: the tag is missing; the secret expired; DNS fails; no quota", 25.0),
        ("Three explanations. The tag is missing. The secret expired. DNS fails. None was ruled out.", 33.333333),
        ("The image tag was never pushed?", 50.0),
        ("The image tag was never pushed? The secret expired? Someone should look.", 33.333333),
        ("Is the tag missing? Is the secret wrong? Is the disk full? Is it DNS?", 20.0),
        ("The image tag might be missing.", 50.0),
        ("If the image tag was never pushed, push it.", 50.0),
        ("Rumour has it that the image tag was never pushed.", 50.0),
    ],
)
def test_a_cause_that_a_text_only_lists_or_asks_for_has_a_part_of_the_points(text: str, expected: float) -> None:
    assert points("root_cause", TAG, {"rca": {"root_cause": text}}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The image tag was not found in the registry.",
        "The tag was not pushed.",
        "The image could not be pulled because the tag is missing.",
        "The pod is not ready because the image tag was not found.",
        "The image pull secret is fine. The image tag was never pushed.",
        "The image cannot be pulled: tag 2.14.1 is missing. Nothing else is missing.",
        "The tag was not found or was never pushed.",
        "The image might have been cached, but the tag was never pushed.",
        "Three explanations were considered; two were ruled out. The image tag was never pushed.",
        "Two candidates were examined, and evidence points to the tag: the tag was never pushed.",
        "Is it the secret? No. The image tag was never pushed.",
        "We thought of the secret first. Actually, the image tag was never pushed.",
        "Contrary to first reports, the image tag is missing.",
        "The image tag was never pushed, so the alert about the disk was a false alarm.",
        "The image tag is missing. That is wrong in the manifest.",
        "The image tag is missing. No other deployment is affected.",
        "The tag was never pushed; if it had been, the rollout would have finished.",
        "The kubelet retries if the tag is missing.",
        "Had no luck with the rollout: the image tag was not found.",
        "The tag was never pushed. The first diagnosis was wrong.",
        "The tag was never pushed; we do not know which job failed.",
        "If in doubt look at the registry: the tag is missing.",
        "1. The release job failed. 2. The image tag was never pushed. 3. The rollout waits.",
    ],
)
def test_an_honest_cause_with_the_same_words_keeps_its_points(text: str) -> None:
    assert points("root_cause", TAG, {"rca": {"root_cause": text}}) == 100.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The rollout references image tag 2.14.1, which the registry has never received: the job died.", 100.0),
        ("Nobody published version 2.14.1: unit tests failed, so the container registry has no such tag.", 100.0),
        ("Contrary to first reports the image tag is not missing; node disk is full.", 0.0),
        ("The tag was not missing when version 2.14.1 was rolled out; the certificate expired.", 0.0),
    ],
)
def test_the_patterns_of_an_example_know_paraphrases_and_no_denials(text: str, expected: float) -> None:
    example = yaml.safe_load((ROOT / "examples/evaluations/image-pull-missing-tag/scenario.yaml").read_text())
    answer = {"rca": {"root_cause": text}}
    assert points("root_cause", example["expected_outcomes"]["root_cause"], answer) == expected


def test_a_negation_inside_a_match_contradicts_as_well() -> None:
    denied = {
        "rca": {"root_cause": "The image tag was never pushed."},
        "decision": {"why": ["The tag was not missing"]},
    }
    assert points("root_cause", TAG, denied) == 50.0


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["Under no circumstances correct the image tag in the registry"], 30.0),
        (["I advise against another image tag", "Refrain from a push to the registry"], 30.0),
        (["Correcting the image tag is a bad idea", "Pushing to the registry is not an option"], 30.0),
        (["There is no point in another image tag; never push to the registry"], 30.0),
        (["Correct the image tag in the registry, and never push by hand again"], 100.0),
        (["If possible correct the image tag in the registry"], 100.0),
    ],
)
def test_a_fix_that_is_advised_against_is_none(steps: list[str], expected: float) -> None:
    assert points("fix_accuracy", FIX, {"rca": {"remediation": steps}}) == expected
