"""What is kept of named clusters for one kind of question, and how it is saved beside a snapshot.

Of each full group of rows these are its reviews, counted together where they are alike; of all clusters without newer
reviews what they change in the groups of a view. A restart reads the second, and the first only for other groupings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers
from projections.calibration.cluster_rows import CLUSTER_TYPES, AlikeCells, ClusterRows
from projections.calibration.kept_groups import Column, Held, KeptGroups, SavedGroup
from projections.calibration.named_clusters import ClusterPart, NamedReviews
from projections.calibration.words import GroupBy
from projections.chunk_store import ChunkSource, ChunkTarget
from projections.query_check import Check, no_check
from projections.stats.gap_martingale import BETS, CLUSTER_REVIEWS

_PART_TYPES = np.float64, np.uint32, np.float64, np.uint32, np.uint8, np.uint32, np.uint32

ReadRows = Callable[[], ClusterRows]
"""Returns the rows of a group."""

OlderReader = Callable[[Sequence[ReadRows], int], NamedReviews]
"""Returns the reviews in some rows of the clusters before one."""


class OlderClusters:
    """Clusters without newer reviews: what they change in each group is found once, by the name of a grouping."""

    def __init__(
        self,
        read: Callable[[], NamedReviews],
        parts: Mapping[GroupBy | None, dict[int, ClusterPart]] | None = None,
    ) -> None:
        self.parts = dict(parts or {})
        self._read = read

    def by_group(self, name: GroupBy | None, group: RowNumbers, check: Check) -> dict[int, ClusterPart]:
        """Return what the clusters change in each group. It is kept, but for models: names may come to mean one."""
        found = self.parts.get(name)
        if found is None or name == "model":
            found = self.parts[name] = self._read().by_group(group, check, merge=True)
        return found

    def with_more(self, read: Callable[[], NamedReviews], more: NamedReviews, alike: AlikeCells) -> "OlderClusters":
        """Return these and further clusters, given the reviews of the further ones and how to read all."""
        parts: dict[GroupBy | None, dict[int, ClusterPart]] = {
            name: join_parts(found, more.by_group(alike.groupings[name], merge=True))
            for name, found in self.parts.items()
            if name != "model"
        }
        return OlderClusters(read, parts)

    def reviews(self) -> NamedReviews:
        """Read the reviews."""
        return self._read()


class KeptOlder(NamedTuple):
    """What was found of the older groups of rows: clusters before the first one with newer reviews, and other rows."""

    held: Sequence[Held[ClusterRows]]
    first: int
    clusters: OlderClusters
    rest: ClusterRows

    def begins(self, first: int, held: Sequence[Held[ClusterRows]]) -> bool:
        """Tell whether it was found of the first of these, and `first` is not before its own."""
        return self.first <= first and len(self.held) <= len(held) and all(map(is_, self.held, held))


class SavedOlder(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of the first `groups` groups of rows: `parts` by grouping, each with the number of its group."""

    groups: int
    first: int
    rest: list[memoryview]
    parts: Sequence[tuple[GroupBy | None, list[tuple[int, list[memoryview]]]]]


class SavedClusters(msgspec.Struct, frozen=True, array_like=True):
    """What is kept for one kind of question."""

    groups: list[SavedGroup]
    older: SavedOlder | None


class KeptClusters:
    """What is kept of named clusters for one kind of question. Threads share it."""

    def __init__(self) -> None:
        self.groups = KeptGroups(ClusterRows, *CLUSTER_TYPES)
        self.older: KeptOlder | None = None

    def saved(self, columns: Sequence[Column], target: ChunkTarget) -> SavedClusters:
        """Return what is kept of full groups of frozen columns."""
        return SavedClusters(self.groups.saved(columns, target), None if self.older is None else _save(self.older))

    def restore(
        self, columns: Sequence[Column], saved: SavedClusters, source: ChunkSource, reader: OlderReader
    ) -> None:
        """Hold what was saved of columns that have the same values now."""
        self.groups.restore(columns, saved.groups, source)
        older = saved.older
        if older is None:
            return
        held = [one for one in map(self.groups.held, range(older.groups)) if one is not None]
        rows = [one.read for one in held if one.read is not None]
        if len(rows) == older.groups:
            parts = {name: {number: _part(part) for number, part in found} for name, found in older.parts}
            clusters = OlderClusters(partial(reader, rows, older.first), parts)
            rest = ClusterRows._make(map(np.array, map(np.frombuffer, older.rest, CLUSTER_TYPES)))
            self.older = KeptOlder(held, older.first, clusters, rest)


def _save(older: KeptOlder) -> SavedOlder:
    parts = [
        (name, [(number, [memoryview(array.tobytes()) for array in _arrays(part)]) for number, part in found.items()])
        for name, found in older.clusters.parts.items()
        if name != "model"
    ]
    return SavedOlder(len(older.held), older.first, [memoryview(column.tobytes()) for column in older.rest], parts)


def _arrays(part: ClusterPart) -> Iterator[npt.NDArray[Any]]:
    """Yield the arrays of a part in the types of _PART_TYPES: confidences as their different values and numbers."""
    levels, level = np.unique(part.confidence, return_inverse=True)
    columns: tuple[npt.NDArray[Any], ...] = (
        part.log_factors, part.sizes, levels, level, part.halves, part.n, part.cluster,
    )  # fmt: skip
    for column, kind in zip(columns, _PART_TYPES, strict=True):
        yield column.astype(kind)


def _part(saved: Sequence[memoryview]) -> ClusterPart:
    factors, sizes, levels, level, outcome, n, cluster = map(np.frombuffer, saved, _PART_TYPES)
    # copies: views would keep all that was saved
    changes = factors.reshape(BETS, len(CLUSTER_REVIEWS)).copy(), sizes.astype(np.float64)
    return ClusterPart.of(*changes, (levels[level], outcome / 2, n, cluster))


class ViewClusters(NamedTuple):
    """The reviews of named clusters of a view: of those with newer reviews, and of others, if they are kept."""

    newer: NamedReviews
    older: OlderClusters | None

    def by_group(self, name: GroupBy | None, group: RowNumbers, check: Check = no_check) -> dict[int, ClusterPart]:
        """Return what clusters change in each group of a grouping, given the group of each cell (-1: none)."""
        newer = self.newer.by_group(group, check)
        return newer if self.older is None else join_parts(self.older.by_group(name, group, check), newer)


def join_parts(one: Mapping[int, ClusterPart], other: Mapping[int, ClusterPart]) -> dict[int, ClusterPart]:
    """Return the parts of both by group; they have no cluster in common."""
    found = dict(one)
    for number, part in other.items():
        found[number] = found[number].join(part) if number in found else part
    return found
