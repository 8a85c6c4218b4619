"""The clusters that decisions name, and what they change of the sums over reviews.

Every sum over reviews takes each review as independent. Where decisions name clusters, what each cluster adds differs
from what its reviews would add. That difference is here, by group, so that the sums themselves come from counts.
"""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Floats, Ints, RowNumbers, count_each, split_runs
from projections.query_check import Check, no_check
from projections.stats.clustered_mean import DesignEffect
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS, cluster_factors, wagers

CLUSTERS_AT_ONCE = 4_096
"""Clusters whose factors are computed between two calls of `check`: some milliseconds."""


_FIRST = CLUSTER_REVIEWS[-1]
_OUTCOMES = np.array([0.0, 0.5, 1.0])


class ClusterTotals(NamedTuple):
    """What named clusters change of sums over reviews: `log_factors`, `square`, `product` and `size_square` are added.

    They are as of `ClusterPart`. `largest` is the number of reviews of the largest cluster; `read` returns the clusters
    themselves.
    """

    log_factors: Floats
    clusters: int
    reviews: int
    largest: int
    square: float
    product: float
    size_square: float
    read: "Callable[[], ClusterPart]"


class ClusterPart(msgspec.Struct, frozen=True, dict=True):
    """The named clusters of one group, and what they change of its sums.

    `log_factors` are to be added to the logarithms of stakes (BETS, CLUSTER_REVIEWS). `sizes` has the number of reviews
    of each cluster. Reviews that are alike are one row: `confidence`, outcome in `halves` (0, 1 or 2), their number
    `n`, and the place of their cluster in `sizes`. A large ledger has many rows, so numbers are small.
    """

    log_factors: Floats
    sizes: Floats
    confidence: Floats
    halves: npt.NDArray[np.uint8]
    n: npt.NDArray[np.uint32]
    cluster: npt.NDArray[np.int32]

    @classmethod
    def of(
        cls, log_factors: Floats, sizes: Floats, rows: tuple[Floats, Floats | AnyInts, Floats | AnyInts, AnyInts]
    ) -> "ClusterPart":
        """Return a part, given `confidence`, `outcome`, `n` and `cluster` of its rows."""
        confidence, outcome, n, cluster = rows
        halves = np.rint(2 * outcome).astype(np.uint8)
        return cls(log_factors, sizes, confidence, halves, n.astype(np.uint32), cluster.astype(np.int32))

    @property
    def outcome(self) -> Floats:
        """The outcome of each row, 0 to 1."""
        return self.halves / 2

    @cached_property
    def totals(self) -> ClusterTotals:
        """What they change of the sums of their group."""
        reviews, largest = int(self.sizes.sum()), int(self.sizes.max())
        changes = self.square, self.product, self.size_square
        return ClusterTotals(self.log_factors, len(self.sizes), reviews, largest, *changes, lambda: self)

    @cached_property
    def difference(self) -> Floats:
        """Outcome minus confidence, by row."""
        return self.outcome - self.confidence

    @cached_property
    def sums(self) -> Floats:
        """Outcome minus confidence, summed by cluster."""
        return self._sum(self.difference)

    @cached_property
    def square(self) -> float:
        """What is to be added to the sum of squared differences."""
        return self.excess(self.difference)

    @cached_property
    def product(self) -> float:
        """What is to be added to the sum of differences, for that of each cluster's sum times its size."""
        return float(self.sums @ (self.sizes - 1))

    @cached_property
    def size_square(self) -> float:
        """What is to be added to the number of reviews, for the sum of squared sizes."""
        return float(self.sizes @ (self.sizes - 1))

    def excess(self, values: Floats) -> float:
        """Return what is to be added to the sum of squares of some values by row, so that dependence counts."""
        return float((self._sum(values) ** 2).sum() - values**2 @ self.n)

    def design_effect(
        self, values: Floats, total: float, reviewed: int, expected: Floats | None = None
    ) -> DesignEffect:
        """Return the design effect of the sum of some values over `reviewed` reviews; `values` are those of the rows.

        `total` is the variance of the sum if reviews were independent, and `expected` what each of this part has of it.
        Without `expected` that is the square of a value, or their share of the reviews if that is more; values are then
        centred: their sum is 0, so that they vary less, as if there were one cluster less. If all `values` are 0, those
        of one cluster are taken to be alike.
        """
        square, reviews = float(values**2 @ self.n), float(self.sizes.sum())
        alike = self.excess(values) / square if square > 0 else self.size_square / max(1.0, reviews)
        share = max(square / total if total > 0 else 0.0, reviews / reviewed)
        if expected is not None and total > 0:
            share = float(expected @ self.n) / total
        ratio = 1 + max(0.0, alike) * share
        clusters = reviewed**2 / (reviewed + self.size_square)
        if expected is None and clusters > 1:
            ratio *= clusters / (clusters - 1)
        return DesignEffect(ratio, clusters - 1)

    def within(self, low: float, high: float) -> "ClusterPart":
        """Return the reviews whose confidence is in a range, without factors."""
        inside = (self.confidence >= low) & (self.confidence <= high)
        sizes = self._sum(inside.astype(np.float64))
        place = np.cumsum(sizes > 0) - 1
        return ClusterPart(
            log_factors=np.zeros(0),
            sizes=sizes[sizes > 0],
            confidence=self.confidence[inside],
            halves=self.halves[inside],
            n=self.n[inside],
            cluster=place[self.cluster[inside]].astype(np.int32),
        )

    def join(self, other: "ClusterPart") -> "ClusterPart":
        """Return the clusters of both, which have none in common, so that what they change adds up."""
        joined = ClusterPart(
            log_factors=self.log_factors + other.log_factors,
            sizes=np.concatenate([self.sizes, other.sizes]),
            confidence=np.concatenate([self.confidence, other.confidence]),
            halves=np.concatenate([self.halves, other.halves]),
            n=np.concatenate([self.n, other.n]),
            cluster=np.concatenate([self.cluster, other.cluster + np.int32(len(self.sizes))]),
        )
        for name in ("square", "product", "size_square"):
            joined.__dict__[name] = getattr(self, name) + getattr(other, name)
        return joined

    def _sum(self, values: Floats) -> Floats:
        return np.bincount(self.cluster, values * self.n, len(self.sizes)).astype(np.float64)


