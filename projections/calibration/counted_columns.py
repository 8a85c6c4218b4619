"""The columns of all decisions at one moment, read group by group of rows, so that only the needed part is loaded."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints, RowNumbers
from projections.column_table import ColumnTable
from projections.decisions.time_bounds import GroupTimes
from projections.query_check import Check


class Places(NamedTuple):
    """Some rows: for each of some groups of rows, ascending, the places in it."""

    parts: list[tuple[int, npt.NDArray[np.unsignedinteger] | slice]]

    def take(self, table: ColumnTable, name: str) -> npt.NDArray[Any]:
        """Return the values of a column in these rows."""
        if not self.parts:
            return table.take(name, np.zeros(0, dtype=np.int64))
        return np.concatenate([table.chunk(name, group)[places] for group, places in self.parts])

    def numbers(self, table: ColumnTable) -> RowNumbers:
        """Return the numbers of these rows."""
        parts = [np.arange(*table.bounds(group))[places] for group, places in self.parts]
        return np.concatenate([np.zeros(0, dtype=np.intp), *parts])


class CountedColumns(NamedTuple):
    """The columns of all decisions at one moment, and the times of each group of rows.

    `recorded` has the columns `time_us` and `cluster`, `counted` those of `OutcomeCounts.counted` that are needed.
    """

    recorded: ColumnTable
    counted: ColumnTable
    times: GroupTimes

    def within(self, since_us: int, until_us: int) -> Iterator[tuple[int, RowNumbers | slice]]:
        """Yield each group with decisions that were made within a range of time, and their places in the group."""
        for group, (first, last) in enumerate(zip(*map(np.ndarray.tolist, self.times), strict=True)):
            if since_us <= first and last <= until_us:
                yield group, slice(None)
            elif first <= until_us and last >= since_us:
                start, end = self.counted.bounds(group)
                time_us = self.recorded.chunk("time_us", group)[: end - start]
                yield group, np.flatnonzero((time_us >= since_us) & (time_us <= until_us))

    def places(
        self,
        cells: npt.NDArray[np.bool_],
        outcomes: npt.NDArray[np.bool_],
        since_us: int,
        until_us: int,
        check: Check,
    ) -> Places:
        """Return the rows within a range of time that have one of some cells and one of some outcomes."""
        parts: list[tuple[int, npt.NDArray[np.unsignedinteger] | slice]] = []
        narrow = np.min_scalar_type(self.counted.group_rows - 1)
        for group, inside in self.within(since_us, until_us):
            check()
            cell, outcome = (self.counted.chunk(name, group)[inside] for name in ("cell", "outcome"))
            found = cells[cell]
            found &= outcomes[outcome]
            if isinstance(inside, slice) and found.all():
                parts.append((group, inside))
            elif found.any():
                places = np.flatnonzero(found) if isinstance(inside, slice) else inside[found]
                parts.append((group, places.astype(narrow)))
        return Places(parts)

    def count_numbers(self, group: int, places: RowNumbers | slice, width: int) -> Ints:
        """Return the number of the count of each of some decisions: cell * width + outcome."""
        cell, outcome = (self.counted.chunk(name, group)[places] for name in ("cell", "outcome"))
        return cell.astype(np.int64) * width + outcome
