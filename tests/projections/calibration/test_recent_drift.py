"""The last 30 days against the 90 before: where the windows end, and what is worse by more than chance."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy import stats

from events.envelope import Draft
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.window_comparison import (
    LEVEL,
    DriftLimits,
    RecentDrift,
    compare_windows,
    examined_range,
)
from projections.stats.permutation_test import SHUFFLED_MAX, permutation_p_value
from tests.projections.drafts import record, review
from tests.projections.short_decisions import OUTCOMES, calibration_of

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)

Reported = tuple[timedelta, float, str]
"""How long ago, the stated confidence, and the outcomes of as many decisions as there are letters."""


def found(
    *reported: Reported, min_decisions: int = 1, brier_rise: float = 0.20, accuracy_drop: float = 0.15
) -> RecentDrift:
    drafts: list[Draft] = []
    for ago, confidence, letters in reported:
        for letter in letters:
            name = f"d{len(drafts)}"
            drafts += [record(name, confidence, time=NOW - ago), review(name, OUTCOMES[letter])]
    history = calibration_of(drafts).history(CalibrationFilter(range=examined_range(NOW)))
    limits = DriftLimits(brier_rise=brier_rise, accuracy_drop=accuracy_drop, min_decisions=min_decisions)
    return compare_windows(history, NOW, limits)


def days(count: float) -> timedelta:
    return timedelta(days=count)


@pytest.mark.parametrize(
    ("ago", "counts"),
    [
        (days(0) - MOMENT, (1, 1)),
        (days(0), (2, 1)),
        (days(30), (2, 1)),
        (days(30) + MOMENT, (1, 2)),
        (days(120), (1, 2)),
        (days(120) + MOMENT, (1, 1)),
        (days(400), (1, 1)),
    ],
)
def test_every_instant_belongs_to_one_window_and_none_is_older_than_120_days(
    ago: timedelta, counts: tuple[int, int]
) -> None:
    """Row 10 of what users suffer from: the boundary day in both windows, and a history without an end."""
    decline = found((days(1), 0.9, "S"), (days(60), 0.9, "S"), (ago, 0.9, "F"))
    assert decline.found == counts
    assert decline.recent is not None
    assert decline.historical is not None
    assert (decline.recent.reviewed, decline.historical.reviewed) == counts
    assert (decline.recent.since, decline.recent.until) == (NOW - days(30), NOW)
    assert (decline.historical.since, decline.historical.until) == (NOW - days(120), NOW - days(30))


def test_a_change_beyond_threshold_and_chance_is_an_alert() -> None:
    decline = found((days(60), 0.9, "S" * 28 + "F" * 2), (days(5), 0.9, "S" * 8 + "F" * 12))
    assert [alert.type for alert in decline.alerts] == ["brier_degradation", "accuracy_drop"]
    brier, accuracy = decline.alerts
    assert (accuracy.recent, accuracy.historical) == pytest.approx((0.4, 28 / 30))
    assert accuracy.change == pytest.approx(0.4 / (28 / 30) - 1)
    assert brier.change == pytest.approx(brier.recent / brier.historical - 1)
    assert max(alert.p for alert in decline.alerts) <= LEVEL / 2
    assert decline.unsupported == []


def test_a_change_that_chance_may_account_for_is_none() -> None:
    decline = found((days(60), 0.9, "SSSSSSSSS" + "F"), (days(5), 0.9, "SSSFF"))
    assert decline.alerts == []
    assert [alert.type for alert in decline.unsupported] == ["brier_degradation", "accuracy_drop"]
    assert min(alert.p for alert in decline.unsupported) > LEVEL / 2


def test_a_change_within_its_threshold_is_none_however_sure() -> None:
    many = (days(60), 0.9, "S" * 900 + "F" * 100), (days(5), 0.9, "S" * 800 + "F" * 200)
    beyond = found(*many, accuracy_drop=0.10)
    assert [alert.type for alert in beyond.alerts] == ["brier_degradation", "accuracy_drop"]
    at = found(*many, brier_rise=8 / 9, accuracy_drop=1 / 9)
    assert (at.alerts, at.unsupported) == ([], [])


def test_what_is_better_is_no_alert() -> None:
    decline = found((days(60), 0.9, "F" * 30), (days(5), 0.9, "S" * 30))
    assert (decline.alerts, decline.unsupported) == ([], [])


def test_a_fall_from_perfection_raises_an_alert() -> None:
    decline = found((days(60), 1.0, "S" * 30), (days(5), 1.0, "S" * 20 + "F" * 10))
    assert [alert.type for alert in decline.alerts] == ["brier_degradation", "accuracy_drop"]
    assert decline.alerts[0].historical == 0


@pytest.mark.parametrize(
    "reported", [[], [(days(1), 0.9, "SSSS")], [(days(1), 0.9, "SSSSS")], [(days(60), 0.9, "S" * 9)]]
)
def test_windows_with_few_reviews_are_not_compared(reported: list[Reported]) -> None:
    decline = found(*reported, min_decisions=5)
    assert (decline.recent, decline.historical, decline.alerts, decline.unsupported) == (None, None, [], [])


def test_the_change_within_both_windows_has_its_date() -> None:
    reported = [(days(110 - at), 0.9, "S" if at < 50 or at % 3 == 0 else "F") for at in range(100)]
    drift = found(*reported).drift
    assert drift.change is not None
    assert abs(drift.change.time - (NOW - days(60))) <= days(3)


def calm(rng: np.random.Generator) -> RecentDrift:
    """A calibrated agent's four months: 40 recent decisions, 120 before."""
    reported = []
    for at in range(160):
        confidence = float(rng.uniform(0.5, 1))
        reported.append((days(0.75 * at + 0.1), confidence, "S" if rng.random() < confidence else "F"))
    return found(*reported)