class ReviewKinds(NamedTuple):
    """Reviews by their kind: the number of the one of each review, and the confidence and the outcome of each kind."""

    kind: npt.NDArray[np.int32]
    confidence: Floats
    outcome: Floats

    @classmethod
    def of(cls, levels: Floats, level: RowNumbers, outcome: Floats) -> "ReviewKinds":
        """Return the kinds of reviews, given different confidences and which of them each review has."""
        kind = level.astype(np.int32)
        kind *= len(_OUTCOMES)
        kind += np.rint(2 * outcome).astype(np.int32)
        return cls(kind, np.repeat(levels, len(_OUTCOMES)), np.tile(_OUTCOMES, len(levels)))


class OrderedReviews(NamedTuple):
    """Reviews of decisions with a stated confidence in the order in which they were due, as arrays of equal length.

    `cell` is the number of each one's cell, `outcome` 0 to 1, and `cluster` the number of its cluster (-1: none).
    """

    cell: AnyInts
    confidence: Floats
    outcome: Floats
    cluster: AnyInts

    def named(self) -> "NamedReviews":
        """Return those of named clusters, in the order of their clusters; within one, as they were due."""
        found = self.take(rows_by_cluster(self.cluster))
        levels, level = np.unique(found.confidence, return_inverse=True)
        return NamedReviews.of(found.cell, levels, level, found.outcome, found.cluster, np.ones(len(level)))

    def kinds(self) -> "ReviewKinds":
        """Return the kind of each."""
        return ReviewKinds.of(*np.unique(self.confidence, return_inverse=True), self.outcome)

    def take(self, rows: RowNumbers) -> "OrderedReviews":
        """Return some reviews."""
        return OrderedReviews(self.cell[rows], self.confidence[rows], self.outcome[rows], self.cluster[rows])


