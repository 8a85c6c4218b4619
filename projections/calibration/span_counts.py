"""Counts over ranges of time, from kept counts of groups of rows.

Decisions are mostly recorded in the order in which they were made, so most groups of rows are entirely inside or
outside a range of time. Their kept counts are added up, and only the groups that contain an end of the range are
counted decision by decision. What is kept is much smaller than the rows: where a group has too many different counts,
its rows are counted each time. The sum over all groups is kept, too, while none of them changes.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints
from projections.calibration.counted_columns import CountedColumns
from projections.query_check import Check, no_check

ROWS_PER_COUNT: Final = 2
"""Counts of a group of rows are kept if it has at least this many rows for each."""


_COUNTED: Final = ("cell", "outcome", "due_us")


class _Span(NamedTuple):
    """A group of rows as it was counted, since and until when it holds, and its counts by number.

    `counts` is None if they are too many to be kept.
    """

    rows: int
    stamps: list[int]
    since_us: int
    until_us: int
    counts: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]] | None


class CountSpans:
    """Kept counts of groups of rows, until one of their decisions changes. Threads share it."""

    def __init__(self) -> None:
        self._kept: dict[int, _Span] = {}
        self._whole: tuple[list[_Span], Ints] | None = None
        """All groups, and the sum of their counts."""

    def count(self, columns: CountedColumns, since_us: int, until_us: int, size: int, check: Check = no_check) -> Ints:
        """Return the `size` counts of the decisions made within a range of time, both ends included."""
        total, spans = np.zeros(size, dtype=np.int64), list[_Span]()
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

    def _valid(self, columns: CountedColumns, group: int) -> _Span | None:
        """Return what is kept of a group, if it holds."""
        start, end = columns.counted.bounds(group)
        span = self._kept.get(group)
        if span is None or span[:2] != (end - start, _stamps(columns, group)):
            return None
        return span if span.since_us <= columns.maturity.now_us < span.until_us else None

    def _add(self, total: Ints, columns: CountedColumns, group: int) -> _Span:
        """Add the counts of a whole group, and return what is kept of it."""
        span = self._valid(columns, group)
        if span is not None and span.counts is not None:
            numbers, counts = span.counts
            total[numbers] += counts
            return span
        counted = np.bincount(columns.count_numbers(group, slice(None)))
        total[: len(counted)] += counted
        if span is not None:
            return span
        start, end = columns.counted.bounds(group)
        used = np.flatnonzero(counted)
        few = len(used) * ROWS_PER_COUNT <= end - start
        kept = (used.astype(np.uint32), counted[used].astype(np.uint32)) if few else None
        now_us, until_us = columns.maturity.now_us, columns.next_due(group)
        span = self._kept[group] = _Span(end - start, _stamps(columns, group), now_us, until_us, kept)
        return span


def _stamps(columns: CountedColumns, group: int) -> list[int]:
    """Return numbers of which one is another after what is counted of a group changed."""
    return [*(columns.counted.stamp(name, group) for name in _COUNTED), columns.maturity.version]
