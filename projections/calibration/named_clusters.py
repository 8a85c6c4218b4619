"""The clusters that decisions name, and what they change of the sums over reviews.

Every sum over reviews takes each review as independent. Where decisions name clusters, what each cluster adds differs
from what its reviews would add. That difference is here, by group, so that the sums themselves come from counts.
"""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats, Ints, RowNumbers, split_runs
from projections.query_check import Check, no_check
from projections.stats.clustered_mean import DesignEffect
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS, cluster_factors, wagers

CLUSTERS_AT_ONCE = 16_384
"""Clusters whose factors are computed between two calls of `check`: some milliseconds."""


class ClusterPart(NamedTuple):
    """The named clusters of one group, and what they change of its sums.

    `log_factors` are to be added to the logarithms of stakes (BETS, CLUSTER_REVIEWS). `sizes` has the number of reviews
    of each cluster. `confidence` and `outcome` are by review, in the order of the clusters.
    """

    log_factors: Floats
    sizes: Floats
    confidence: Floats
    outcome: Floats

    @property
    def difference(self) -> Floats:
        """Outcome minus confidence, by review."""
        return self.outcome - self.confidence

    @property
    def sums(self) -> Floats:
        """Outcome minus confidence, summed by cluster."""
        return self._sum(self.difference)

    @property
    def square(self) -> float:
        """What is to be added to the sum of squared differences."""
        return self.excess(self.difference)

    @property
    def product(self) -> float:
        """What is to be added to the sum of differences, for that of each cluster's sum times its size."""
        return float(self.sums @ (self.sizes - 1))

    @property
    def size_square(self) -> float:
        """What is to be added to the number of reviews, for the sum of squared sizes."""
        return float(self.sizes @ (self.sizes - 1))

    @property
    def number(self) -> Ints:
        """The number of each review's cluster: 0, 1 and so on."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes.astype(np.intp))

    def excess(self, values: Floats) -> float:
        """Return what is to be added to the sum of squares of some values by review, so that dependence counts."""
        return float((self._sum(values) ** 2).sum() - (values**2).sum())

    def design_effect(
        self, values: Floats, total: float, reviewed: int, expected: Floats | None = None
    ) -> DesignEffect:
        """Return the design effect of the sum of some values over `reviewed` reviews; `values` are those of this part.

        `total` is the variance of the sum if reviews were independent, and `expected` what each of this part has of it.
        Without `expected` that is the square of a value, or their share of the reviews if that is more; values are then
        centred: their sum is 0, so that they vary less, as if there were one cluster less. If all `values` are 0, those
        of one cluster are taken to be alike.
        """
        square, reviews = float((values**2).sum()), float(self.sizes.sum())
        alike = self.excess(values) / square if square > 0 else self.size_square / max(1.0, reviews)
        share = max(square / total if total > 0 else 0.0, reviews / reviewed)
        if expected is not None and total > 0:
            share = float(expected.sum()) / total
        ratio = 1 + max(0.0, alike) * share
        clusters = reviewed**2 / (reviewed + self.size_square)
        if expected is None and clusters > 1:
            ratio *= clusters / (clusters - 1)
        return DesignEffect(ratio, clusters - 1)

    def within(self, low: float, high: float) -> "ClusterPart":
        """Return the reviews whose confidence is in a range, without factors."""
        inside = (self.confidence >= low) & (self.confidence <= high)
        sizes = self._sum(inside.astype(np.float64))
        return ClusterPart(np.zeros(0), sizes[sizes > 0], self.confidence[inside], self.outcome[inside])

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.number, values, len(self.sizes)).astype(np.float64)


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
        first = np.flatnonzero(np.diff(number, prepend=-1) | np.diff(cluster, prepend=-1))
        sizes = np.diff(first, append=len(order))
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
        starts, lengths = split_runs(number[first])
        found = {}
        for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
            some = slice(start, start + length)
            reviews = order[first[start] : first[start] + sizes[some].sum()]
            found[int(number[first[start]])] = ClusterPart(
                log_factors=changed[:, :, some].sum(axis=2),
                sizes=sizes[some].astype(np.float64),
                confidence=self.confidence[reviews],
                outcome=self.outcome[reviews],
            )
        return found


NO_REVIEWS = OrderedReviews(np.zeros(0, np.intp), np.zeros(0), np.zeros(0), np.zeros(0, np.int64))
