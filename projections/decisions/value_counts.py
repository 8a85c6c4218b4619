"""How many decisions of a group of rows have each value of a column. The counts are kept until the group changes."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from copy import copy
from functools import partial
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from projections.arrays import Ints, split_runs
from projections.decisions.decision_filter import DecisionFilter
from projections.decisions.decision_selection import DecisionSelection, SortField
from projections.decisions.index_columns import (
    STATUSES_COUNT,
    UNSTATED_STAKES,
    IndexColumns,
    sources,
    status_sources,
)
from projections.decisions.time_blocks import TimeBlocks, split_times

CONFIDENCE_CODES: Final = 1_000
"""Codes of confidences: most have one value. A decision without a confidence has the code after them."""

KEPT_VALUES_MAX: Final = 8_192
"""Most values of a group of rows whose counts are kept. A group with more is scanned."""

_DENSE_MAX: Final = 131_072
"""Codes below this are counted by an array of counts, others are sorted."""

KEPT_SELECTIONS_MAX: Final = 256
"""Selections whose counts are kept. A range of time that ends now is another selection in each request."""

KEPT_ORDERS_MAX: Final = 16
"""Selections whose counts by the values of a field are kept: at most 5 MB each at 10,000,000 decisions."""


class ValueCounts(NamedTuple):
    """Codes, ascending, how many decisions have each, and the least and the greatest value with that code.

    `exact` is whether each code has one value.
    """

    codes: Ints
    counts: Ints
    lows: npt.NDArray[Any]
    highs: npt.NDArray[Any]
    exact: bool = True


_NONE: Final = np.zeros(0, np.int64)

NO_COUNTS: Final = ValueCounts(_NONE, _NONE, _NONE, _NONE)

_TOO_MANY: Final = NO_COUNTS._replace(exact=False)


def codes_in_order(columns: IndexColumns, sort: SortField) -> tuple[Ints, int]:
    """Return the codes of a field in the order of its values, and the number of codes, that of no value included."""
    if sort == "category":
        values = columns.groups.values("category")
        names = sorted(name for name in values if name is not None)
        return np.array([values[name] for name in names], dtype=np.int64), len(values)
    if sort == "status":
        return np.arange(STATUSES_COUNT), STATUSES_COUNT
    missing = UNSTATED_STAKES if sort == "stakes" else CONFIDENCE_CODES + 1
    return np.arange(missing), missing + 1


def confidence_codes(values: npt.NDArray[np.float64]) -> Ints:
    """Return codes of confidences, ascending as these do; that of NaN is the greatest."""
    codes: Ints = np.nan_to_num(np.clip(values, 0, 1) * CONFIDENCE_CODES, nan=CONFIDENCE_CODES + 1).astype(np.int64)
    return codes


def count_values(column: str, values: npt.NDArray[Any]) -> ValueCounts:
    """Count decisions by the values of a column."""
    if column == "confidence":
        lows, counts = np.unique(values, return_counts=True)
        codes = confidence_codes(lows)
        starts, lengths = split_runs(codes)
        exact = len(starts) == len(codes)
        if exact:
            return ValueCounts(codes, counts, lows, lows)
        return ValueCounts(
            codes[starts], np.add.reduceat(counts, starts), lows[starts], lows[starts + lengths - 1], exact=False
        )
    if not len(values):
        return NO_COUNTS
    if values.max() < _DENSE_MAX:
        dense = np.bincount(values)
        codes = np.flatnonzero(dense)
        return ValueCounts(codes, dense[codes], codes, codes)
    codes, counts = np.unique(values.astype(np.int64), return_counts=True)
    return ValueCounts(codes, counts, codes, codes)


_Kept = dict[int, tuple[tuple[int, ...], Any]]
"""What was found in groups of rows, with the stamps of what it was found in."""

_Key = tuple[DecisionSelection, frozenset[str], str]
"""A selection, the words that its decisions have, and a column."""


class KeptCounts:
    """Counts of columns by value, and of selections, for each group of rows. Groups that changed are counted again."""

    def __init__(self, columns: IndexColumns) -> None:
        self._columns = columns
        self._blocks: _Kept = {}
        self._by_value: dict[tuple[str, bytes], _Kept] = {}
        self._totals: OrderedDict[_Key, _Kept] = OrderedDict()
        self._orders: OrderedDict[_Key, _Kept] = OrderedDict()

    def of_frozen(self, columns: IndexColumns) -> Self:
        """Return the counts of frozen columns. They are kept together with these, by stamps that both share."""
        frozen = copy(self)
        frozen._columns = columns
        return frozen

    def totals(self, filtered: DecisionFilter) -> Ints:
        """Return how many decisions of each group of rows pass a filter."""
        kept = _recent(self._totals, (filtered.selection, filtered.words, ""), KEPT_SELECTIONS_MAX)
        count = partial(self._total, filtered)
        groups = range(self._columns.table.groups)
        totals = [self._fresh(kept, filtered.stamps(group), group, count) for group in groups]
        return np.array(totals, dtype=np.int64)

    def counts(self, filtered: DecisionFilter, column: str) -> list[ValueCounts]:
        """Return how many decisions of each group of rows pass a filter by the codes of a column."""
        kept = _recent(self._orders, (filtered.selection, filtered.words, column), KEPT_ORDERS_MAX)
        names, count = sources(column), partial(self._counts, filtered, column)
        groups = range(self._columns.table.groups)
        return [self._fresh(kept, filtered.stamps(group, names), group, count) for group in groups]

    def blocks(self, filtered: DecisionFilter, groups: Iterable[int]) -> list[tuple[TimeBlocks, Ints]]:
        """Return the blocks of some groups, and how many decisions of each block pass a filter."""
        kept = _recent(self._totals, (filtered.selection, filtered.words, "time_us"), KEPT_SELECTIONS_MAX)
        count = partial(self._by_block, filtered)
        return [(self._blocks_of(group), self._fresh(kept, filtered.stamps(group), group, count)) for group in groups]

    def _fresh(self, kept: _Kept, stamps: tuple[int, ...], group: int, count: Callable[[int], Any]) -> Any:  # noqa: ANN401 - of each kind
        """Return what is kept of a group. It is counted again if its stamps are others."""
        found = kept.get(group)
        if found is None or found[0] != stamps:
            found = kept[group] = stamps, count(group)
        return found[1]

    def _blocks_of(self, group: int) -> TimeBlocks:
        stamps = self._columns.stamps(("time_us",), group)
        blocks: TimeBlocks = self._fresh(
            self._blocks, stamps, group, lambda group: split_times(self._columns.chunk("time_us", group))
        )
        return blocks

    def _by_block(self, filtered: DecisionFilter, group: int) -> Ints:
        blocks, mask = self._blocks_of(group), filtered.mask(group)
        if mask is None:
            return np.diff(np.append(blocks.starts, len(blocks.order)))
        return np.add.reduceat(mask[blocks.order].astype(np.int64), blocks.starts)

    def _total(self, filtered: DecisionFilter, group: int) -> int:
        left = filtered.narrow(group)
        if left is None:
            return 0
        if not left.masks and not left.conditions:
            return int(self._columns.by_rows.table[group][filtered.statuses].sum())
        found = []
        for one in left.conditions:
            values = self._of_column(one.column, filtered.statuses if left.by_status else None, group)
            found.append(int(values.counts[one.matches(values.lows)].sum()) if values.exact else -1)
        if 0 in found:
            return 0
        if len(found) == 1 and not left.masks and found[0] > 0:
            return found[0]
        mask = filtered.mask_of(left, group)
        assert mask is not None, "there is something to examine"
        return int(np.count_nonzero(mask))

    def _counts(self, filtered: DecisionFilter, column: str, group: int) -> ValueCounts:
        left = filtered.narrow(group)
        if left is None:
            return NO_COUNTS
        if not left.masks and not left.conditions:
            values = self._of_column(column, filtered.statuses if left.by_status else None, group)
            if values is not _TOO_MANY:
                return values
        mask = filtered.mask_of(left, group)
        codes = self._columns.codes(column, group)
        return count_values(column, codes if mask is None else codes[mask])

    def _of_column(self, column: str, statuses: npt.NDArray[np.bool_] | None, group: int) -> ValueCounts:
        """Count the decisions of a group with some statuses, or all, by the values of a column."""
        kept = self._by_value.setdefault((column, b"" if statuses is None else statuses.tobytes()), {})
        names = (*sources(column), *(() if statuses is None else status_sources(statuses)))
        stamps, count = self._columns.stamps(names, group), partial(self._count_column, column, statuses)
        values: ValueCounts = self._fresh(kept, stamps, group, count)
        return values

    def _count_column(self, column: str, statuses: npt.NDArray[np.bool_] | None, group: int) -> ValueCounts:
        codes = self._columns.codes(column, group)
        if statuses is not None:
            codes = codes[self._columns.with_status(statuses, group)]
        values = count_values(column, codes)
        return values if len(values.codes) <= KEPT_VALUES_MAX else _TOO_MANY


def _recent(kept: OrderedDict[_Key, _Kept], key: _Key, most: int) -> _Kept:
    """Return what is kept by a key, of the last keys that were used."""
    found = kept.setdefault(key, {})
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)
    return found
