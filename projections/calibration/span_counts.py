"""Counts over ranges of time, from kept counts of groups of rows.

Decisions are mostly recorded in the order in which they were made, so most groups of rows are entirely inside or
outside a range of time. Their kept counts are added up, and only the groups that contain an end of the range are
counted decision by decision. What is kept is much smaller than the rows: where a group has too many different counts,
its rows are counted each time. The sum over all groups is kept, too, while none of them changes.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints
from projections.calibration.counted_columns import CountedColumns
from projections.calibration.kept_groups import Held, KeptGroups
from projections.query_check import Check, no_check

ROWS_PER_COUNT: Final = 2
"""Counts of a group of rows are kept if it has at least this many rows for each."""


_Counts = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]] | None
"""Numbers of counts, and the counts; None if they are too many to be kept."""


class CountSpans:
    """Kept counts of groups of rows, until one of their decisions changes. Threads share it."""

    def __init__(self) -> None:
        self.kept: KeptGroups[_Counts] = KeptGroups()
        self._whole: tuple[list[Held[_Counts]], Ints] | None = None
        """All groups, and the sum of their counts."""

    def count(self, columns: CountedColumns, since_us: int, until_us: int, size: int, check: Check = no_check) -> Ints:
        """Return the `size` counts of the decisions made within a range of time, both ends included."""
        total, spans = np.zeros(size, dtype=np.int64), list[Held[_Counts]]()
        parts, whole = list(columns.within(since_us, until_us)), self._whole
        everything = len(parts) == columns.counted.groups and all(isinstance(places, slice) for _, places in parts)
        if everything and whole is not None and len(whole[0]) == len(parts):
            valid = (self._valid(columns, group) is span for group, span in enumerate(whole[0]))
            if all(valid):
                total[: len(whole[1])] = whole[1][:size]
                return total
        for group, places in parts:
            check()
            if isinstance(places, slice):
                spans.append(self._add(total, columns, group))
            else:
                np.add.at(total, columns.count_numbers(group, places), 1)
        if everything:
            self._whole = spans, total.copy()
        return total

    def _valid(self, columns: CountedColumns, group: int) -> Held[_Counts] | None:
        """Return what is kept of a group, if it holds."""
        return self.kept.get(group, columns.state(group), columns.maturity.now_us)

    def _add(self, total: Ints, columns: CountedColumns, group: int) -> Held[_Counts]:
        """Add the counts of a whole group, and return what is kept of it."""
        held = self._valid(columns, group)
        if held is not None and held.value is not None:
            numbers, counts = held.value
            total[numbers] += counts
            return held
        counted = np.bincount(columns.count_numbers(group, slice(None)))
        total[: len(counted)] += counted
        if held is not None:
            return held
        state, used = columns.state(group), np.flatnonzero(counted)
        few = len(used) * ROWS_PER_COUNT <= state.rows
        kept = (used.astype(np.uint32), counted[used].astype(np.uint32)) if few else None
        return self.kept.put(group, state, columns.maturity.now_us, columns.next_due(group), kept)
