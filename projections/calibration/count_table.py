"""Tables of counts: the counts of selected cells, over all time or a range of it, as they are at one moment."""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.calibration.cells import Cells
from projections.calibration.counted_columns import COLUMNS_COUNT, COUNTS_WIDTH, CountedColumns
from projections.calibration.field_values import FieldValues
from projections.calibration.span_counts import CountSpans
from projections.columns import ModelGroupKey
from projections.query_check import Check, no_check

MODEL_FIELD: Final = 5
"""The index of the model's names in a `ModelGroupKey`."""

CATEGORY_FIELD: Final = 1


MERGED_CELLS_MIN: Final = 4_096
"""With at most so many cells there is nothing to gain from merging them."""

Counts = npt.NDArray[np.int64]
"""Counts of decisions: a row for each cell; a column for each of OUTCOMES if due, then for each if not due yet."""


class CountTable(msgspec.Struct, frozen=True):
    """Selected cells as arrays of equal length, ascending by confidence with NaN last.

    `group` is an index into `groups`, `confidence` the stated confidence (NaN: none), `counts` are by outcome.
    `retracted` is the number of decisions that match, but were retracted: `counts` leave them out. For each field of a
    group's key, `columns` has the number of its value by group, and `values` the values by number. `groups` is empty if
    cells are merged that differ in some fields; the columns of these mean nothing then.
    """

    groups: list[ModelGroupKey]
    group: npt.NDArray[np.uint32]
    confidence: Floats
    counts: Counts
    retracted: int = 0
    columns: Sequence[npt.NDArray[np.uint32]] = ()
    values: Sequence[FieldValues] = ()


class CountsWithin(msgspec.Struct, frozen=True):
    """The counts of all cells over a range of time, as of a time, to be computed on any thread."""

    columns: CountedColumns
    since_us: int
    until_us: int
    cells: int
    spans: CountSpans

    def count(self, check: Check) -> Counts:
        """Return the counts, one row for each cell."""
        size = self.cells * COUNTS_WIDTH
        found = self.spans.count(self.columns, self.since_us, self.until_us, size, check)
        return found.reshape(-1, COUNTS_WIDTH)


class CountSelection(msgspec.Struct, frozen=True):
    """Cells at one moment, and a mask of the groups that match a filter. Later folding does not change them.

    `values` are those of the cells, or what names of models mean (`model_groups.py`).
    """

    cells: Cells
    counts: CountsWithin
    matching: npt.NDArray[np.bool_]
    values: Sequence[FieldValues]

    @property
    def groups(self) -> list[ModelGroupKey]:
        """The keys of the groups of all cells."""
        return self.cells.groups

    @property
    def chosen(self) -> npt.NDArray[np.bool_]:
        """A mask of the cells that match and have a stated confidence."""
        return self.matching[self.cells.group] & ~np.isnan(self.cells.confidence)

    @property
    def rows_to_count(self) -> int:
        """The number of decisions that may have to be counted for a table."""
        return len(self.counts.columns.counted)

    def table(self, check: Check = no_check) -> CountTable:
        """Return the matching cells with decisions. This may take long with many cells; `check` is called meanwhile."""
        counted, cells, rows = self.counts.count(check), self.cells, self.cells.by_confidence
        check()
        if not self.matching.all():
            rows = rows[self.matching[cells.group[rows]]]
        check()
        retracted = int(counted[rows, COLUMNS_COUNT].sum())
        counts = counted[rows, :COLUMNS_COUNT]
        check()
        used = counts.any(axis=1)
        if not used.all():
            rows, counts = rows[used], counts[used]
        check()
        return CountTable(
            cells.groups, cells.group[rows], cells.confidence[rows], counts, retracted, cells.columns, self.values
        )

    def table_by(self, fields: tuple[int, ...], check: Check = no_check) -> CountTable:
        """Return the table with cells merged that differ in other fields of their groups' keys, if there are many.

        Counts of a few merged cells take a fraction of the time. Few cells stay as they are.
        """
        cells = self.cells
        if len(cells) <= MERGED_CELLS_MIN:
            return self.table(check)
        counted, merged = self.counts.count(check), cells.merged(fields)
        check()
        size, number = len(merged.confidence), merged.number
        if not self.matching.all():
            number = np.where(self.matching[cells.group], number, size)
        sums = [np.bincount(number, weights=column, minlength=size + 1)[:size] for column in counted.T]
        check()
        counts = np.stack(sums, axis=1).astype(np.int64)
        retracted, counts = int(counts[:, COLUMNS_COUNT].sum()), counts[:, :COLUMNS_COUNT]
        rows = np.flatnonzero(counts.any(axis=1))
        return CountTable(
            [], merged.group[rows], merged.confidence[rows], counts[rows], retracted, merged.columns, self.values
        )
