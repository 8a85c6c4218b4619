"""The reasons view against a plain model: one record a decision, exact fractions; and what it recommends."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings

from events.decision import Reason, ReasonType
from events.envelope import Draft
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reason_index import REVIEWED_MIN, ReasonIndex
from projections.calibration.reason_stats import ReasonStats, ReasonsView
from projections.time_range import TimeRange
from tallystick.shapes.decisions import Outcome
from tests.projections import reference_model
from tests.projections.calibration.test_calibration import questions
from tests.projections.drafts import amend, record, review
from tests.projections.random_histories import events_of, histories, lines_of

LETTERS: dict[str, Outcome] = {"S": "success", "P": "partial", "F": "failure", "A": "abandoned"}


@dataclass
class Reported(reference_model.Reported):
    """A decision, with the types and strengths of the reasons in force before its first review."""

    given: list[tuple[str, float | None]] = field(default_factory=list)


def report(lines: Sequence[bytes]) -> list[Reported]:
    reported = {one.subject: Reported(**vars(one)) for one in reference_model.report(lines)}
    settled: set[str] = set()
    for line in lines:
        event = json.loads(line)
        subject, data = event["subject"], event["data"]
        if event["type"] == "decision.reviewed.v1":
            settled.add(subject)
        elif subject not in settled and ("reasons" in data or event["type"] == "decision.recorded.v1"):
            reported[subject].given = [(one["type"], one.get("strength")) for one in data.get("reasons", [])]
    return list(reported.values())


def exactly(seen: float | None, values: Sequence[Fraction]) -> None:
    if values:
        assert seen is not None
        reference_model.agree(seen, reference_model.mean(values))
    else:
        assert seen is None


def stats_agree(seen: ReasonStats, reported: Sequence[Reported]) -> None:
    reviewed = [one for one in reported if one.outcome is not None]
    judged = [one for one in reviewed if one.counted is not None]
    outcomes = [one.outcome for one in reviewed]
    assert (seen.total, seen.reviewed, seen.judged) == (len(reported), len(reviewed), len(judged))
    assert (seen.success, seen.partial, seen.failure, seen.abandoned) == tuple(
        outcomes.count(name) for name in LETTERS.values()
    )
    stated = [one.c for one in reported if one.counted is not None]
    assert seen.stated == len(stated)
    exactly(seen.success_rate, [reference_model.WORTH[name] for name in outcomes if name])
    exactly(seen.mean_confidence, stated)
    exactly(seen.judged_confidence, [one.c for one in judged])
    exactly(seen.brier_score, [(one.c - reference_model.WORTH[one.outcome or ""]) ** 2 for one in judged])


def view_agrees(seen: ReasonsView, reported: Sequence[Reported], wanted: CalibrationFilter) -> None:
    reported = [replace(one, outcome=None) if one.early else one for one in reported]
    kept = [one for one in reported if reference_model.about(one, wanted) and one.given]
    assert (seen.total, seen.reviewed) == (len(kept), sum(one.outcome is not None for one in kept))
    exactly(seen.mean_types, [Fraction(len({name for name, _ in one.given})) for one in kept])
    exactly(seen.mean_reasons, [Fraction(len(one.given)) for one in kept])
    assert {one.type for one in seen.types} == {name for one in kept for name, _ in one.given}
    for by_type in seen.types:
        users = [one for one in kept if by_type.type in {name for name, _ in one.given}]
        stats_agree(by_type, users)
        found = [s for one in users for name, s in one.given if name == by_type.type and s is not None]
        assert by_type.strengths == len(found)
        exactly(by_type.mean_strength, [Fraction(repr(strength)) for strength in found])
    counts = sorted({len({name for name, _ in one.given}) for one in kept})
    assert [by_count.types for by_count in seen.counts] == counts
    for by_count in seen.counts:
        stats_agree(by_count, [one for one in kept if len({name for name, _ in one.given}) == by_count.types])


def reasons_of(drafts: Sequence[Draft]) -> ReasonIndex:
    folded = ReasonIndex()
    folded.fold(events_of(drafts))
    return folded


@pytest.mark.slow
@given(drafts=histories(), wanted=questions)
@settings(max_examples=400, deadline=None)
def test_the_view_is_the_models(drafts: list[Draft], wanted: CalibrationFilter) -> None:
    view_agrees(reasons_of(drafts).view(wanted), report(lines_of(drafts)), wanted)


def because(*kinds: ReasonType, strength: float | None = None) -> tuple[Reason, ...]:
    return tuple(Reason(type=kind, text="because", strength=strength) for kind in kinds)


def judged(kinds: Sequence[ReasonType], letters: str, confidence: float | None = None, **more: Any) -> list[Draft]:  # noqa: ANN401
    """Decisions that gave reasons of these types, and what they came to; a `-` is one without a review."""
    drafts = []
    for number, letter in enumerate(letters):
        name = f"{'-'.join(kinds)}.{number}"
        drafts.append(record(name, confidence, reasons=because(*kinds), **more))
        if letter != "-":
            drafts.append(review(name, LETTERS[letter]))
    return drafts


def test_reasons_given_after_the_outcome_was_known_do_not_count() -> None:
    before, after = because("analysis"), because("intuition")
    drafts = [record("a", reasons=before), review("a"), amend("a", reasons=after), review("a", "failure")]
    (only,) = reasons_of(drafts).view(CalibrationFilter()).types
    assert (only.type, only.success, only.failure) == ("analysis", 0, 1)
    (only,) = (
        reasons_of([record("a", reasons=before), amend("a", reasons=after), review("a")])
        .view(CalibrationFilter())
        .types
    )
    assert only.type == "intuition"


def test_a_decision_counts_once_for_a_type_it_gives_twice_and_each_strength_counts() -> None:
    twice = (*because("pattern", strength=0.5), *because("pattern", strength=1.0), *because("analysis"))
    view = reasons_of([record("a", reasons=twice)]).view(CalibrationFilter())
    found = {one.type: (one.total, one.strengths, one.mean_strength) for one in view.types}
    assert found == {"pattern": (1, 2, 0.75), "analysis": (1, 0, None)}
    assert (view.mean_types, view.mean_reasons) == (2.0, 3.0)


def test_values_that_were_not_stated_are_not_averaged() -> None:
    (only,) = reasons_of(judged(["analysis"], "SF")).view(CalibrationFilter()).types
    assert (only.mean_confidence, only.brier_score, only.mean_strength) == (None, None, None)
    assert only.success_rate == 0.5


def advice(drafts: Sequence[Draft], least: int = REVIEWED_MIN) -> dict[str, str]:
    found = reasons_of(drafts).view(CalibrationFilter(), least).recommendations
    return {one.type: f"{one.severity}: {one.message}" for one in found}


def test_nothing_is_recommended_on_fewer_reviews_than_asked_for() -> None:
    drafts = [*judged(["analysis"], "SS", 0.9), *judged(["intuition"], "--", 0.9)]
    assert advice(drafts) == {}
    assert set(advice(drafts, 2)) == {"low_diversity", "unused_types"}
    assert advice([]) == {}


def test_the_best_type_is_recommended_with_its_numbers() -> None:
    found = advice([*judged(["empirical"], "SSSP"), *judged(["intuition"], "FFSA"), *judged(["analogy"], "FF")])
    assert found["best_reason_type"] == (
        "info: With reasons of type empirical 88% went well (4 reviewed), with intuition 25% (4 reviewed)."
    )
    assert "overconfident_type" not in found, "no decision stated a confidence"


@pytest.mark.parametrize(("letters", "reported"), [("SFFFF", True), ("SSSFF", False)])
def test_overconfidence_with_a_type_is_recommended_against(letters: str, reported: bool) -> None:
    found = advice(judged(["authority"], letters, 0.9))
    assert ("overconfident_type" in found) is reported
    if reported:
        assert found["overconfident_type"].startswith("warning: With reasons of type authority, 90% was stated")


@pytest.mark.parametrize(
    ("single", "several", "kind"),
    [
        ("FFF", "SSS", "diversity_benefit"),
        ("SSS", "FFF", "diversity_no_benefit"),
        ("SSF", "SSF", None),
        ("FF", "SSS", None),
    ],
)
def test_several_types_are_compared_with_one(single: str, several: str, kind: str | None) -> None:
    found = advice([*judged(["analysis"], single), *judged(["pattern", "analysis"], several)])
    assert [name for name in found if name.startswith("diversity")] == ([kind] if kind else [])


def test_the_types_come_best_first_and_those_with_little_to_show_last() -> None:
    drafts = [*judged(["analogy"], "SS"), *judged(["analysis"], "SFF"), *judged(["pattern"], "SSF")]
    assert [one.type for one in reasons_of(drafts).view(CalibrationFilter()).types] == [
        "pattern",
        "analysis",
        "analogy",
    ]


def test_a_range_of_time_is_that_of_the_decisions() -> None:
    drafts = judged(["analysis"], "SF")
    times = [event.moment for event in events_of(drafts)]
    assert reasons_of(drafts).view(CalibrationFilter(range=TimeRange(times[0], times[0]))).total == 1


@pytest.mark.slow
def test_figures_of_many_decisions_are_exact() -> None:
    """Ten thousand decisions whose figures are known beforehand."""
    rng = random.Random(3)
    letters = [rng.choice("SPFA-") for _ in range(10_000)]
    stated = [rng.randrange(101) / 100 for _ in letters]
    drafts = []
    for number, (letter, confidence) in enumerate(zip(letters, stated, strict=True)):
        kinds: tuple[ReasonType, ...] = (("analysis", "pattern"), ("pattern",))[number % 2]
        drafts.append(record(f"d{number}", confidence, reasons=because(*kinds)))
        if letter != "-":
            drafts.append(review(f"d{number}", LETTERS[letter]))
    view_agrees(reasons_of(drafts).view(CalibrationFilter()), report(lines_of(drafts)), CalibrationFilter())
