"""Group the cells of a table by a field of their keys or by bucket of confidence, and sum them by group."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, RowNumbers
from projections.calibration.cells import Cells
from projections.calibration.cluster_rows import AlikeCells
from projections.calibration.confidence_bins import REVIEWED_VALUES
from projections.calibration.count_table import CATEGORY_FIELD, MODEL_FIELD, CountSelection, CountTable
from projections.calibration.counted_columns import COLUMNS_COUNT
from projections.calibration.field_values import FieldValues
from projections.calibration.scores import (
    BUCKETS,
    bucket_numbers,
)
from projections.calibration.words import GroupBy, GroupSort
from projections.outcome_codes import OUTCOMES_COUNT
from projections.query_check import Check

_CELL_SUMS = np.array(
    [
        [1, 0, 0, 0],
        *([1, 1, value, value**2] for value in REVIEWED_VALUES.tolist()),
        *[[1, 0, 0, 0]] * (COLUMNS_COUNT - OUTCOMES_COUNT),
    ]
)

_key_field: Mapping[str, int] = {
    "agent": 0,
    "category": 1,
    "stakes": 2,
    "project": 3,
    "feature": 4,
    "model": MODEL_FIELD,
}


def fields_of(group_by: GroupBy) -> tuple[int, ...]:
    """Return the fields of keys that a view by some groups needs: that of the groups, and the category."""
    return tuple(sorted({CATEGORY_FIELD, _key_field.get(group_by, CATEGORY_FIELD)}))


class GroupNames(NamedTuple):
    """The names of groups: `names` has them among others, and `ranks` the place of each."""

    names: Sequence[str | None]
    ranks: npt.NDArray[np.intp]

    def of(self, number: int) -> str | None:
        """Return the name of a group by its number."""
        rank: int = self.ranks[number]
        return self.names[rank]


class Groups(NamedTuple):
    """Cells and their groups: the names of the groups in order, each cell's group (-1: none), those with decisions."""

    table: CountTable
    group_by: GroupBy
    names: "GroupNames"
    numbers: npt.NDArray[np.intp]
    nonempty: npt.NDArray[np.intp]


class CellSums(NamedTuple):
    """Sums by group: decisions, reviews with a stated confidence, and the outcomes, losses and confidences of these."""

    total: Floats
    n: Floats
    outcome: Floats
    loss: Floats
    confidence: Floats


def make_groups(table: CountTable, group_by: GroupBy, check: Check) -> Groups:
    """Return the groups of the cells of a table. `check` is called between parts of the work."""
    names, numbers = _group_cells(table, group_by, check)
    used = numbers[numbers >= 0]
    check()
    return Groups(table, group_by, names, numbers, np.flatnonzero(np.bincount(used, minlength=len(names.ranks))))


def sum_cells(groups: Groups, check: Check) -> CellSums:
    """Sum the cells of every group, all in one pass. Cells without a group are left out."""
    table, grouped = groups.table, groups.numbers >= 0
    stated = ~np.isnan(table.confidence)
    c = np.where(stated, table.confidence, 0)
    check()
    total, n, outcome_sum, squares = (table.counts.astype(np.float64) @ _CELL_SUMS).T
    check()
    n, outcome_sum, squares = n * stated, outcome_sum * stated, squares * stated
    loss = n * c**2 - 2 * c * outcome_sum + squares

    def summed(values: Floats) -> Floats:
        check()
        found = np.bincount(groups.numbers[grouped], weights=values[grouped], minlength=len(groups.names.ranks))
        return found.astype(np.float64)

    return CellSums(*map(summed, (total, n, outcome_sum, loss, n * c)))


def count_groups(selection: CountSelection, group_by: GroupBy) -> int:
    """Return the largest number of groups that a grouping can have."""
    return len(BUCKETS) if group_by == "confidence_bucket" else len(selection.values[_key_field[group_by]].numbers)


def number_groups(
    cells: Cells, values: Sequence[FieldValues], group_by: GroupBy
) -> tuple[npt.NDArray[np.intp], Mapping[str | None, int]]:
    """Return the number of each cell's group (-1: none), and the numbers of names.

    `values` are those of the cells or of a selection. Later decisions change no number, except those of models: several
    names may mean one.
    """
    if group_by == "confidence_bucket":
        levels, level = cells.levels.numbered
        return bucket_numbers(levels)[level], {name: number for number, (name, _, _) in enumerate(BUCKETS)}
    field = _key_field[group_by]
    numbers = cells.columns[field][cells.group].astype(np.intp)
    if group_by == "model":
        names, ranks = values[field].in_order()
        return ranks[numbers], {name: number for number, name in enumerate(names)}
    return numbers, values[field].numbers


def alike_cells(cells: Cells, group_by: GroupBy | None) -> AlikeCells:
    """Return which reviews may count together in some groups: those of all and of buckets need no field."""
    if group_by is None or group_by == "confidence_bucket":
        levels, level = cells.levels.numbered
        groupings: dict[GroupBy | None, RowNumbers] = {None: np.zeros(len(cells), np.intp)}
        groupings["confidence_bucket"] = bucket_numbers(levels)[level]
        return AlikeCells((), groupings, cells.representative(()))
    field = _key_field[group_by]
    by_field = cells.columns[field][cells.group].astype(np.intp)
    return AlikeCells((field,), {group_by: by_field}, cells.representative((field,)))


def _group_cells(table: CountTable, group_by: GroupBy, check: Check) -> "tuple[GroupNames, npt.NDArray[np.intp]]":
    """Return the names of the groups in order, and the number of each cell's group (-1: none)."""
    if group_by == "confidence_bucket":
        bucket_names = [name for name, _, _ in BUCKETS]
        return GroupNames(bucket_names, np.arange(len(bucket_names))), bucket_numbers(table.confidence)
    if not len(table.group):
        return GroupNames([], np.zeros(0, dtype=np.intp)), np.zeros(0, dtype=np.intp)
    field = _key_field[group_by]
    names, ranks = table.values[field].in_order()
    check()
    used = np.flatnonzero(np.bincount(table.group))
    used_ranks = ranks[table.columns[field][used]]
    present = np.zeros(len(names), dtype=bool)
    present[used_ranks] = True
    numbers = np.zeros(len(table.columns[field]), dtype=np.intp)
    numbers[used] = (np.cumsum(present) - 1)[used_ranks]
    check()
    return GroupNames(names, np.flatnonzero(present)), numbers[table.group]


class GroupPage(NamedTuple):
    """Which groups to compute: `limit` of them, after the first `offset`, in the order of `sort`."""

    limit: int
    offset: int = 0
    sort: GroupSort = "name"

    def choose(self, groups: Groups) -> npt.NDArray[np.intp]:
        """Return the numbers of the groups of the page. Equal numbers of decisions are in the order of names."""
        chosen = groups.nonempty
        if self.sort == "decisions":
            inside = groups.numbers >= 0
            decisions = groups.table.counts[inside].sum(axis=1)
            total = np.bincount(groups.numbers[inside], weights=decisions, minlength=len(groups.names.ranks))
            chosen = chosen[np.argsort(-total[chosen], kind="stable")]
        return chosen[self.offset : self.offset + self.limit]


EVERY_GROUP = GroupPage(2**31)
