"""The mean of values in clusters: Student's test of single values, and error rates with clusters."""

import numpy as np
import pytest
from scipy import stats

from projections.stats.clustered_mean import WILD_CLUSTERS_BELOW, clustered_mean
from tallystick.shapes.parts import Interval


def test_single_values_have_students_interval() -> None:
    rng = np.random.default_rng(8)
    for n in (2, 30, 500):
        values = rng.random(n) - 0.45
        found, expected = clustered_mean(values, np.arange(n), -1.0, 1.0), stats.ttest_1samp(values, 0)
        interval = expected.confidence_interval(0.95)
        assert found.interval is not None
        assert found.clusters == n
        assert found.mean == pytest.approx(values.mean())
        assert found.effective_n == pytest.approx(n)
        assert found.p == pytest.approx(expected.pvalue, abs=1e-12)
        bounds = max(-1, interval.low), min(1, interval.high)
        assert (found.interval.low, found.interval.high) == pytest.approx(bounds, abs=1e-12)


def test_values_that_are_all_alike() -> None:
    alike = clustered_mean(np.full(50, 0.2), np.arange(50), -1.0, 1.0)
    assert (alike.interval, alike.p, alike.effective_n) == (Interval(alike.mean, alike.mean), 0.0, 50)
    assert clustered_mean(np.zeros(50), np.arange(50), -1.0, 1.0).p == 1.0


def test_one_cluster_shows_nothing() -> None:
    found = clustered_mean(np.array([0.1, 0.2, 0.3]), np.zeros(3, dtype=np.int64), -1.0, 1.0)
    assert (found.interval, found.p, found.clusters) == (None, None, 1)
    assert found.mean == pytest.approx(0.2)


def test_copies_of_a_value_are_one_value() -> None:
    """Each value ten times, in a cluster: the interval and p of the values alone, and their number."""
    values = np.random.default_rng(3).normal(0.05, 0.2, 60)
    copied = clustered_mean(np.repeat(values, 10), np.repeat(np.arange(60), 10), -1.0, 1.0)
    alone = clustered_mean(values, np.arange(60), -1.0, 1.0)
    assert copied.p == pytest.approx(alone.p)
    assert copied.effective_n == pytest.approx(60 * 599 / 590, rel=0.05)


def false_rate(sizes: list[int], correlation: float, histories: int) -> float:
    """Return how often equal agents differ by p <= .05, where differences in a cluster are correlated and skewed."""
    rng = np.random.default_rng(sum(sizes))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    rejected = 0
    for _ in range(histories):
        losses = []
        for _ in "ab":
            latent = correlation**0.5 * rng.normal(size=len(sizes))[cluster]
            latent += (1 - correlation) ** 0.5 * rng.normal(size=len(cluster))
            stated = rng.choice([0.8, 0.9, 0.95], len(cluster))
            losses.append((stated - (stats.norm.cdf(latent) < stated)) ** 2)
        p = clustered_mean(losses[0] - losses[1], cluster, -1.0, 1.0).p
        rejected += p is not None and p <= 0.05
    return rejected / histories


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [[10] * 10, [10] * 20, [10] * 50, [10] * (WILD_CLUSTERS_BELOW - 1), [50, *[5] * 30], [60, *[2] * 60], [1] * 60],
    ids=str,
)
@pytest.mark.parametrize("correlation", [0.3, 0.6])
def test_equal_agents_with_clustered_questions_differ_in_at_most_6_percent(
    sizes: list[int], correlation: float
) -> None:
    assert false_rate(sizes, correlation, 2_500) <= 0.06


@pytest.mark.slow
def test_equal_agents_with_clustered_questions_rarely_differ() -> None:
    assert false_rate([10] * 20, 0.6, 500) <= 0.08
