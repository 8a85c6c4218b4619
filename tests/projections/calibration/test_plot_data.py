"""What drawings show: the points of the evidence, the sums over time, the tenths and the net benefits."""

import numpy as np
import pytest

from projections.arrays import Floats, Ints
from projections.calibration.confidence_bins import bin_counts
from projections.calibration.named_clusters import OrderedReviews
from projections.calibration.plot_data import (
    POINTS_MAX,
    THRESHOLDS,
    net_benefits,
    sum_gaps,
    trace_evidence,
)
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.columns import GroupKey
from projections.stats.gap_martingale import E_VALUE_SUPPORTED, log_e_values, log_factors
from projections.stats.gap_sequence import gap_sequence
from projections.stats.intervals import gap_interval

DAY_US = 86_400_000_000


def reviews(n: int, gap: float, seed: int, cluster: int = 0) -> OrderedReviews:
    """The reviews of an agent that succeeds more often than it says by `gap`, in clusters of so many (0: none)."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.7, 0.8, 0.9], n)
    outcome = np.asarray(rng.random(n) < confidence + gap, dtype=np.float64)
    return ordered(confidence, outcome, np.arange(n) // cluster if cluster else None)


def ordered(confidence: Floats, outcome: Floats, cluster: Ints | None = None) -> OrderedReviews:
    cell = np.unique(confidence, return_inverse=True)[1]
    return OrderedReviews(cell, confidence, outcome, np.full(len(cell), -1) if cluster is None else cluster)


def history(time_us: list[int], category: list[int], confidence: Floats, outcome: Floats) -> ReviewedDecisions:
    """Decisions of one agent in two categories; the number of a success is 1 and of a failure 3."""
    n = len(time_us)
    groups: list[GroupKey] = [("/agents/a", name, None, None, None) for name in ("x", "y")]
    none = np.full(n, -1, dtype=np.int64)
    codes = np.where(outcome == 1, 1, 3).astype(np.uint8)
    times, group = np.array(time_us, dtype=np.int64), np.array(category, dtype=np.uint32)
    return ReviewedDecisions(groups, [None, None], [], [], times, confidence, codes, group, none, none)


@pytest.mark.parametrize("n", [1, 2, 199, 200, 201, 5_000])
def test_points_are_at_most_200_and_have_the_first_and_the_last_review(n: int) -> None:
    points = trace_evidence(reviews(n, 0.0, 1))
    assert len(points) == min(n, POINTS_MAX)
    assert (points[0].reviews, points[-1].reviews) == (1, n)
    steps = np.diff([point.reviews for point in points])
    assert n < 2 or steps.max() - steps.min() <= 1


def test_each_point_is_what_so_many_reviews_give() -> None:
    _, confidence, outcome, _ = followed = reviews(700, -0.12, 2)
    for point in trace_evidence(followed)[::20]:
        n = point.reviews
        c, o = confidence[:n], outcome[:n]
        logs = log_e_values(log_factors(c, o).sum(axis=1)[:, np.newaxis])
        expected = (np.exp(logs.over[0]), np.exp(logs.under[0]))
        assert (point.e_value_over, point.e_value_under) == pytest.approx(expected, rel=1e-4)
        assert point.gap == pytest.approx((o - c).mean())
        once = gap_interval(float(o.sum()), n, float(c.mean()))
        assert (point.gap_interval.low, point.gap_interval.high) == pytest.approx((once.low, once.high))
        whole = gap_sequence(n, float((o - c).sum()), float(((o - c) ** 2).sum()))
        assert point.gap_sequence.low == pytest.approx(max(whole.low, -c.mean()))
        assert point.gap_sequence.high == pytest.approx(min(whole.high, 1 - c.mean()))


@pytest.mark.slow
def test_evidence_of_calibrated_agents_rarely_reaches_its_level() -> None:
    """Of 100 calibrated agents with 400 reviews, at most 5% are ever at the level at a point that is drawn."""
    reached = 0
    for seed in range(100):
        points = trace_evidence(reviews(400, 0.0, seed))
        reached += any(max(point.e_value_over, point.e_value_under) >= E_VALUE_SUPPORTED for point in points)
    assert reached / 100 <= 0.05


def test_evidence_without_limits_stays_a_number() -> None:
    points = trace_evidence(ordered(np.full(3_000, 0.99), np.zeros(3_000)))
    assert np.isfinite([point.e_value_over for point in points]).all()
    assert min(point.e_value_under for point in points) > 0
    assert trace_evidence(ordered(np.zeros(0), np.zeros(0))) == []


def test_clusters_are_one_bet_each() -> None:
    """The last point is what the trace of all reviews gives; with clusters it is less evidence than without."""
    alone, together = (trace_evidence(reviews(9_000, -0.05, 3, size))[-1] for size in (0, 30))
    assert 1 < together.e_value_over < alone.e_value_over
    assert together.gap == alone.gap
    assert together.gap_sequence.high > alone.gap_sequence.high


def test_sums_return_to_0_in_each_category() -> None:
    """A category that follows another, with another gap, shows no change."""
    n = 200
    outcome = np.r_[np.tile([1.0, 1.0, 1.0, 0.0], 25), np.tile([1.0, 0.0], 50)]
    times = [number * DAY_US for number in range(n)]
    sums = sum_gaps(history(times, [0] * 100 + [1] * 100, np.full(n, 0.9), outcome))
    assert max(abs(point.sum) for point in sums) < 1.5
    assert [point.sum for point in sums if point.decisions in (100, 200)] == pytest.approx([0, 0], abs=1e-6)
    assert sums[0].time.year == 1970


def test_a_change_is_where_the_sum_is_highest() -> None:
    outcome = np.r_[np.ones(100), np.zeros(100)]
    times = [number * DAY_US for number in range(200)]
    sums = sum_gaps(history(times, [0] * 200, np.full(200, 0.8), outcome))
    assert max(sums, key=lambda point: point.sum).decisions == 100


def test_decisions_without_a_time_of_their_own_are_left_out() -> None:
    times = [0] * 90 + [number * DAY_US for number in range(1, 61)]
    found = sum_gaps(history(times, [0] * 150, np.full(150, 0.8), np.tile([1.0, 0.0], 75)))
    assert found[-1].decisions == 60
    assert sum_gaps(history([0] * 90, [0] * 90, np.full(90, 0.8), np.ones(90))) == []
    assert sum_gaps(history([], [], np.zeros(0), np.zeros(0))) == []


def test_net_benefit_at_every_threshold() -> None:
    counts = np.array([[0, 30, 0, 10, 0], [5, 50, 0, 10, 0]])
    uses = net_benefits(bin_counts(np.array([0.6, 0.9]), counts))
    assert tuple(use.threshold for use in uses) == THRESHOLDS
    assert uses[80].net_benefit == pytest.approx((50 - 4 * 10) / 100)
    assert uses[80].net_benefit_all == pytest.approx((80 - 4 * 20) / 100)
    assert net_benefits(bin_counts(np.array([0.5]), np.array([[3, 0, 0, 0, 0]]))) == []
