"""Pages of decisions in an order, found by counts for each group of rows.

A list of millions is not scanned. How many decisions of each group of rows a selection has is counted once, from
counts by value where one condition decides, and kept until the group changes (`value_counts.py`). The counts say how
many there are in all, and in which group or two a page is; only these are examined.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints, RowNumbers
from projections.decisions.decision_filter import DecisionFilter
from projections.decisions.decision_selection import STATUSES, DecisionSelection, SortField
from projections.decisions.index_columns import IndexColumns
from projections.decisions.time_blocks import TimeSpans
from projections.decisions.value_counts import KeptCounts, ValueCounts, codes_in_order, confidence_codes
from projections.decisions.word_rows import RowsWithWords

_NO_ROWS = np.zeros(0, dtype=np.intp)
_EVERY = DecisionSelection(status=STATUSES)


class Order(NamedTuple):
    """An order of decisions: by a field, ties by age. Missing values come last in both directions."""

    sort: SortField = "created_at"
    descending: bool = True


class Rows(NamedTuple):
    """The number of decisions of a selection, and the row numbers of those on a page, in their order."""

    total: int
    rows: RowNumbers


class DecisionLists:
    """Lists of the decisions in columns."""

    def __init__(self, columns: IndexColumns, counts: KeptCounts | None = None) -> None:
        self._columns = columns
        self._counts = KeptCounts(columns) if counts is None else counts

    def of_frozen(self, columns: IndexColumns) -> "DecisionLists":
        """Return the lists of frozen columns. Both keep their counts together."""
        return DecisionLists(columns, self._counts.of_frozen(columns))

    def total(self, selection: DecisionSelection) -> int:
        """Return the number of decisions that pass a filter."""
        return int(self._counts.totals(DecisionFilter(self._columns, selection)).sum())

    def count_codes(self, column: str, codes: int) -> Ints:
        """Return how many of all decisions have each code of a column, 0..codes-1."""
        totals = np.zeros(codes, np.int64)
        for counted in self._counts.counts(DecisionFilter(self._columns, _EVERY), column):
            np.add.at(totals, counted.codes, counted.counts)
        return totals

    def find(self, selection: DecisionSelection) -> RowNumbers:
        """Return the row numbers of the decisions that pass a filter, ascending."""
        filtered = DecisionFilter(self._columns, selection)
        found = [filtered.rows(group) for group in range(self._columns.table.groups)]
        return np.concatenate(found) if found else _NO_ROWS

    def passing(self, rows: RowNumbers, selection: DecisionSelection) -> npt.NDArray[np.bool_]:
        """Return which of some rows pass a filter."""
        filtered = DecisionFilter(self._columns, selection)
        found = np.ones(len(rows), dtype=bool)
        for group, places, inside in self._columns.table.by_group(rows):
            mask = filtered.mask(group, inside)
            if mask is not None:
                found[places] = mask
        return found

    def page(
        self,
        selection: DecisionSelection,
        order: Order,
        offset: int,
        limit: int,
        among: RowsWithWords | None = None,
    ) -> Rows:
        """Return one page of the decisions that pass a filter, or of those of them that have some words."""
        filtered = DecisionFilter(self._columns, selection, among)
        totals = self._counts.totals(filtered)
        total = int(totals.sum())
        first, end = min(offset, total), min(offset + limit, total)
        if first == end:
            return Rows(total, _NO_ROWS)
        if order.sort == "created_at":
            if not order.descending:
                return Rows(total, self._by_time(filtered, totals, first, end))
            return Rows(total, self._by_time(filtered, totals, total - end, total - first)[::-1])
        counts = self._counts.counts(filtered, order.sort)
        return Rows(total, _ByCode(self._columns, filtered, counts, order).page(first, end))

    def sort(self, rows: RowNumbers, order: Order) -> RowNumbers:
        """Return ascending row numbers in an order."""
        if order.sort == "created_at":
            keys = self._columns.take("time_us", rows)
            sorted_rows = rows[np.argsort(keys, kind="stable")]
            return sorted_rows[::-1] if order.descending else sorted_rows
        codes = self._columns.take_codes(order.sort, rows)
        if order.sort == "confidence":
            keys, missing = np.nan_to_num(-codes if order.descending else codes), np.isnan(codes)
        else:
            places = _code_places(self._columns, order)
            keys, missing = places[codes], np.zeros(len(rows), dtype=bool)
        return rows[np.lexsort((-rows if order.descending else rows, keys, missing))]

    def _by_time(self, filtered: DecisionFilter, totals: Ints, first: int, end: int) -> RowNumbers:
        """Return the rows from the place `first` up to `end` of all that pass, the earliest first.

        Times mostly ascend with the rows, but not strictly. Only those groups, and of these only those blocks, are
        examined whose times do not show that all of their rows come before the page, or all after it.
        """
        near, skipped = TimeSpans(*self._columns.numbers.times.now(), totals).near(first, end)
        first, end, groups = first - skipped, end - skipped, np.flatnonzero(near).tolist()
        kept = self._counts.blocks(filtered, groups)
        spans = TimeSpans(
            np.concatenate([blocks.lows for blocks, _ in kept]),
            np.concatenate([blocks.highs for blocks, _ in kept]),
            np.concatenate([counts for _, counts in kept]),
        )
        near, skipped = spans.near(first, end)
        ends = np.cumsum([len(counts) for _, counts in kept])[:-1]
        of_groups = zip(groups, kept, np.split(near, ends), strict=True)
        rows = np.concatenate(
            [filtered.rows(group, blocks.rows(some)) for group, (blocks, _), some in of_groups if some.any()]
        )
        return _sorted_part(self._columns.take("time_us", rows), rows, first - skipped, end - skipped)


class _ByCode:
    """Decisions in the order of the codes of a column, given how many of each group of rows have each code."""

    def __init__(
        self, columns: IndexColumns, filtered: DecisionFilter, counts: list[ValueCounts], order: Order
    ) -> None:
        self._columns = columns
        self._filtered = filtered
        self._counts = counts
        self._order = order
        self._places = _code_places(columns, order)
        self._codes = np.concatenate([counted.codes for counted in counts])
        """The codes of all groups one after another, with the number of decisions and the group of each."""
        self._numbers = np.concatenate([counted.counts for counted in counts])
        self._groups = np.repeat(np.arange(len(counts)), [len(counted.codes) for counted in counts])

    def page(self, first: int, end: int) -> RowNumbers:
        """Return the rows from the place `first` up to `end`, which are there.

        The first and the last code may have many decisions, of which the page shows a part; those between are shown
        whole.
        """
        totals = _sums(self._places[self._codes], self._numbers, len(self._places))
        codes = np.argsort(self._places)
        ends = np.cumsum(totals)
        one, last = np.searchsorted(ends, (first, end - 1), side="right").tolist()
        starts = ends - totals
        parts = [self._of_code(int(codes[one]), first - int(starts[one]), min(end, int(ends[one])) - int(starts[one]))]
        if one < last:
            between = np.zeros(len(codes), dtype=bool)
            between[codes[one + 1 : last]] = True
            parts.append(self._all(between))
            parts.append(self._of_code(int(codes[last]), 0, end - int(starts[last])))
        return np.concatenate(parts)

    def _of_code(self, code: int, first: int, end: int) -> RowNumbers:
        """Return a part of the decisions with a code."""
        wanted = np.zeros(len(self._places), dtype=bool)
        wanted[code] = True
        if self._order.sort == "confidence" and not self._has_one_value(code):
            return self._all(wanted)[first:end]
        descending = self._order.descending
        groups = np.arange(len(self._counts))[:: -1 if descending else 1]
        having = self._codes == code
        counts = _sums(self._groups[having], self._numbers[having], len(groups))[groups]
        ends = np.cumsum(counts)
        near = groups[(ends > first) & (ends - counts < end)]
        skipped = int(counts[ends <= first].sum())
        rows = [self._rows(group, wanted)[:: -1 if descending else 1] for group in near.tolist()]
        return np.concatenate(rows)[first - skipped : end - skipped]

    def _all(self, wanted: npt.NDArray[np.bool_]) -> RowNumbers:
        """Return all decisions with some codes, in order."""
        groups = [group for group, counted in enumerate(self._counts) if wanted[counted.codes].any()]
        rows = np.concatenate([_NO_ROWS, *(self._rows(group, wanted) for group in groups)])
        return DecisionLists(self._columns).sort(rows, self._order)

    def _rows(self, group: int, wanted: npt.NDArray[np.bool_]) -> RowNumbers:
        """Return the rows of a group with some codes, ascending."""
        values, mask = self._columns.codes(self._order.sort, group), self._filtered.mask(group)
        if self._order.sort == "confidence":
            counted = self._counts[group]
            having = np.flatnonzero(wanted[counted.codes])
            low, high = counted.lows[having], counted.highs[having]
            # of one code, a comparison of values takes a quarter of the time of computing codes
            one = len(having) == 1 and not np.isnan(low[0])
            found = (values >= low) & (values <= high) if one else wanted[confidence_codes(values)]
        else:
            found = wanted[values]
        return np.flatnonzero(found if mask is None else found & mask) + self._columns.table.bounds(group)[0]

    def _has_one_value(self, code: int) -> bool:
        having = self._codes == code
        lows = np.concatenate([counted.lows for counted in self._counts])[having]
        highs = np.concatenate([counted.highs for counted in self._counts])[having]
        return bool(lows.min() == highs.max() or np.isnan(lows).all())


def _sums(places: Ints, numbers: Ints, size: int) -> Ints:
    """Return the sums of numbers by their places 0..size-1."""
    sums: Ints = np.bincount(places, numbers, size).astype(np.int64)
    return sums


def _code_places(columns: IndexColumns, order: Order) -> Ints:
    """Return the place of each code in an order, the last one for the code of no value."""
    codes, count = codes_in_order(columns, order.sort)
    places = np.full(count, count - 1, dtype=np.int64)
    places[codes[::-1] if order.descending else codes] = np.arange(len(codes))
    return places


def _sorted_part(keys: npt.NDArray[Any], rows: RowNumbers, first: int, end: int) -> RowNumbers:
    """Return a part of ascending rows in the order of their keys, ties by row. Only what is near the part is sorted."""
    if (keys[1:] >= keys[:-1]).all():
        return rows[first:end]
    least, most = np.partition(keys, (first, end - 1))[[first, end - 1]]
    near = np.flatnonzero((keys >= least) & (keys <= most))
    skipped = int(np.count_nonzero(keys < least))
    return rows[near[np.argsort(keys[near], kind="stable")]][first - skipped : end - skipped]
