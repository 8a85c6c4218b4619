"""Drift: calm agents raise no alarm, true shifts are found and dated. Simulated, with fixed seeds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from ledger.clock import microseconds, moment_of
from projections.arrays import Floats
from projections.calibration.change_point import REVIEWS_MIN, SIDE_REVIEWS_MIN, detect_change
from tallystick.shapes.history import ALARM_LEVEL, FALSE_ALARM_RATE, INTERVAL_LEVEL, Drift

pytestmark = pytest.mark.slow

YEAR = 365
DAY_US = 86_400_000_000
BEGAN_US = microseconds(datetime(2026, 1, 1, tzinfo=UTC))

Draw = Callable[[np.random.Generator, int], Floats]

CONFIDENCES: dict[str, Draw] = {
    "nearly always .95": lambda rng, n: rng.choice([0.94, 0.95, 0.96], n),
    "anything from .5 to 1": lambda rng, n: rng.uniform(0.5, 1, n),
    "rising over the year": lambda rng, n: np.linspace(0.5, 0.98, n),
    "none, half and all": lambda rng, n: rng.choice([0.0, 0.5, 1.0], n),
}


def times(n: int, days: float = YEAR) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return BEGAN_US + (np.arange(n) * (days * DAY_US / max(n, 1))).astype(np.int64)


def bernoulli(rng: np.random.Generator, chance: Floats) -> Floats:
    return (rng.random(len(chance)) < chance).astype(np.float64)


def partial(rng: np.random.Generator, chance: Floats) -> Floats:
    """Outcomes of the same mean, many of which are partial where the chance is near one half."""
    draws, halves = rng.random(len(chance)), np.minimum(chance, 1 - chance)
    return np.where(draws < halves, 0.5, (draws < chance + halves / 2) * 1.0)


def worse_brier(confidence: Floats, outcome: Floats, days: Floats, today: float) -> bool:
    """The rule that this one replaces: the last 30 days' Brier score 20% above that of the 90 days before."""
    loss = (confidence - outcome) ** 2
    recent, before = (days >= today - 30) & (days < today), (days >= today - 120) & (days < today - 30)
    return min(recent.sum(), before.sum()) >= 5 and bool(loss[recent].mean() > 1.2 * loss[before].mean())


@pytest.mark.parametrize("stated", CONFIDENCES)
def test_calibrated_agents_raise_alarms_in_at_most_a_twentieth_of_years(stated: str) -> None:
    rng = np.random.default_rng(20)
    alarms, years = 0, 0
    for a_day in (1, 3, 8, 20):
        for _ in range(20):
            confidence = CONFIDENCES[stated](rng, a_day * YEAR)
            found = detect_change(confidence, bernoulli(rng, confidence), times(len(confidence)))
            alarms, years = alarms + found.alarm, years + 1
    assert alarms <= 0.05 * years


