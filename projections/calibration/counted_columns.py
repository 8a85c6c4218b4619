"""The columns of all decisions at one moment, read group by group of rows, so that only the needed part is loaded."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints, RowNumbers
from projections.calibration.kept_groups import Column, State, state_of
from projections.calibration.maturity import Maturity
from projections.column_table import ColumnTable
from projections.decisions.time_bounds import GroupTimes
from projections.outcome_codes import OUTCOMES_COUNT, RETRACTED, UNREVIEWED
from projections.query_check import Check

NEVER_US: Final = 2**63 - 1

_COUNTED: Final = ("cell", "outcome", "due_us")

WAITING: Final = OUTCOMES_COUNT
"""The first of the counts of decisions that are not due yet, which no figure uses: one for each of OUTCOMES."""

OPEN: Final = 2 * OUTCOMES_COUNT
"""The count of decisions without a review of which nothing says by when it should have come."""

COLUMNS_COUNT: Final = OPEN + 1

COUNTS_WIDTH: Final = COLUMNS_COUNT + 1
"""The counts of a cell: of each outcome of decisions that are due, of the waiting, of the open, then of retracted ones.
"""


class Places(NamedTuple):
    """Some rows: for each of some groups of rows, ascending, the places in it."""

    parts: list[tuple[int, npt.NDArray[np.unsignedinteger] | slice]]

    def take(self, table: ColumnTable, name: str) -> npt.NDArray[Any]:
        """Return the values of a column in these rows."""
        if not self.parts:
            return table.take(name, np.zeros(0, dtype=np.int64))
        return np.concatenate([table.chunk(name, group)[places] for group, places in self.parts])

    def due_us(self, maturity: Maturity) -> Ints:
        """Return when these rows are due, 0 where nothing says it."""
        return np.concatenate([np.zeros(0, np.int64), *(maturity.due_us(*part) for part in self.parts)])

    def numbers(self, table: ColumnTable) -> RowNumbers:
        """Return the numbers of these rows."""
        parts = [np.arange(*table.bounds(group))[places] for group, places in self.parts]
        return np.concatenate([np.zeros(0, dtype=np.intp), *parts])


class CountedColumns(NamedTuple):
    """The columns of all decisions at one moment, and the times of each group of rows.

    `recorded` has the columns `time_us` and `cluster`, `counted` those of `OutcomeCounts.counted`. Decisions that are
    not due yet are waiting: a review that they have is early.
    """

    recorded: ColumnTable
    counted: ColumnTable
    times: GroupTimes
    maturity: Maturity

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
        counts: npt.NDArray[np.bool_],
        since_us: int,
        until_us: int,
        check: Check,
        newest: int | None = None,
    ) -> Places:
        """Return the rows within a range of time that have one of some cells and are in one of some counts.

        With `newest`, groups of rows are read from the last one on until so many rows are found.
        """
        parts: list[tuple[int, npt.NDArray[np.unsignedinteger] | slice]] = []
        narrow = np.min_scalar_type(self.counted.group_rows - 1)
        missing = NEVER_US if newest is None else newest
        for group, inside in reversed(list(self.within(since_us, until_us))):
            if missing <= 0:
                break
            check()
            some = self.narrowed(group, inside, cells, counts)
            size = (
                self.counted.bounds(group)[1] - self.counted.bounds(group)[0] if isinstance(some, slice) else len(some)
            )
            if size:
                parts.append((group, some if isinstance(some, slice) else some.astype(narrow)))
            missing -= size
        return Places(parts[::-1])

    def narrowed(
        self, group: int, places: RowNumbers | slice, cells: npt.NDArray[np.bool_], counts: npt.NDArray[np.bool_]
    ) -> RowNumbers | slice:
        """Return those of some places in a group of rows that have one of some cells and are in one of some counts."""
        some = _narrow(places, cells[self.counted.chunk("cell", group)[places]])
        return _narrow(some, counts[self._counts_of(group, some)])

    def count_numbers(self, group: int, places: RowNumbers | slice) -> Ints:
        """Return the number of the count of each of some decisions: cell * COUNTS_WIDTH + its count."""
        cell = self.counted.chunk("cell", group)[places]
        return cell.astype(np.int64) * COUNTS_WIDTH + self._counts_of(group, places)

    @property
    def used(self) -> Sequence[Column]:
        """The columns on which counts depend."""
        return [(self.counted, name) for name in _COUNTED]

    def state(self, group: int) -> State:
        """Return the state of a group of rows on which counts depend."""
        return state_of(self.used, group, self.maturity.version)

    def next_due(self, group: int) -> int:
        """Return when the next decision of a group of rows is due; NEVER_US if all are."""
        due_us = self.maturity.due_us(group, slice(None))
        later = due_us[due_us > self.maturity.now_us]
        return int(later.min()) if len(later) else NEVER_US

    def _counts_of(self, group: int, places: RowNumbers | slice) -> npt.NDArray[np.uint8]:
        """Return which count of its cell each of some decisions is in."""
        outcome, due_us = self.counted.chunk("outcome", group)[places], self.maturity.due_us(group, places)
        found = outcome + np.multiply(due_us > self.maturity.now_us, WAITING, dtype=np.uint8)
        undated = np.flatnonzero((found == UNREVIEWED) & (self.counted.chunk("due_us", group)[places] == 0))
        if len(undated):
            cell = self.counted.chunk("cell", group)[places][undated]
            found[undated[self.maturity.open[cell]]] = OPEN
        return np.where(outcome == RETRACTED, np.uint8(COLUMNS_COUNT), found)


def _narrow(places: RowNumbers | slice, kept: npt.NDArray[np.bool_]) -> RowNumbers | slice:
    """Return those of some places that are kept; a whole group stays one if all are."""
    if kept.all():
        return places
    return np.flatnonzero(kept) if isinstance(places, slice) else places[kept]
