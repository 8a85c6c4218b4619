"""The row numbers of decisions, from 0 in the order in which they were recorded, and what all views of them share.

A decision is identified by the position at which it was recorded, which is where its stream begins. Its name is only in
the ledger (`projections/engine.py`).
"""

from array import array
from collections.abc import Mapping
from copy import copy
from typing import ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from events.decision import DecisionRecorded
from projections.arrays import Ints
from projections.column_table import ColumnTable, equal_tables
from projections.columns import as_array, microseconds_column
from projections.decisions.stated_texts import StatedTexts
from projections.decisions.time_bounds import TimeBounds, TimeParts
from projections.event_slice import EventSlice
from projections.saved_state import Part, SavedState, rebuilt, saved_column

NO_ROW: Final = 2**62
"""Stands for the row number of an event that is not about a recorded decision. To use it as an index raises an error.
"""


def require_row(row: int) -> int:
    """Return a row number. Errors: LookupError, for NO_ROW."""
    if row == NO_ROW:
        raise LookupError("an event of a decision that was not recorded")
    return row


class DecisionNumbers(SavedState):
    """Position, time and cluster of each recorded decision. Projections of the same decisions share one object.

    Columns of `table`: `position`, ascending; `time_us`, when the decision was made, in microseconds since 1970 UTC;
    `cluster`, the number of a text of `clusters`.
    """

    parts: ClassVar[Mapping[str, Part]] = {
        "starts": saved_column("_starts"),
        "clusters": rebuilt("clusters", list[str], lambda clusters: list(clusters.texts), StatedTexts),
        "times": rebuilt("times", TimeParts, TimeBounds.parts, TimeBounds.from_parts),
    }

    def __init__(self) -> None:
        self.table = ColumnTable(position=np.int64, time_us=np.int64, cluster=np.uint32)
        self.clusters = StatedTexts()
        self.times = TimeBounds()
        """The first and last time of each group of rows of the table."""
        self._starts = array("q")
        """The position of the first decision of each group of rows of the table."""
        self._folded = 0
        self._rows: list[int] = []

    def __len__(self) -> int:
        return len(self.table)

    def equals(self, other: "DecisionNumbers") -> bool:
        """Return whether both number the same decisions alike."""
        return equal_tables(self.table, other.table) and self.clusters.texts == other.clusters.texts

    def fold(self, events: EventSlice) -> list[int]:
        """Add the decisions that a slice records; return the row number of each event, NO_ROW for other streams.

        Projections that share the object fold the same slice one after another: only the first call does the work.
        """
        if events and events[-1].position > self._folded:
            self._add(events)
            self._rows = self._find(as_array(events.firsts, np.int64)).tolist()
            self._folded = events[-1].position
        return self._rows if events else []

    def _add(self, events: EventSlice) -> None:
        recorded = [event for event in events if type(event.data) is DecisionRecorded]
        positions = np.array([event.position for event in recorded], dtype=np.int64)
        times = np.frombuffer(microseconds_column([event.time for event in recorded]), dtype=np.int64)
        clusters = self.clusters.numbers_of([event.data.cluster for event in recorded])  # type: ignore[attr-defined]
        known, first = len(self._starts), len(self.table)
        self.times.add(first, times, self.table.group_rows)
        self.table.append(len(recorded), {"position": positions, "time_us": times, "cluster": clusters})
        starts = range(known * self.table.group_rows, len(self.table), self.table.group_rows)
        self._starts.extend(int(positions[row - first]) for row in starts)

    def _find(self, firsts: Ints) -> npt.NDArray[np.int64]:
        found = np.full(len(firsts), NO_ROW, dtype=np.int64)
        groups = np.searchsorted(as_array(self._starts, np.int64), firsts, side="right") - 1
        for group in np.unique(groups).tolist():
            if group >= 0:
                places = np.flatnonzero(groups == group)
                positions = self.table.chunk("position", group)
                inside = np.searchsorted(positions, firsts[places])
                known = positions.take(inside, mode="clip") == firsts[places]
                found[places[known]] = group * self.table.group_rows + inside[known]
        return found

    def row(self, first: int) -> int | None:
        """Return the row number of the decision that was recorded at a position; None if none was."""
        row = int(self._find(np.array([first], dtype=np.int64))[0])
        return None if row == NO_ROW else row

    def places(self, events: EventSlice) -> dict[str, int]:
        """Return the row numbers of the decisions that a slice is about, by stream."""
        rows = zip(events, self._find(as_array(events.firsts, np.int64)).tolist(), strict=True)
        return {event.subject: row for event, row in rows if row != NO_ROW}

    def positions(self, rows: npt.NDArray[np.intp]) -> list[int]:
        """Return the positions at which the decisions of some rows were recorded."""
        positions: list[int] = self.table.take("position", rows).tolist()
        return positions

    def frozen(self) -> Self:
        """Return what is known of the decisions that are recorded now. Later ones do not reach it."""
        frozen = copy(self)
        frozen.table, frozen.times, frozen._starts = self.table.freeze(), self.times.copy(), self._starts[:]
        return frozen
