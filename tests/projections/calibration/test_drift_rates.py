"""Rates of false alarms of drift over a year of looks, of detections, and of dates within their interval. Fixed seeds.

All histories of a simulation state the same confidences, so that one layout and one threshold serve all of them. The
thresholds are computed for some numbers of reviews, as `detect_change` does for each, and interpolated.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from ledger.clock import microseconds, moment_of
from projections.arrays import Floats, Ints
from projections.calibration.change_point import FULL_LEVEL_REVIEWS, REVIEWS_MIN, SIDE_REVIEWS_MIN, detect_change
from projections.stats.shift_search import ShiftLayout
from projections.stats.shift_simulation import simulate_deviations
from tallystick.shapes.history import ALARM_LEVEL, FALSE_ALARM_RATE, INTERVAL_LEVEL

DAY_US = 86_400_000_000
BEGAN_US = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
DEPENDENCES = ("independent", "clusters", "autocorrelated")


def times(n: int) -> Ints:
    return BEGAN_US + (np.arange(n) * (365 * DAY_US / n)).astype(np.int64)


def draw(rng: np.random.Generator, chance: Floats, histories: int, dependence: str) -> Floats:
    """Draw outcomes with the given chances: clusters of 10 with latent correlation .3, or latent AR(.5)."""
    shape = histories, len(chance)
    latent = rng.standard_normal(shape)
    if dependence == "clusters":
        cluster = (np.arange(shape[1]) + rng.integers(0, 10, (histories, 1))) // 10
        common = rng.standard_normal((histories, shape[1] // 10 + 2))
        latent = np.sqrt(0.3) * np.take_along_axis(common, cluster, axis=1) + np.sqrt(0.7) * latent
    elif dependence == "autocorrelated":
        latent[:, 1:] *= np.sqrt(0.75)
        latent = lfilter([1.0], [1.0, -0.5], latent, axis=1)
    successes: Floats = (latent < norm.ppf(chance)).astype(np.float64)
    return successes


def layout_of(n: int) -> ShiftLayout:
    return ShiftLayout(np.zeros(n, dtype=np.int64), np.arange(1, n + 1), SIDE_REVIEWS_MIN)


def threshold(confidence: Floats) -> tuple[float, float]:
    """Return the deviation that is as rare as an alarm may be, and the scale of independent windows."""
    layout, n = layout_of(len(confidence)), len(confidence)
    level = ALARM_LEVEL * min(1.0, n / FULL_LEVEL_REVIEWS) ** 2
    found: list[Floats] = []
    histories, independent = 0, 0.0
    for simulated in simulate_deviations(layout, confidence, confidence):
        independent = independent or float(simulated.windows.mean())
        found.append(simulated.scaled(independent))
        histories += len(found[-1])
        if histories * level > 6:
            return float(np.quantile(np.concatenate(found), 1 - level)), independent
    raise AssertionError


def looks(
    confidence: Floats, outcome: Floats, a_day: int
) -> Iterator[tuple[int, "np.ndarray[tuple[int], np.dtype[np.bool_]]"]]:
    """Yield each day with enough reviews, and which histories raise an alarm on it."""
    known = np.unique(np.geomspace(REVIEWS_MIN, len(confidence), 14).astype(int))
    limits, scales = zip(*(threshold(confidence[:n]) for n in known.tolist()), strict=True)
    for day in range(-(-REVIEWS_MIN // a_day), 366):
        n = day * a_day
        layout = layout_of(n)
        excess = outcome[:, :n] - confidence[:n]
        excess = excess - excess.mean(axis=1, keepdims=True)
        found = layout.deviation(excess.cumsum(axis=1)[:, layout.points], (excess**2).sum(axis=1))
        limit, scale = (float(np.interp(np.log(n), np.log(known), values)) for values in (limits, scales))
        yield day, found.scaled(scale) >= limit


@pytest.mark.slow
@pytest.mark.parametrize("dependence", DEPENDENCES)
@pytest.mark.parametrize("a_day", [1, 3, 10])
def test_daily_weekly_and_monthly_looks_raise_alarms_in_at_most_a_twentieth_of_years(
    a_day: int, dependence: str
) -> None:
    rng = np.random.default_rng(16)
    confidence = rng.choice([0.8, 0.9, 0.95], a_day * 365)
    histories = 600 if a_day < 10 else 300
    outcome = draw(rng, confidence, histories, dependence)
    alarms = {step: np.zeros(histories, dtype=bool) for step in (1, 7, 30)}
    for day, alarm in looks(confidence, outcome, a_day):
        for step in alarms:
            if day % step == 0:
                alarms[step] |= alarm
    rates = {step: float(found.mean()) for step, found in alarms.items()}
    print(f"{a_day} a day, {dependence}: daily, weekly, monthly {rates}")
    assert max(rates.values()) <= FALSE_ALARM_RATE, rates


@pytest.mark.slow
@pytest.mark.parametrize(("shift", "least"), [(-0.15, 0.4), (-0.20, 0.75)])
def test_two_hundred_reviews_on_each_side_show_a_change(shift: float, least: float) -> None:
    rng = np.random.default_rng(200)
    n, histories = 400, 1_000
    confidence = rng.choice([0.8, 0.9, 0.95], n)
    outcome = draw(rng, np.where(np.arange(n) < 200, confidence, confidence + shift), histories, "independent")
    layout, (limit, scale) = layout_of(n), threshold(confidence)
    excess = outcome - confidence
    excess -= excess.mean(axis=1, keepdims=True)
    found = layout.deviation(excess.cumsum(axis=1)[:, layout.points], (excess**2).sum(axis=1)).scaled(scale)
    print(f"shift {shift}: found in {(found >= limit).mean():.3f}")
    assert (found >= limit).mean() >= least


@pytest.mark.slow
def test_nine_of_ten_intervals_contain_the_date() -> None:
    rng = np.random.default_rng(90)
    covered = []
    for n, at, shift in ((400, 200, -0.2), (800, 300, -0.2), (1_000, 600, -0.15)):
        confidence = rng.choice([0.8, 0.9, 0.95], n)
        chance = np.where(np.arange(n) < at, confidence, confidence + shift)
        date = moment_of(int(times(n)[at]))
        for outcome in draw(rng, chance, 60, "independent"):
            change = detect_change(confidence, outcome, times(n)).change
            if change is not None:
                covered.append(change.earliest <= date <= change.latest)
    print(f"{len(covered)} alarms, {np.mean(covered):.3f} covered")
    assert len(covered) > 140
    assert INTERVAL_LEVEL - 0.05 <= np.mean(covered) <= INTERVAL_LEVEL + 0.05


def one_after_another(rng: np.random.Generator, shift: float = 0.0) -> tuple[Floats, Floats, Ints]:
    """Four categories of 150 reviews with gaps from +.05 to -.55, each a third over the next, and a shift halfway."""
    starts, n = np.arange(4) * 100, 150
    at = np.concatenate([start + np.sort(rng.uniform(0, n, n)) for start in starts])
    category = np.repeat(np.arange(4), n)[np.argsort(at)]
    confidence = rng.choice([0.8, 0.9], len(category))
    late = np.sort(at) > 225
    chance = confidence + np.array([0.05, -0.2, -0.55, -0.35])[category] + late * shift
    return confidence, (rng.random(len(chance)) < chance).astype(np.float64), category


@pytest.mark.slow
@pytest.mark.defect(2)
def test_stationary_categories_one_after_another_are_no_change() -> None:
    """Row 2 of the statistical defects: another category was dated as a change of the gap."""
    rng = np.random.default_rng(2)
    without = 0
    for _ in range(25):
        confidence, outcome, category = one_after_another(rng)
        n = len(category)
        without += detect_change(confidence, outcome, times(n)).alarm
        found = detect_change(confidence, outcome, times(n), category)
        assert (found.alarm, found.strata, found.reason) == (False, 4, None)
        in_order = detect_change(np.full(n, 0.9), np.repeat([1.0, 0.0, 1.0, 0.0], n // 4), times(n), np.sort(category))
        assert in_order.reason == "no category before and after" or not in_order.alarm
    assert without == 25


@pytest.mark.slow
def test_a_change_within_overlapping_categories_is_found() -> None:
    rng = np.random.default_rng(3)
    changes = []
    for _ in range(20):
        confidence, outcome, category = one_after_another(rng, shift=-0.3)
        found = detect_change(confidence, outcome, times(len(category)), category)
        if found.change is not None:
            changes.append(found.change)
    assert len(changes) >= 10
    assert np.mean([change.shift.amount for change in changes]) == pytest.approx(-0.3, abs=0.1)
    assert all(change.shift.interval.low < change.shift.amount < change.shift.interval.high for change in changes)


@pytest.mark.defect(2)
@pytest.mark.parametrize("gap_us", [0, 1, 50_000])
def test_rows_that_follow_a_file_have_no_change(gap_us: int) -> None:
    """Row 2 of the statistical defects: rows without times share that of their import, 500 in each batch."""
    n = 2_000
    outcome = (np.arange(n) < n / 2).astype(np.float64)
    found = detect_change(np.full(n, 0.8), outcome, BEGAN_US + 123 + np.arange(n) // 500 * gap_us)
    assert (found.alarm, found.p, found.change) == (False, None, None)
    assert (found.reason, found.left_out, found.reviewed) == ("too few times", n, n)


@pytest.mark.defect(2)
def test_an_import_amid_dated_decisions_is_left_out() -> None:
    rng = np.random.default_rng(4)
    n = 300
    confidence = np.full(n + 600, 0.9)
    outcome = np.insert((rng.random(n) < 0.9).astype(np.float64), 150, np.zeros(600))
    time_us = np.insert(times(n), 150, np.full(600, times(n)[150]))
    found = detect_change(confidence, outcome, time_us)
    assert (found.alarm, found.left_out, found.reason) == (False, 601, None)
    assert found.p is not None


def test_a_named_cluster_is_not_divided() -> None:
    """Two clusters overlap, and one decision of the second is in the middle of others."""
    rng = np.random.default_rng(6)
    n = 600
    cluster = np.arange(n) // 10
    cluster[300:320] = np.tile([30, 31], 10)
    cluster[335] = 31
    outcome = (rng.random(n) < np.where(np.arange(n) < 305, 0.9, 0.4)).astype(np.float64)
    change = detect_change(np.full(n, 0.9), outcome, times(n), None, cluster).change
    assert change is not None
    assert change.index in {*range(0, 301, 10), *range(340, n, 10)}
    assert abs(change.index - 305) <= 35


def test_decisions_without_a_cluster_are_examined_as_before() -> None:
    rng = np.random.default_rng(7)
    outcome = (rng.random(400) < np.where(np.arange(400) < 200, 0.9, 0.5)).astype(np.float64)
    none = np.full(400, -1)
    found = detect_change(np.full(400, 0.9), outcome, times(400))
    assert found.alarm
    assert found == detect_change(np.full(400, 0.9), outcome, times(400), None, none)


@pytest.mark.parametrize("sizes", [[50] * 9, [300, *[1] * 150], [1] * 100 + [300] + [1] * 50])
def test_few_clusters_show_no_change(sizes: list[int]) -> None:
    """Fewer than ten, or a large one that outweighs the others: each side needs five effective ones."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    n = len(cluster)
    outcome = (np.arange(n) < n / 2).astype(np.float64)
    found = detect_change(np.full(n, 0.9), outcome, times(n), None, cluster)
    assert (found.alarm, found.p, found.reason, found.reviewed) == (False, None, "too few clusters", n)


def test_a_change_is_not_dated_within_a_day_without_times() -> None:
    """Dates alone: ten decisions share each day, and the change is in the middle of one."""
    rng = np.random.default_rng(6)
    n = 600
    time_us = BEGAN_US + np.arange(n) // 10 * DAY_US
    outcome = (rng.random(n) < np.where(np.arange(n) < 305, 0.9, 0.4)).astype(np.float64)
    change = detect_change(np.full(n, 0.9), outcome, time_us).change
    assert change is not None
    assert change.index % 10 == 0
    assert abs(change.index - 305) <= 25
    assert change.earliest <= change.time <= change.latest
