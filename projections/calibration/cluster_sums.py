"""Sums of reviews by cluster, which grow review by review."""

from typing import NamedTuple, Self

import numpy as np

from projections.arrays import Floats, Ints, RowNumbers, split_runs


class ClusterSums(NamedTuple):
    """The sums of the reviews of clusters so far: a key for each cluster, ascending, and a column of sums.

    The last row of `sums` is the number of reviews.
    """

    key: Ints
    sums: Floats

    @classmethod
    def empty(cls, rows: int) -> Self:
        """Return no clusters, with `rows` sums for each, besides the number of reviews."""
        return cls(np.zeros(0, np.int64), np.zeros((rows + 1, 0)))

    def add(self, key: Ints, values: Floats) -> tuple[Self, Floats, Floats]:
        """Return the sums with n reviews more, and those of each review's cluster before it and after it.

        Shapes: n keys; `values` has a column for each review; both answers have one more row, the number of reviews.
        """
        by_key = np.argsort(key, kind="stable")
        sorted_key = key[by_key]
        starts, lengths = split_runs(sorted_key)
        found = sorted_key[starts]
        place = np.searchsorted(self.key, found)
        known = np.flatnonzero(place < len(self.key))
        known = known[self.key[place[known]] == found[known]]
        carried = np.zeros((len(self.sums), len(found)))
        carried[:, known] = self.sums[:, place[known]]
        added = np.concatenate([values[:, by_key], np.ones((1, len(key)))])
        running = np.cumsum(added, axis=1)
        offsets = carried - (running - added)[:, starts]
        running += np.repeat(offsets, lengths, axis=1)
        before, after = np.empty_like(running), np.empty_like(running)
        before[:, by_key], after[:, by_key] = running - added, running
        return self._merged(found, running[:, starts + lengths - 1], known, place), before, after

    def _merged(self, found: Ints, sums: Floats, known: RowNumbers, place: RowNumbers) -> Self:
        """Return the sums with the new ones of the clusters that were found."""
        merged = self.sums.copy()
        merged[:, place[known]] = sums[:, known]
        new = np.ones(len(found), dtype=bool)
        new[known] = False
        return type(self)(
            np.insert(self.key, place[new], found[new]), np.insert(merged, place[new], sums[:, new], axis=1)
        )
