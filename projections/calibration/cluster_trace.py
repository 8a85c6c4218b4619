"""What the named clusters of the first reviews change of their sums, after growing numbers of reviews.

What a review adds to the totals of its cluster depends on the reviews before it alone. So one pass finds the totals
after every number of reviews, where the clusters of each number by themselves would be read hundreds of times.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Floats, RowNumbers, count_each, split_runs
from projections.calibration.named_clusters import (
    CLUSTERS_AT_ONCE,
    ClusterPart,
    ClusterTotals,
    ReviewKinds,
    rows_by_cluster,
    sum_kinds,
)
from projections.query_check import Check, no_check
from projections.stats.clustered_mean import FLIPPED_MAX
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS, wagers


def trace_clusters(
    reviews: ReviewKinds, cluster: AnyInts, sizes: AnyInts, check: Check = no_check
) -> list[ClusterTotals | None]:
    """Return the totals of the clusters of the first reviews, for ascending numbers of these: the last is of all.

    None stands where none of them is of a named cluster (-1: none). The clusters themselves can only be read up to
    FLIPPED_MAX of them.
    """
    rows = rows_by_cluster(cluster)
    if not len(rows):
        return [None] * len(sizes)
    starts, lengths = split_runs(cluster[rows])
    named = _NamedRows(rows, reviews.kind[rows], starts, lengths)
    step = np.searchsorted(sizes, rows, side="right").astype(np.min_scalar_type(len(sizes)))
    check()
    counts = _trace_counts(named, step, (reviews.outcome - reviews.confidence)[named.kind], len(sizes))
    wager = wagers(reviews.confidence, reviews.outcome)
    factors = _trace_factors(named, wager, step, len(sizes), check) - _trace_alone(named, wager, sizes, check)
    first = _FirstClusters(named, reviews)
    found = list[ClusterTotals | None]()
    for size, changed, (clusters, n, most, *sums) in zip(
        sizes.tolist(), np.moveaxis(factors, 2, 0), counts.T.tolist(), strict=True
    ):
        square, product, size_square = sums
        numbers = int(clusters), int(n), int(most)
        read = partial(first.read, size, changed)
        found.append(ClusterTotals(changed, *numbers, square, product, size_square, read) if n else None)
    return found


class _NamedRows(NamedTuple):
    """The reviews of named clusters in the order of these: row number and kind; and where each cluster starts."""

    rows: RowNumbers
    kind: AnyInts
    starts: RowNumbers
    lengths: RowNumbers


def _trace_counts(named: _NamedRows, step: AnyInts, difference: Floats, steps: int) -> Floats:
    """Return the columns `clusters` to `size_square` of the totals after each step, given the step of each review."""
    before = np.arange(len(step), dtype=np.int32)
    before -= np.repeat(named.starts.astype(np.int32), named.lengths)
    total = np.cumsum(difference)
    total -= difference
    total -= np.repeat(total[named.starts], named.lengths)  # of those before in the cluster

    def add_up(values: npt.NDArray[Any] | None = None) -> Floats:
        return np.asarray(np.cumsum(np.bincount(step, values, steps)))

    largest = np.zeros(steps, np.int32)
    np.maximum.at(largest, step, before + 1)
    counts = add_up(before == 0), add_up(), np.maximum.accumulate(largest)
    square = add_up(2 * difference * total)
    difference *= before
    difference += total
    return np.array([*counts, square, add_up(difference), add_up(2 * before)])


def _trace_factors(named: _NamedRows, wager: Floats, step: AnyInts, steps: int, check: Check) -> Floats:
    """Return the logarithms of the factors of clusters after each step (BETS, CLUSTER_REVIEWS, steps)."""
    added = np.zeros((BETS, len(CLUSTER_REVIEWS), steps))
    for chunk in range(0, len(named.starts), CLUSTERS_AT_ONCE):
        check()
        clusters = slice(chunk, chunk + CLUSTERS_AT_ONCE)
        start, length = named.starts[clusters], named.lengths[clusters]
        wagered = np.zeros((BETS, len(start)))
        for place in range(min(CLUSTER_REVIEWS[-1], int(length.max()))):
            longer = np.flatnonzero(length > place)
            longer = longer[np.argsort(step[start[longer] + place], kind="stable")]
            rows = start[longer] + place
            runs, _ = split_runs(step[rows])
            old = wagered[:, longer]
            new = wagered[:, longer] = old + wager[:, named.kind[rows]]
            for number, most in enumerate(CLUSTER_REVIEWS):
                if place < most:
                    grown = np.log1p(new / most) - np.log1p(old / most)
                    added[:, number, step[rows][runs]] += np.add.reduceat(grown, runs, axis=1)
    return np.asarray(np.cumsum(added, axis=2))


def _trace_alone(named: _NamedRows, wager: Floats, sizes: AnyInts, check: Check) -> Floats:
    """Return the logarithms of the factors of the same reviews without clusters (BETS, 1, steps)."""
    order = np.argsort(named.rows)
    kind, ends, alone = named.kind[order], np.searchsorted(named.rows[order], sizes), np.log1p(wager)
    added, start = np.zeros((BETS, 1, len(sizes))), 0
    for step, end in enumerate(ends.tolist()):
        check()
        added[:, 0, step] = sum_kinds(alone, kind[start:end], np.ones(end - start))
        start = end
    return np.asarray(np.cumsum(added, axis=2))


class _FirstClusters:
    """The reviews of the clusters that appear first, FLIPPED_MAX of them, in the order in which they were due."""

    def __init__(self, named: _NamedRows, reviews: ReviewKinds) -> None:
        rank = np.argsort(np.argsort(named.rows[named.starts]))
        place = np.repeat(rank.astype(np.int32), named.lengths)
        some = np.flatnonzero(place < FLIPPED_MAX)
        some = some[np.argsort(named.rows[some])]
        self._rows, self._reviews = named.rows[some], reviews
        self._key = place[some] * np.int64(len(reviews.outcome)) + named.kind[some]

    def read(self, size: int, log_factors: Floats) -> ClusterPart:
        """Return the clusters of the first reviews, so many."""
        key, n = count_each(self._key[: np.searchsorted(self._rows, size)])
        cluster, kind = np.divmod(key, len(self._reviews.outcome))
        columns = self._reviews.confidence[kind], self._reviews.outcome[kind], n, cluster
        return ClusterPart.of(log_factors, np.bincount(cluster, n).astype(np.float64), columns)
