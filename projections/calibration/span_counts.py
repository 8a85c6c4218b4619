"""Counts over ranges of time, from kept counts of groups of rows.

Decisions are mostly recorded in the order in which they were made, so most groups of rows are entirely inside or
outside a range of time. Their kept counts are added up, and only the groups that contain an end of the range are
counted decision by decision. What is kept is much smaller than the rows: where a group has too many different counts,
its rows are counted each time. The sums over all groups, and over all but the newest, are kept, too, while none of
these groups changes.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Ints
from projections.calibration.counted_columns import CountedColumns
from projections.calibration.kept_groups import Held, KeptGroups, SavedGroup
from projections.chunk_store import ChunkSource, ChunkTarget
from projections.query_check import Check, no_check

ROWS_PER_COUNT: Final = 2
"""Counts of a group of rows are kept if it has at least this many rows for each."""

NEWEST_GROUPS: Final = 2
"""The groups of rows in which most changes are."""


class GroupCounts(NamedTuple):
    """The numbers of some counts, ascending, and the counts."""

    numbers: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.uint32]


class _Sum(NamedTuple):
    """The first groups as they were counted, and the sum of their counts."""

    held: Sequence[Held[GroupCounts]]
    total: Ints


class SavedCounts(msgspec.Struct, frozen=True, array_like=True):
    """Kept counts, and the sum over the first `older` groups: numbers of counts, and the counts."""

    groups: list[SavedGroup]
    older: int
    numbers: bytes
    counts: bytes


class CountSpans:
    """Kept counts of groups of rows, until one of their decisions changes. Threads share it."""

    def __init__(self) -> None:
        self._kept = KeptGroups(GroupCounts, np.uint32, np.uint32)
        self._sums: tuple[_Sum, ...] = ()
        """Over all groups, and over all but the newest."""

    def count(self, columns: CountedColumns, since_us: int, until_us: int, size: int, check: Check = no_check) -> Ints:
        """Return the `size` counts of the decisions made within a range of time, both ends included."""
        total, held, groups = np.zeros(size, dtype=np.int64), list[Held[GroupCounts]](), columns.counted.groups
        parts = list(columns.within(since_us, until_us))
        everything = len(parts) == groups and all(isinstance(places, slice) for _, places in parts)
        known = self._known(columns) if everything else None
        older = known if known is not None and len(known.held) == groups - NEWEST_GROUPS else None
        if known is not None:
            held += known.held
            total[: len(known.total)] = known.total[:size]
        for group, places in parts[len(held) :]:
            check()
            if isinstance(places, slice):
                held.append(self._add(total, columns, group))
            else:
                np.add.at(total, columns.count_numbers(group, places), 1)
            if everything and group == groups - NEWEST_GROUPS - 1:
                older = _Sum(list(held), total.copy())
        if everything and (known is None or len(known.held) < groups):
            self._sums = (_Sum(held, total.copy()), *([] if older is None else [older]))
        return total

    def _known(self, columns: CountedColumns) -> _Sum | None:
        """Return the first kept sum that holds."""
        for known in self._sums:
            if len(known.held) <= columns.counted.groups and all(
                self._valid(columns, group) is held for group, held in enumerate(known.held)
            ):
                return known
        return None

    def _valid(self, columns: CountedColumns, group: int) -> Held[GroupCounts] | None:
        """Return what is kept of a group, if it holds."""
        return self._kept.get(group, columns.state(group), columns.maturity.now_us)

    def _add(self, total: Ints, columns: CountedColumns, group: int) -> Held[GroupCounts]:
        """Add the counts of a whole group, and return what is kept of it."""
        held = self._valid(columns, group)
        if held is not None and held.read is not None:
            value = held.read()
            total[value.numbers] += value.counts
            return held
        counted = np.bincount(columns.count_numbers(group, slice(None)))
        total[: len(counted)] += counted
        if held is not None:
            return held
        state, used = columns.state(group), np.flatnonzero(counted)
        few = len(used) * ROWS_PER_COUNT <= state.rows
        kept = GroupCounts(used.astype(np.uint32), counted[used].astype(np.uint32)) if few else None
        return self._kept.put(group, state, columns.maturity.now_us, columns.next_due(group), kept)

    def saved(self, columns: CountedColumns, target: ChunkTarget) -> SavedCounts:
        """Return what is kept of frozen columns."""
        groups = self._kept.saved(columns.used, target)
        full = columns.counted.full_groups
        for known in self._sums:
            if len(known.held) <= full and all(self._valid(columns, n) is held for n, held in enumerate(known.held)):
                numbers = np.flatnonzero(known.total).astype(np.uint32)
                counts = known.total[numbers].astype(np.uint32)
                return SavedCounts(groups, len(known.held), numbers.tobytes(), counts.tobytes())
        return SavedCounts(groups, 0, b"", b"")

    def restore(self, columns: CountedColumns, saved: SavedCounts, source: ChunkSource) -> None:
        """Keep what was saved of columns that have the same values now."""
        self._kept.restore(columns.used, saved.groups, source)
        held = [self._kept.held(group) for group in range(saved.older)]
        known = [one for one in held if one is not None]
        if known and len(known) == saved.older:
            numbers = np.frombuffer(saved.numbers, np.uint32)
            total = np.zeros(int(numbers[-1]) + 1 if len(numbers) else 0, np.int64)
            total[numbers] = np.frombuffer(saved.counts, np.uint32)
            self._sums = (_Sum(known, total),)