def test_a_year_of_monthly_looks_keeps_the_rate_and_worse_brier_by_a_fifth_does_not() -> None:
    rng = np.random.default_rng(12)
    years = 100
    alarms = rival = 0
    for year in range(years):
        n = YEAR * (1 + year % 3)
        confidence = rng.uniform(0.5, 1, n)
        outcome, days, at = bernoulli(rng, confidence), np.arange(n) * YEAR / n, times(n)
        looks = [n * month // 12 for month in range(1, 13)]
        alarms += any(detect_change(confidence[:k], outcome[:k], at[:k]).alarm for k in looks)
        rival += any(worse_brier(confidence[:k], outcome[:k], days[:k], days[k - 1]) for k in looks)
    assert alarms <= FALSE_ALARM_RATE * years
    assert rival > 4 * FALSE_ALARM_RATE * years


def test_one_look_with_the_rival_rule_alarms_too_often() -> None:
    rng = np.random.default_rng(3)
    years = 200
    alarms = 0
    for _ in range(years):
        confidence = rng.uniform(0.5, 1, YEAR)
        alarms += worse_brier(confidence, bernoulli(rng, confidence), np.arange(YEAR, dtype=np.float64), YEAR)
    assert alarms > 0.10 * years


def test_two_of_three_shifts_of_fifteen_points_are_dated_within_sixty_reviews() -> None:
    rng = np.random.default_rng(15)
    runs = 50
    dated = 0
    for _ in range(runs):
        n = int(rng.integers(400, 1_001))
        true = int(rng.integers(n // 5, n - n // 5 + 1))
        confidence = rng.uniform(0.85, 0.99, n)
        outcome = bernoulli(rng, np.where(np.arange(n) < true, confidence, confidence - 0.15))
        found = detect_change(confidence, outcome, times(n))
        dated += found.change is not None and abs(found.change.index - true) <= 60
    assert dated >= 0.6 * runs


@pytest.mark.parametrize(
    "outcomes",
    [
        lambda rng, c: bernoulli(rng, np.clip(c - 0.2, 0, 1)),
        lambda rng, c: bernoulli(rng, np.full(len(c), 0.75)),
        partial,
    ],
    ids=["always .2 too sure", "confidences say nothing", "partial outcomes"],
)
def test_a_gap_that_stays_is_no_drift(outcomes: Callable[[np.random.Generator, Floats], Floats]) -> None:
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(60):
        confidence = rng.uniform(0.5, 1, YEAR)
        alarms += detect_change(confidence, outcomes(rng, confidence), times(YEAR)).alarm
    assert alarms <= 3


def shifted(n: int = 800, at: int = 500) -> Drift:
    rng = np.random.default_rng(9)
    confidence = np.full(n, 0.9)
    outcome = bernoulli(rng, np.where(np.arange(n) < at, 0.9, 0.6))
    return detect_change(confidence, outcome, times(n))


def test_a_change_has_its_date_and_both_gaps() -> None:
    found = shifted()
    change = found.change
    assert found.alarm
    assert change is not None
    assert found.p is not None
    assert found.p <= ALARM_LEVEL == found.level
    assert abs(change.index - 500) <= 20
    assert change.time == moment_of(int(times(800)[change.index]))
    assert (change.reviewed_before, change.reviewed_after) == (change.index, 800 - change.index)
    assert change.gap_before_interval.low < 0 < change.gap_before_interval.high
    assert change.gap_before_interval.low < change.gap_before < change.gap_before_interval.high
    assert change.gap_after_interval.low < change.gap_after < change.gap_after_interval.high < -0.1
    assert change.earliest <= change.time <= change.latest
    assert change.latest - change.earliest < timedelta(days=30)
    assert change.coverage == INTERVAL_LEVEL
    assert change.shift.interval.low < change.shift.amount < change.shift.interval.high < -0.1
    assert change.shift.amount == pytest.approx(change.gap_after - change.gap_before)


def test_the_same_decisions_give_the_same_answer() -> None:
    assert shifted() == shifted()


def test_no_alarm_from_what_cannot_drift() -> None:
    n = 500
    half = np.arange(n) % 2 * 1.0
    for confidence, outcome in [
        (np.ones(n), np.ones(n)),
        (np.zeros(n), np.zeros(n)),
        (np.linspace(0.5, 1, n), np.ones(n)),
        (np.linspace(0.5, 1, n), np.zeros(n)),
        (np.full(n, 0.5), np.full(n, 0.5)),
        (np.full(n, 0.5), half),
        (np.ones(n), half),
        (np.zeros(n), half),
    ]:
        found = detect_change(confidence, outcome, times(n))
        assert not found.alarm
        assert (found.change, found.reviews_needed) == (None, 0)


@pytest.mark.parametrize("n", [0, 1, REVIEWS_MIN - 1])
def test_too_few_reviews_say_how_many_are_needed(n: int) -> None:
    outcome = (np.arange(n) < n / 2).astype(np.float64)
    found = detect_change(np.full(n, 0.9), outcome, times(n))
    assert found == Drift(alarm=False, p=None, reviewed=n, reviews_needed=REVIEWS_MIN - n)


def test_the_fewest_reviews_can_show_a_change() -> None:
    outcome = (np.arange(REVIEWS_MIN) < SIDE_REVIEWS_MIN).astype(np.float64)
    found = detect_change(np.full(REVIEWS_MIN, 0.5), outcome, times(REVIEWS_MIN))
    assert found.change is not None
    assert found.change.index == SIDE_REVIEWS_MIN


def test_in_a_long_history_a_small_change_is_dated_within_days() -> None:
    rng = np.random.default_rng(1)
    n = 200_000
    confidence = rng.uniform(0.5, 1, n).round(2)
    outcome = bernoulli(rng, np.where(np.arange(n) < 120_000, confidence, confidence - 0.05))
    found = detect_change(confidence, outcome, times(n))
    assert found.change is not None
    assert abs(found.change.time - moment_of(int(times(n)[120_000]))) < timedelta(days=3)
