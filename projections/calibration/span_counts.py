"""Counts over ranges of time, from cached counts of spans of decisions.

A span is a fixed number of consecutive decisions. Decisions are mostly recorded in the order in which they were made,
so most spans are entirely inside or outside a range of time. The cached counts of spans inside are added up; only the
spans that contain an end of the range are counted decision by decision. For a million decisions this takes a fifth of
the time of counting each. Decisions that were recorded in random order of time are all counted one by one.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints

SPAN_DECISIONS = 65_536
"""Number of decisions in a span."""


class _Span(NamedTuple):
    """A span: its number of decisions, their first and last time in microseconds, and their counts."""

    size: int
    first_us: int
    last_us: int
    counts: Ints


class CountColumns(NamedTuple):
    """Columns with one entry for each decision: time in microseconds, cell and outcome."""

    time_us: Ints
    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]

    def count_numbers(self, selected: slice | npt.NDArray[np.intp], width: int) -> Ints:
        """Return the number of the count of each selected decision: cell * width + outcome."""
        return self.cell[selected].astype(np.int64) * width + self.outcome[selected]


class CountSpans:
    """Cached counts of spans. A span stays cached until one of its decisions changes."""

    def __init__(self) -> None:
        self._cached: dict[int, _Span] = {}

    def invalidate(self, decisions: Ints) -> None:
        """Drop the cached spans of decisions that changed."""
        for number in np.unique(decisions // SPAN_DECISIONS).tolist():
            self._cached.pop(number, None)

    def count(self, columns: CountColumns, since_us: int, until_us: int, width: int, size: int) -> Ints:
        """Return the `size` counts of the decisions made within a range of time, both ends included."""
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(columns.time_us), SPAN_DECISIONS):
            selected = slice(start, min(start + SPAN_DECISIONS, len(columns.time_us)))
            span = self._span(start // SPAN_DECISIONS, columns, selected, width)
            if span.first_us >= since_us and span.last_us <= until_us:
                total[: len(span.counts)] += span.counts
            elif span.last_us >= since_us and span.first_us <= until_us:
                time_us = columns.time_us[selected]
                inside = start + np.flatnonzero((time_us >= since_us) & (time_us <= until_us))
                total += np.bincount(columns.count_numbers(inside, width), minlength=size)
        return total

    def _span(self, number: int, columns: CountColumns, selected: slice, width: int) -> _Span:
        span = self._cached.get(number)
        size = selected.stop - selected.start
        if span is None or span.size != size:
            time_us = columns.time_us[selected]
            counts = np.bincount(columns.count_numbers(selected, width))
            span = self._cached[number] = _Span(size, int(time_us.min()), int(time_us.max()), counts)
        return span
