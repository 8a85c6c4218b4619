"""Counts over ranges of time, from the counts of spans of decisions.

Decisions are mostly recorded in the order in which they were made, so most spans lie in a range of time or out of it as
a whole. Those count by their kept counts, and only what the ends of the range cut is looked at decision by decision. (A
range over a million decisions takes a fifth of the time of looking at each. Those recorded in no order of time are each
looked at all the same.)
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SPAN_DECISIONS = 65_536
"""Decisions in a span."""

Times = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]


class _Span(NamedTuple):
    """The number of decisions, their first and last time in microseconds, and how many are counted in each place."""

    size: int
    first_us: int
    last_us: int
    counts: npt.NDArray[np.int64]


class CountColumns(NamedTuple):
    """What is known of each decision: its time in microseconds, its cell and its outcome."""

    time_us: Times
    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]

    def places(self, chosen: slice | npt.NDArray[np.intp], width: int) -> Places:
        """Where chosen decisions are counted: cell by outcome, with so many outcomes to a cell."""
        return self.cell[chosen].astype(np.int64) * width + self.outcome[chosen]


class CountSpans:
    """Kept counts of spans, each until one of its decisions changes."""

    def __init__(self) -> None:
        self._kept: dict[int, _Span] = {}

    def forget(self, decisions: npt.NDArray[np.int64]) -> None:
        """Let go of the spans of decisions that changed."""
        for number in np.unique(decisions // SPAN_DECISIONS).tolist():
            self._kept.pop(number, None)

    def count(
        self, columns: CountColumns, since_us: int, until_us: int, width: int, size: int
    ) -> npt.NDArray[np.int64]:
        """Decisions made within a range, both ends included, counted in `size` places."""
        total = np.zeros(size, dtype=np.int64)
        for start in range(0, len(columns.time_us), SPAN_DECISIONS):
            chosen = slice(start, min(start + SPAN_DECISIONS, len(columns.time_us)))
            span = self._span(start // SPAN_DECISIONS, columns, chosen, width)
            if span.first_us >= since_us and span.last_us <= until_us:
                total[: len(span.counts)] += span.counts
            elif span.last_us >= since_us and span.first_us <= until_us:
                time_us = columns.time_us[chosen]
                inside = start + np.flatnonzero((time_us >= since_us) & (time_us <= until_us))
                total += np.bincount(columns.places(inside, width), minlength=size)
        return total

    def _span(self, number: int, columns: CountColumns, chosen: slice, width: int) -> _Span:
        kept = self._kept.get(number)
        size = chosen.stop - chosen.start
        if kept is None or kept.size != size:
            time_us = columns.time_us[chosen]
            counts = np.bincount(columns.places(chosen, width))
            kept = self._kept[number] = _Span(size, int(time_us.min()), int(time_us.max()), counts)
        return kept
