"""Counts over ranges of time, from kept counts of groups of rows.

Decisions are mostly recorded in the order in which they were made, so most groups of rows are entirely inside or
outside a range of time. Their kept counts are added up, and only the groups that contain an end of the range are
counted decision by decision. What is kept is much smaller than the rows: where a group has too many different counts,
its rows are counted each time.
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

    def count(self, columns: CountedColumns, since_us: int, until_us: int, size: int, check: Check = no_check) -> Ints:
        """Return the `size` counts of the decisions made within a range of time, both ends included."""
        total = np.zeros(size, dtype=np.int64)
        for group, places in columns.within(since_us, until_us):
            check()
            if isinstance(places, slice):
                self._add(total, columns, group)
            else:
                np.add.at(total, columns.count_numbers(group, places), 1)
        return total

    def _add(self, total: Ints, columns: CountedColumns, group: int) -> None:
        """Add the counts of a whole group."""
        start, end = columns.counted.bounds(group)
        now_us, stamps = columns.maturity.now_us, [columns.counted.stamp(name, group) for name in _COUNTED]
        stamps.append(columns.maturity.version)
        span = self._kept.get(group)
        if span is not None and span[:2] == (end - start, stamps) and span.since_us <= now_us < span.until_us:
            if span.counts is not None:
                numbers, counts = span.counts
                total[numbers] += counts
            else:
                np.add.at(total, columns.count_numbers(group, slice(None)), 1)
            return
        counted = np.bincount(columns.count_numbers(group, slice(None)))
        total[: len(counted)] += counted
        used = np.flatnonzero(counted)
        few = len(used) * ROWS_PER_COUNT <= end - start
        kept = (used.astype(np.uint32), counted[used].astype(np.uint32)) if few else None
        self._kept[group] = _Span(end - start, stamps, now_us, columns.next_due(group), kept)
