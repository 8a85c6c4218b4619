"""The clusters that decisions name, and what they change of the sums over reviews.

Every sum over reviews takes each review as independent. Where decisions name clusters, what each cluster adds differs
from what its reviews would add. That difference is here, by group, so that the sums themselves come from counts.
"""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats, Ints, RowNumbers, split_runs
from projections.query_check import Check, no_check
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS, cluster_factors, wagers

CLUSTERS_AT_ONCE = 16_384
"""Clusters whose factors are computed between two calls of `check`: some milliseconds."""


class ClusterPart(NamedTuple):
    """What the named clusters of one group change of its sums.

    `log_factors` are to be added to the logarithms of stakes (BETS, CLUSTER_REVIEWS). `square`, `product` and
    `size_square` are to be added to the sums of a review's squared difference, of its difference, and of 1. `sums` and
    `sizes` are by cluster: outcome minus confidence, and reviews. `difference` is by review.
    """

    log_factors: Floats
    square: float
    product: float
    size_square: float
    sums: Floats
    sizes: Floats
    difference: Floats


class OrderedReviews(NamedTuple):
    """Reviews of decisions with a stated confidence in the order in which they were due, as arrays of equal length.

    `cell` is the number of each one's cell, `outcome` 0 to 1, and `cluster` the number of its cluster (-1: none).
    """

    cell: RowNumbers
    confidence: Floats
    outcome: Floats
    cluster: Ints

    def named(self) -> "OrderedReviews":
        """Return those of named clusters, in the order of their clusters; within one, as they were due."""
        rows = np.flatnonzero(self.cluster >= 0)
        return self.take(rows[np.argsort(self.cluster[rows], kind="stable")])

    def take(self, rows: RowNumbers) -> "OrderedReviews":
        """Return some reviews."""
        return OrderedReviews(self.cell[rows], self.confidence[rows], self.outcome[rows], self.cluster[rows])

    def by_group(self, group: RowNumbers, check: Check = no_check) -> dict[int, ClusterPart]:
        """Return what clusters change in each group, given the group of each cell (-1: none).

        All reviews are of named clusters, in the order of these.
        """
        if not len(self.cell):
            return {}
        number = group[self.cell].astype(np.int64)
        order = np.argsort(number, kind="stable")
        order = order[number[order] >= 0]
        if not len(order):
            return {}
        number, cluster = number[order], self.cluster[order]
        difference = self.outcome[order] - self.confidence[order]
        first = np.flatnonzero(np.diff(number, prepend=-1) | np.diff(cluster, prepend=-1))
        sizes = np.diff(first, append=len(order))
        sums = np.add.reduceat(difference, first)
        place = np.arange(len(order)) - np.repeat(first, sizes)
        changed = np.empty((BETS, len(CLUSTER_REVIEWS), len(first)))
        for start in range(0, len(first), CLUSTERS_AT_ONCE):
            check()
            some = slice(start, start + CLUSTERS_AT_ONCE)
            rows = slice(first[start], first[start] + sizes[some].sum())
            wager = wagers(self.confidence[order[rows]], self.outcome[order[rows]])
            starts = first[some] - first[start]
            alone = np.add.reduceat(np.log1p(wager), starts, axis=1)
            changed[:, :, some] = cluster_factors(wager, place[rows], starts) - alone[:, np.newaxis]
        squares = np.add.reduceat(difference**2, first)
        starts, lengths = split_runs(number[first])
        found = {}
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            some = slice(start, start + length)
            size, total = sizes[some].astype(np.float64), sums[some]
            found[int(number[first[start]])] = ClusterPart(
                log_factors=changed[:, :, some].sum(axis=2),
                square=float((total**2 - squares[some]).sum()),
                product=float((total * (size - 1)).sum()),
                size_square=float((size**2 - size).sum()),
                sums=total,
                sizes=size,
                difference=difference[first[start] : first[start] + int(size.sum())],
            )
        return found


NO_REVIEWS = OrderedReviews(np.zeros(0, np.intp), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
