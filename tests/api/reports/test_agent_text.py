"""A verdict in a row says what it rests on, and what is missing."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from api.reports.agent_text import describe_look, describe_row
from tallystick.shapes.calibration import CalibrationGroup
from tallystick.shapes.history import ChangePoint, Drift, DriftModels, GapShift, ModelChange
from tallystick.shapes.parts import Interval

START = datetime(2026, 3, 1, tzinfo=UTC)
CHANGE = ChangePoint(
    time=datetime(2026, 3, 5, tzinfo=UTC), index=40, reviewed_before=40, reviewed_after=60,
    gap_before=0.02, gap_before_interval=Interval(-0.1, 0.1),
    gap_after=-0.21, gap_after_interval=Interval(-0.3, -0.1),
    earliest=START, latest=datetime(2026, 3, 9, tzinfo=UTC), coverage=0.9,
    shift=GapShift(amount=-0.2, interval=Interval(-0.3, -0.1)),
)  # fmt: skip
FOUND = Drift(alarm=True, p=0.001, reviewed=100, reviews_needed=0, change=CHANGE)
COUNTS = {"group": "scout", "reviewed": 40, "total": 50, "unreviewed": 10, "without_confidence": 0}


def row(**fields: object) -> CalibrationGroup:
    """A row of a group."""
    return CalibrationGroup(**{**COUNTS, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdict", "tone"),
    [("well_calibrated", "stable"), ("slightly_overconfident", "failing"), ("underconfident", "flaky")],
)
def test_a_supported_verdict(verdict: str, tone: str) -> None:
    text = describe_row(row(interpretation=verdict, supported=True), 40, 5)
    assert text == (verdict.replace("_", " "), "supported, however often one looks", tone)


def test_an_unsupported_verdict_says_how_many_reviews_are_missing() -> None:
    text = describe_row(
        row(interpretation="overconfident", supported=False, reviews_needed=1, reviews_needed_gap=-0.12), 40, 5
    )
    assert text.verdict == "looks overconfident"
    assert text.evidence == "not sure yet: about 1 more review will do in 4 of 5 cases if the true gap is -0.12"
    assert text.tone == "skipped"
    unknown = describe_row(row(interpretation="overconfident", supported=False), 40, 5)
    assert unknown.evidence == "not enough evidence to be sure"
    open_ended = row(interpretation="overconfident", supported=False, unsure_because="missing_reviews")
    assert describe_row(open_ended, 40, 5).evidence == "not sure: decisions without a review could reverse it"


def test_too_few_reviews_have_no_verdict() -> None:
    assert describe_row(row(), 4, 5) == ("too few reviews", "4 of at least 5", "skipped")
    assert describe_row(None, 0, 5) == ("too few reviews", "0 of at least 5", "skipped")


def test_drift_is_described_with_the_interval_of_its_date() -> None:
    assert describe_look(FOUND) == (
        "The gap changed from +0.02 (n=40) to -0.21 (n=60) between 2026-03-01 and 2026-03-09 (90% interval), "
        "most likely on 2026-03-05."
    )


def test_a_change_of_the_model_within_the_interval_is_named() -> None:
    change = ModelChange(
        agent="scout", before="lyra-1", after="lyra-2", last_before=START, time=START + timedelta(days=1), within=True
    )
    found = structs.replace(FOUND, models=DriftModels(named=100, nearest=change, changes=(change,), changes_total=1))
    assert describe_look(found).endswith(" Within that interval scout changed its model from lyra-1 to lyra-2.")
    other = structs.replace(change, within=False)
    far = structs.replace(FOUND, models=DriftModels(named=100, nearest=other, changes=(other,), changes_total=1))
    assert describe_look(far) == describe_look(FOUND)


def test_a_look_without_an_alarm_says_what_was_looked_at() -> None:
    few = Drift(alarm=False, p=None, reviewed=10, reviews_needed=50)
    assert describe_look(few) == "Too few reviews to look for drift: 50 more are needed."
    alike = Drift(alarm=False, p=None, reviewed=70, reviews_needed=0, reason="all outcomes alike")
    assert describe_look(alike) == "No test for drift in 70 reviews: all outcomes are alike."
    calm = Drift(alarm=False, p=0.31, reviewed=1_000, reviews_needed=0)
    assert describe_look(calm) == "No drift found in 1,000 reviews (p = 0.31)."
