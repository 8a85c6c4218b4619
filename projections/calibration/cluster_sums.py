"""Sums of reviews by cluster, which grow block by block."""

from typing import Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, split_runs

CLUSTER_BITS: Final = 32

CLUSTERS_MIN: Final = 131_072
CLUSTERS_MAX: Final = 1_048_576
"""Sums that are kept at first, and at most: about 100 bytes each."""

NAMED: Final = 2**CLUSTER_BITS - 1
"""The bits of a cluster in a key; all are 0 for reviews without a cluster. The bits above are those of the group."""


class ClusterSums(NamedTuple):
    """The sums of the reviews of clusters so far: a key for each, ascending, a column of sums, and its last review.

    The last row of `sums` is the number of reviews. `dropped` says for each number of a cluster whether its sums were
    dropped: they must be made again from its reviews before others are added. `most` clusters are kept; twice as many
    after some had to be made again, because then clusters come again.
    """

    key: Ints
    sums: Floats
    last: Ints
    dropped: npt.NDArray[np.bool_]
    most: int

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Return no clusters, with `rows` sums for each, besides the number of reviews."""
        return cls(
            np.zeros(0, np.int64), np.zeros((rows + 1, 0)), np.zeros(0, np.int64), np.zeros(0, bool), CLUSTERS_MIN
        )

    def of(self, key: Ints) -> Floats:
        """Return the sums of some clusters, 0 for unknown ones."""
        place, known = self._find(key)
        found = np.zeros((len(self.sums), len(key)))
        found[:, known] = self.sums[:, place[known]]
        return found

    def put(self, key: Ints, sums: Floats, last: int) -> Self:
        """Return the sums with those of some clusters, ascending by key, replaced or added as of a last review."""
        place, known = self._find(key)
        merged, lasts = self.sums.copy(), self.last.copy()
        merged[:, place[known]], lasts[place[known]] = sums[:, known], last
        if known.all():
            return self._replace(sums=merged, last=lasts)
        place, key, sums = place[~known], key[~known], sums[:, ~known]
        return self._replace(
            key=np.insert(self.key, place, key),
            sums=np.insert(merged, place, sums, axis=1),
            last=np.insert(lasts, place, last),
        )

    def dropped_of(self, cluster: Ints) -> npt.NDArray[np.bool_]:
        """Return a mask, by number, of those of some clusters whose sums were dropped; empty if none were."""
        inside = cluster[(cluster > 0) & (cluster < len(self.dropped))]
        inside = inside[self.dropped[inside]]
        mask = np.zeros(len(self.dropped) if len(inside) else 0, dtype=bool)
        mask[inside] = True
        return mask

    def restated(self, clusters: npt.NDArray[np.bool_], key: Ints, sums: Floats, last: int) -> Self:
        """Return the sums with those of dropped clusters, given a mask by number, and parts of their sums by key."""
        dropped = self.dropped.copy()
        dropped[: len(clusters)] &= ~clusters
        by_key = np.argsort(key, kind="stable")
        first, _ = split_runs(key[by_key])
        added = np.add.reduceat(sums[:, by_key], first, axis=1) if len(key) else sums
        most = min(2 * self.most, CLUSTERS_MAX)
        return self._replace(dropped=dropped, most=most).put(key[by_key][first], added, last)

    def trimmed(self, most: int | None = None) -> Self:
        """Return the sums without those of the clusters that had no review for longest, if there are too many."""
        most = self.most if most is None else most
        if len(self.key) <= most:
            return self
        cluster, place = np.unique(self.key & NAMED, return_inverse=True)
        last = np.zeros(len(cluster), np.int64)
        np.maximum.at(last, place, self.last)
        newest = np.argsort(-last, kind="stable")
        kept = np.zeros(len(cluster), dtype=bool)
        kept[newest[np.cumsum(np.bincount(place)[newest]) <= most // 2]] = True
        dropped = np.zeros(max(len(self.dropped), int(cluster[-1]) + 1), dtype=bool)
        dropped[: len(self.dropped)] = self.dropped
        dropped[cluster[~kept]] = True
        inside = kept[place]
        return type(self)(self.key[inside], self.sums[:, inside], self.last[inside], dropped, self.most)

    def follow(self, key: Ints, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums of each review's cluster before it and after it, if n reviews follow.

        Shapes: n keys; `values` has a column for each review; both answers have one more row, the number of reviews.
        """
        by_key = np.argsort(key, kind="stable")
        sorted_key = key[by_key]
        starts, lengths = split_runs(sorted_key)
        added = np.concatenate([values[:, by_key], np.ones((1, len(key)))])
        running = np.cumsum(added, axis=1)
        offsets = self.of(sorted_key[starts]) - (running - added)[:, starts]
        running += np.repeat(offsets, lengths, axis=1)
        before, after = np.empty_like(running), np.empty_like(running)
        before[:, by_key], after[:, by_key] = running - added, running
        return before, after

    def _find(self, key: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
        """Return the places at which clusters are, or would be; and whether each is known."""
        place = np.searchsorted(self.key, key)
        return place, self.key.take(place, mode="clip") == key if len(self.key) else np.zeros(len(key), dtype=bool)