class NamedReviews(NamedTuple):
    """Reviews of named clusters, in the order of these; within one, as they were due. Alike ones may be one row.

    Columns are as of `OrderedReviews`. `kind` is the number of each one's confidence and outcome, `n` how many alike
    ones a row has, and `wager` has the wagers of each kind (BETS rows). Rows of several reviews come after the first
    ones of their cluster in each group (CLUSTER_REVIEWS).
    """

    cell: RowNumbers
    confidence: Floats
    outcome: Floats
    cluster: Ints
    kind: RowNumbers
    n: Floats
    wager: Floats

    @classmethod
    def of(
        cls, cell: AnyInts, levels: Floats, level: RowNumbers, outcome: Floats, cluster: AnyInts, n: Floats
    ) -> "NamedReviews":
        """Return rows, given different confidences and which of them each row has."""
        kind, *of_kind = ReviewKinds.of(levels, level, outcome)
        wager = wagers(*of_kind)
        columns = levels[level], outcome, cluster.astype(np.int64), kind.astype(np.intp), n
        return cls(cell.astype(np.intp), *columns, wager)

    def take(self, rows: RowNumbers) -> "NamedReviews":
        """Return some rows, in the same order."""
        return NamedReviews._make([*(column[rows] for column in self[:-1]), self.wager])

    def by_group(self, group: RowNumbers, check: Check = no_check, *, merge: bool = False) -> dict[int, ClusterPart]:
        """Return what clusters change in each group, given the group of each cell (-1: none).

        With `merge`, reviews of a cluster that are alike are one row.
        """
        number = group[self.cell]
        order = np.argsort(number.astype(np.min_scalar_type(-1 - len(group))), kind="stable")
        order = order[np.count_nonzero(number < 0) :]
        if not len(order):
            return {}
        number, cluster, kind, n = number[order], self.cluster[order], self.kind[order], self.n[order]
        first = np.flatnonzero((np.diff(number, prepend=-1) != 0) | (np.diff(cluster, prepend=-1) != 0))
        rows, sizes = np.diff(first, append=len(order)), np.add.reduceat(n, first)
        several = np.flatnonzero(sizes > 1)
        starts, lengths = split_runs(number[first])
        place, changed = np.repeat(np.arange(len(starts)), lengths), np.zeros((BETS, len(CLUSTER_REVIEWS), len(starts)))
        for start in range(0, len(several), CLUSTERS_AT_ONCE):
            check()
            some = several[start : start + CLUSTERS_AT_ONCE]
            runs, _ = split_runs(place[some])
            factors = cluster_factors(self.wager, kind, first[some], np.minimum(sizes[some], _FIRST).astype(np.intp))
            changed[:, :, place[some][runs]] += np.add.reduceat(factors, runs, axis=2)
        kinds_count = self.wager.shape[1]
        confidences, outcomes = np.zeros(kinds_count), np.tile(_OUTCOMES, kinds_count // len(_OUTCOMES))
        confidences[self.kind] = self.confidence
        alone = np.log1p(self.wager)
        of_one = np.log1p(self.wager[:, np.newaxis] / np.array(CLUSTER_REVIEWS)[:, np.newaxis])
        found = {}
        for run, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
            check()
            inside = slice(start, start + length)
            of_run = slice(first[start], first[start] + rows[inside].sum())
            ones = kind[first[inside][sizes[inside] == 1]]
            changed[:, :, run] += sum_kinds(of_one, ones, np.ones(len(ones)))
            place, kinds, total = np.repeat(np.arange(length), rows[inside]), kind[of_run], n[of_run]
            factors = changed[:, :, run] - sum_kinds(alone, kinds, total)[:, np.newaxis]
            if merge:
                key, total = count_each(place * kinds_count + kinds, total)
                place, kinds = np.divmod(key, kinds_count)
            columns = confidences[kinds], outcomes[kinds], total, place
            found[int(number[first[start]])] = ClusterPart.of(factors, sizes[inside], columns)
        return found


def rows_by_cluster(cluster: AnyInts) -> RowNumbers:
    """Return the rows of named clusters (-1: none), in the order of these, and within one in their own."""
    rows = np.flatnonzero(cluster >= 0)
    return rows[np.argsort(cluster[rows], kind="stable")]


def sum_kinds(values: Floats, kinds: AnyInts, n: Floats) -> Floats:
    """Return the sum of the values of reviews. Shapes: any with one of each kind last; kind and number of each row."""
    used, total = count_each(kinds, n)  # other kinds may have no wager
    return np.asarray(values[..., used] @ total)


NO_REVIEWS = OrderedReviews(np.zeros(0, np.intp), np.zeros(0), np.zeros(0), np.zeros(0, np.int64)).named()
