"""The events projection: how many events there are of each type, and where to look for a time or a correlation id.

Clients state the times of events in any order, and correlation ids as they like. So the index narrows a search: it says
which positions may have such an event, and the lines there say which do.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar, Final, NamedTuple
from zlib import crc32

import numpy as np

from events.payload import Payload
from events.registry import VOCABULARY
from ledger.clock import microseconds
from projections.arrays import split_runs
from projections.column_table import ColumnTable
from projections.columns import as_array
from projections.event_slice import EventSlice
from projections.projection import Projection
from projections.saved_state import Part, rebuilt, saved_column

BLOCK_EVENTS: Final = 4_096
"""Consecutive positions of which the earliest and the latest time are kept."""

_NEVER_US: Final = (2**63 - 1, -(2**63))
"""The earliest and the latest time of a block without events."""


class Span(NamedTuple):
    """The positions after one position and before another."""

    after: int
    before: int


class CorrelationMarks(NamedTuple):
    """Two bytes of a checksum of the correlation id of each event, by position; 0 without one. Any thread may ask."""

    table: ColumnTable

    def find(self, correlationid: str, span: Span, limit: int, *, newest_first: bool) -> list[int]:
        """Return the first positions of a span that may have a correlation id, in the order of the search.

        They include every position with it up to the last one that is returned, and one in 65,536 of the others.
        Errors: ViewDamaged.
        """
        begin, end = span.after, min(span.before - 1, len(self.table))
        groups = range(begin // self.table.group_rows, -(-end // self.table.group_rows))
        mark, found = _mark(correlationid), list[int]()
        for group in reversed(groups) if newest_first else groups:
            first, last = self.table.bounds(group)
            if len(found) >= limit:
                break
            if not self.table.is_zero("mark", group):
                low, high = max(first, begin), min(last, end)
                rows = np.flatnonzero(self.table.chunk("mark", group)[low - first : high - first] == mark) + low + 1
                found += (rows[::-1] if newest_first else rows).tolist()
        return found[:limit]


class EventIndex(Projection):
    """Counts of events by type, the times of blocks of positions, and marks of correlation ids."""

    name: ClassVar[str] = "events"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = tuple(
        dict.fromkeys(kind.current for kind in VOCABULARY.event_types.values())
    )

    parts: ClassVar[Mapping[str, Part]] = {
        "types": rebuilt("_types", dict[str, int], lambda types: dict(sorted(types.items())), Counter),
        "first_us": saved_column("_first_us"),
        "last_us": saved_column("_last_us"),
    }

    def __init__(self) -> None:
        self._types: Counter[str] = Counter()
        self._first_us = array("q")
        self._last_us = array("q")
        self._marks = ColumnTable(mark=np.uint16)

    def fold(self, events: EventSlice) -> None:
        if not events:
            return
        for kind, count in events.kinds.items():
            self._types[kind.name] += count
        positions = self._positions(events)
        self._add_times(events, positions)
        self._add_marks(events, positions)

    def _positions(self, events: EventSlice) -> Sequence[int]:
        """Return where the events are: one after the other, unless some were left out of this slice or before it."""
        known, newest = len(self._marks), events[-1].position
        follow = newest - known == len(events)
        return range(known + 1, newest + 1) if follow else [event.position for event in events]

    def _add_times(self, events: EventSlice, positions: Sequence[int]) -> None:
        times = [event.time for event in events]
        begin = 0
        while begin < len(times):
            block = (positions[begin] - 1) // BLOCK_EVENTS
            end = bisect_right(positions, (block + 1) * BLOCK_EVENTS, begin)
            of_block = times[begin:end]  # text order is time order
            while len(self._first_us) <= block:
                self._first_us.append(_NEVER_US[0])
                self._last_us.append(_NEVER_US[1])
            self._first_us[block] = min(self._first_us[block], _microseconds(min(of_block)))
            self._last_us[block] = max(self._last_us[block], _microseconds(max(of_block)))
            begin = end

    def _add_marks(self, events: EventSlice, positions: Sequence[int]) -> None:
        """Add a row for each position up to the newest one."""
        known = len(self._marks)
        rows = positions[-1] - known
        columns = {}
        correlationids = [event.correlationid for event in events]
        if any(correlationids):
            marks = {name: 0 if name is None else _mark(name) for name in set(correlationids)}
            places = slice(None) if rows == len(events) else [position - known - 1 for position in positions]
            columns["mark"] = np.zeros(rows, np.uint16)
            columns["mark"][places] = [marks[name] for name in correlationids]
        self._marks.append(rows, columns)

    def types(self) -> dict[str, int]:
        """Return the number of events of each type."""
        return dict(sorted(self._types.items()))

    def spans(self, since_us: int | None, until_us: int | None) -> list[Span]:
        """Return the positions that may have an event that happened within a range of time, in ascending order."""
        within = np.ones(len(self._first_us), bool)
        if since_us is not None:
            within &= as_array(self._last_us, np.int64) >= since_us
        if until_us is not None:
            within &= as_array(self._first_us, np.int64) <= until_us
        starts, lengths = split_runs(within)
        runs = [(start, start + length) for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)]
        return [Span(start * BLOCK_EVENTS, end * BLOCK_EVENTS + 1) for start, end in runs if within[start]]

    def marks(self) -> CorrelationMarks:
        """Return the marks of correlation ids as they are now."""
        return CorrelationMarks(self._marks.freeze())

    def tables(self) -> Mapping[str, ColumnTable]:
        return {"marks": self._marks}

    def complete(self) -> None:
        assert len(self._first_us) == len(self._last_us), "unlike lengths"

    def summary(self) -> Mapping[str, object]:
        return {"events": self._types.total(), "types": self.types()}


def _mark(correlationid: str) -> int:
    """Return the mark of a correlation id: 1 to 65,535."""
    return crc32(correlationid.encode()) % 65_535 + 1


def _microseconds(time: str) -> int:
    return microseconds(datetime.fromisoformat(time))