@pytest.mark.slow
def test_calibrated_agents_are_alarmed_in_at_most_a_twentieth_of_checks() -> None:
    """A Brier score 20% worse would alone have alarmed in more."""
    rng = np.random.default_rng(30)
    checks = [calm(rng) for _ in range(150)]
    assert sum(bool(check.alerts) for check in checks) <= LEVEL * len(checks)
    assert sum(bool(check.alerts or check.unsupported) for check in checks) > 2 * LEVEL * len(checks)


def test_the_chance_is_that_of_fishers_exact_test_on_two_outcomes() -> None:
    for right, wrong, right_before, wrong_before in ((3, 7, 15, 5), (1, 4, 4, 1), (10, 10, 30, 20)):
        sample, others = np.repeat([0.0, 1.0], [right, wrong]), np.repeat([0.0, 1.0], [right_before, wrong_before])
        exact = stats.fisher_exact([[wrong, right], [wrong_before, right_before]], "greater").pvalue
        assert permutation_p_value(sample, others) == pytest.approx(exact, abs=0.04)


def skewed(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Losses at a stated .9."""
    return np.where(rng.random(n) < 0.9, 0.01, 0.81)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 5), (10, 200), (800, SHUFFLED_MAX)])
def test_samples_of_one_distribution_differ_as_often_as_the_level(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    runs = 400
    reported = sum(permutation_p_value(skewed(rng, sizes[0]), skewed(rng, sizes[1])) <= 0.05 for _ in range(runs))
    assert reported <= 0.075 * runs


def test_the_limit_agrees_with_the_shuffle() -> None:
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.02, 0.04):
        sample, others = skewed(rng, 500) + shift, skewed(rng, SHUFFLED_MAX - 500)
        shuffled = permutation_p_value(sample, others)
        assert permutation_p_value(sample, np.append(others, others.mean())) == pytest.approx(shuffled, abs=0.04)


@pytest.mark.parametrize(
    ("sample", "others", "chance"), [([1.0], [0.0], 0.5), ([0.3], [0.3, 0.3], 1.0), ([0.0], [1.0], 1.0)]
)
def test_the_least_samples(sample: list[float], others: list[float], chance: float) -> None:
    assert permutation_p_value(np.array(sample), np.array(others)) == pytest.approx(chance, abs=0.06)
