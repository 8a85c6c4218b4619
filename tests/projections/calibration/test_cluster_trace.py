"""Totals of clusters after growing numbers of reviews are those of the clusters of these reviews by themselves."""

import numpy as np
import pytest

from projections.calibration.cluster_trace import trace_clusters
from projections.calibration.named_clusters import ClusterTotals, OrderedReviews
from projections.stats.clustered_mean import FLIPPED_MAX

WHOLE = np.zeros(1, np.intp)


def reviews(n: int, clusters: int, seed: int = 1) -> OrderedReviews:
    """Reviews in clusters of any size, one of eight without one, in any order, some with half an outcome."""
    rng = np.random.default_rng(seed)
    cluster = np.where(rng.random(n) < 1 / 8, -1, rng.integers(0, clusters, n) ** 2 // clusters)
    return OrderedReviews(
        np.zeros(n, np.intp), rng.choice([0.0, 0.5, 0.75, 1.0], n), rng.choice([0.0, 0.5, 1.0], n), cluster
    )


def totals_of(some: OrderedReviews, size: int) -> ClusterTotals | None:
    """What the clusters of the first reviews change, from these reviews alone."""
    part = some.take(np.arange(size)).named().by_group(WHOLE).get(0)
    return None if part is None else part.totals


@pytest.mark.parametrize(("n", "clusters"), [(1, 1), (60, 3), (400, 20), (900, 700)])
def test_totals_are_those_of_the_reviews_so_far(n: int, clusters: int) -> None:
    found = reviews(n, clusters)
    sizes = np.unique(np.linspace(1, n, 17).round().astype(np.intp))
    for size, traced in zip(sizes.tolist(), trace_clusters(found.kinds(), found.cluster, sizes), strict=True):
        expected = totals_of(found, size)
        assert (traced is None) == (expected is None)
        if traced is None or expected is None:
            continue
        assert traced[1:4] == expected[1:4]
        assert traced[4:7] == pytest.approx(expected[4:7], abs=1e-9)
        np.testing.assert_allclose(traced.log_factors, expected.log_factors, atol=1e-9)


def test_few_clusters_can_be_read() -> None:
    found = reviews(400, FLIPPED_MAX + 50)
    for size, traced in zip(
        (20, 120), trace_clusters(found.kinds(), found.cluster, np.array([20, 120, 400])), strict=False
    ):
        expected = totals_of(found, size)
        assert traced is not None
        assert expected is not None
        read, whole = traced.read(), expected.read()
        assert sorted(read.sums.tolist()) == pytest.approx(sorted(whole.sums.tolist()))
        assert sorted(read.sizes.tolist()) == sorted(whole.sizes.tolist())
        assert (read.square, read.product) == pytest.approx((whole.square, whole.product))


def test_reviews_without_clusters_have_no_totals() -> None:
    found = reviews(30, 3)._replace(cluster=np.full(30, -1))
    assert trace_clusters(found.kinds(), found.cluster, np.array([1, 30])) == [None, None]
