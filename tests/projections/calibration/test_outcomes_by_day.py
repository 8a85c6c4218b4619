"""The outcomes of decisions some days after they were made, where not every one is due and reviewed."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from events.decision import DecisionRetracted, DecisionReviewed
from events.envelope import Draft
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.outcomes_by_day import outcomes_by_day
from projections.stats.late_outcomes import incidence, kaplan_meier
from tallystick.shapes.calibration import OutcomesByDay
from tallystick.shapes.decisions import Outcome
from tests.projections.drafts import post, record
from tests.projections.short_decisions import calibration_of

START = datetime(2026, 1, 1, tzinfo=UTC)
FAILED, DUE = timedelta(days=3), timedelta(days=30)


def of(drafts: list[Draft], days: float, category: str | None = None) -> OutcomesByDay | None:
    """The outcomes by day, given the events until some days after the start."""
    now = START + timedelta(days=days)
    timed = sorted((draft.time, number) for number, draft in enumerate(drafts) if draft.time is not None)
    posted = [drafts[number] for time, number in timed if time <= now]
    clock = record("clock", time=now, agent="clock")
    return outcomes_by_day(
        calibration_of([*posted, clock]).decisions(CalibrationFilter(agent="ada", category=category))
    )


def daily(count: int, *, dated: bool) -> list[Draft]:
    """A decision each day at .8: each fifth fails after three days, success is known at the due date."""
    drafts = []
    for number in range(count):
        made, fails = START + timedelta(days=number), number % 5 == 4
        drafts.append(record(f"d{number}", 0.8, time=made, review_by=made + DUE if dated else None))
        drafts.append(reviewed(f"d{number}", "failure" if fails else "success", made + (FAILED if fails else DUE)))
    return drafts


def reviewed(name: str, outcome: Outcome, time: datetime) -> Draft:
    return post(DecisionReviewed(decision_id=name, outcome=outcome), time=time)


@pytest.mark.parametrize("dated", [False, True])
def test_success_and_other_outcomes_compete(dated: bool) -> None:
    """At day 50 of 60: a fifth fails within 30 days, although of those that are reviewed by then a third has failed."""
    found = of(daily(60, dated=dated), 50)
    assert found is not None
    made = np.arange(51)
    fails = made % 5 == 4
    delay = np.where(fails, 3, 30)
    seen = made + delay <= 50
    time, cause = np.where(seen, delay, 50 - made), np.where(seen, np.where(fails, 2, 1), 0)
    expected = [incidence(time, cause, which, 30) for which in (1, 2)]
    expected.append(kaplan_meier(time, cause, 30))
    assert (found.day, found.decisions, found.at_risk) == (30, 51, expected[0].at_risk)
    assert [found.success_rate, found.other_rate, found.unreviewed_rate] == pytest.approx([e.rate for e in expected])
    assert [found.success_rate_interval, found.other_rate_interval, found.unreviewed_rate_interval] == [
        one.interval for one in expected
    ]
    assert found.other_rate == pytest.approx(0.2, abs=0.02)
    assert np.mean(cause[seen] == 2) == pytest.approx(0.35, abs=0.01)
    assert found.message == (
        "Within 30 days, 81% (68% to 90%) of decisions are reviewed as success and 19% (10% to 32%) with another "
        "outcome (Aalen-Johansen estimate from 51 decisions, due or not). The verdict does not depend on it."
    )


def test_it_is_absent_where_nothing_is_pending_or_too_little_is_known() -> None:
    drafts = daily(20, dated=True)
    assert of(drafts, 48.5) is not None, "the last decision is not due"
    assert of(drafts, 60) is None, "every decision is due and reviewed"
    assert of(drafts, 3.5) is None, "four decisions"
    assert of(drafts, 4.5) is None, "the youngest of five is half a day old"
    assert of(drafts, 30, category="none") is None
    gone = [
        post(DecisionRetracted(decision_id=f"d{number}", reason="twice"), time=START + timedelta(days=29))
        for number in range(20)
    ]
    records = drafts[::2]
    assert of(records, 30) is not None
    assert of([*records, *gone], 30) is None


def test_a_correction_counts_at_the_time_of_the_first_review() -> None:
    drafts = daily(40, dated=False)
    before = of(drafts, 38)
    corrected = [
        *drafts,
        *(reviewed(f"d{number}", "success", START + timedelta(days=37)) for number in range(4, 34, 5)),
    ]
    after = of(corrected, 38)
    assert before is not None
    assert after is not None
    assert (after.day, after.unreviewed_rate) == (before.day, before.unreviewed_rate)
    assert after.other_rate < before.other_rate
