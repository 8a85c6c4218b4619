"""When decisions count: once they are due, by their date or by the horizon of their agent and category."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from events.decision import DecisionReviewed
from events.envelope import Draft
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.maturity import REVIEWS_MIN, Horizons
from tallystick.shapes.calibration import CalibrationScores, Coverage
from tests.projections.drafts import post, record, retract
from tests.projections.random_histories import events_of
from tests.simulations.late_reviews import DAY_US, Agent, decide, failure_first, surely_off

START = datetime(2026, 1, 1, tzinfo=UTC)


def on(day: float) -> datetime:
    return START + timedelta(days=day)


def reviewed(name: str, day: float, outcome: str = "success") -> Draft:
    return post(DecisionReviewed(decision_id=name, outcome=outcome), time=on(day))  # type: ignore[arg-type]


def seen(*drafts: Draft) -> Coverage:
    calibration = Calibration()
    calibration.fold(events_of(drafts))
    return calibration.view(CalibrationFilter(), min_decisions=1).coverage


def counts(found: Coverage) -> tuple[int, int, int, int]:
    return found.reviewed, found.early, found.pending, found.overdue


def test_a_decision_counts_once_it_is_due_whether_it_was_reviewed_before_or_not() -> None:
    first = [record("d0", 0.9, time=on(0), review_by=on(10)), record("d1", 0.9, time=on(0), review_by=on(10))]
    assert counts(seen(*first)) == (0, 0, 2, 0)
    early = [*first, reviewed("d0", 3, "failure")]
    assert counts(seen(*early)) == (0, 1, 1, 0)
    later = [*early, record("d2", 0.9, time=on(10), review_by=on(30))]
    assert counts(seen(*later)) == (1, 0, 1, 1)
    assert counts(seen(*later, reviewed("d1", 12))) == (2, 0, 1, 0)
    assert counts(seen(*later, retract("d0"))) == (0, 0, 1, 1)


def test_the_answer_does_not_depend_on_when_before_its_date_a_decision_was_reviewed() -> None:
    def overall(days: tuple[float, ...]) -> CalibrationScores | None:
        drafts = [record(f"d{n}", 0.8, time=on(n), review_by=on(n + 20)) for n in range(30)]
        order = np.argsort(days).tolist()
        drafts += [reviewed(f"d{n}", days[n], "failure" if n % 4 == 0 else "success") for n in order]
        calibration = Calibration()
        calibration.fold(events_of([*drafts, record("last", 0.8, time=on(60), review_by=on(90))]))
        return calibration.view(CalibrationFilter()).overall

    fast = tuple(n + (2.0 if n % 4 == 0 else 20.0) for n in range(30))
    slow = tuple(n + 20.0 for n in range(30))
    assert overall(fast) == overall(slow)


def test_without_a_date_a_decision_counts_at_its_review_until_a_horizon_is_learnt() -> None:
    found = seen(record("d0", 0.9, time=on(0)), record("d1", 0.9, time=on(0)), reviewed("d0", 1))
    assert counts(found) == (1, 0, 0, 0)
    assert found.unreviewed == 1, "nothing says when it is due"


def test_a_confidence_that_only_decisions_not_due_yet_state_is_not_compared() -> None:
    calibration = Calibration()
    drafts = [record(f"d{n}", 0.6, time=on(0), review_by=on(1)) for n in range(9)]
    drafts += [reviewed(f"d{n}", 1) for n in range(6)]
    calibration.fold(events_of([*drafts, record("later", 0.9, time=on(2), review_by=on(9))]))
    found = calibration.view(CalibrationFilter()).missing_reviews
    assert found
    assert (found.total, found.unreviewed) == (9, 3)
    assert found.mean_confidence_unreviewed == pytest.approx(0.6)


def undated(days: int, good_days: float, bad_days: float, never: float = 0.0) -> Agent:
    """Ten decisions a day whose reviews take these means."""
    rng = np.random.default_rng(1)
    confidence, good, made = decide(rng, days)
    delay = rng.exponential(np.where(good, good_days, bad_days))
    return Agent(confidence, good, made, np.where(rng.random(len(made)) < never, np.inf, made + delay), None)


def horizons(agent: Agent, day: int) -> Horizons:
    return agent.at(day).maturity.horizons


@pytest.mark.parametrize(
    ("good", "bad", "never", "low", "high"),
    [(7, 1, 0.2, 12, 50), (1, 7, 0.2, 12, 50), (1, 1, 0.4, 2, 8)],
    ids=["failures first", "successes first", "many never reviewed"],
)
def test_the_horizon_is_when_nearly_all_reviews_have_come(
    good: float, bad: float, never: float, low: float, high: float
) -> None:
    horizon_us, is_open, _ = horizons(undated(300, good, bad, never), 300)
    assert not is_open[0]
    assert low * DAY_US <= horizon_us[0] <= high * DAY_US


def test_no_horizon_is_learnt_from_young_or_few_decisions() -> None:
    assert horizons(undated(20, 30, 3), 20).open.tolist() == [True]
    assert horizons(undated(300, 1, 1, 0.5), REVIEWS_MIN // 10).open.tolist() == [True]


def test_nothing_waits_where_nearly_every_decision_is_reviewed() -> None:
    assert horizons(undated(300, 1, 1), 310).horizon_us.tolist() == [0]


@pytest.mark.parametrize(
    ("good", "bad", "never", "low", "high"),
    [(30, 3, 0.0, 40, 140), (1, 1, 0.3, 0, 12), (1e9, 1e9, 0.0, 0, 0)],
    ids=["failures first", "many never reviewed", "none reviewed"],
)
def test_young_decisions_that_lack_reviews_show_no_change(
    good: float, bad: float, never: float, low: float, high: float
) -> None:
    settled_us = horizons(undated(160, good, bad, never), 160).settled_us
    assert low <= settled_us[0] / DAY_US <= high


@pytest.mark.parametrize("dated", [True, False])
def test_a_calibrated_agent_whose_failures_show_at_once_is_not_surely_off(*, dated: bool) -> None:
    rng = np.random.default_rng(3)
    confidence, good, made = decide(rng, 200, a_day=5)
    delay = failure_first(rng, good, 30)
    agent = Agent(confidence, good, made, made + delay, made + 30 if dated else None)
    assert list(surely_off(agent, range(10, 200, 10))) == []
