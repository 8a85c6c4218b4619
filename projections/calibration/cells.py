"""Cells, that is a group of decisions and a stated confidence, in the order in which they first occurred.

A million decisions have a few thousand cells, so figures are computed from cells wherever that is possible.
"""

from array import array
from collections.abc import Sequence
from functools import cached_property
from math import isnan
from typing import Final, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, RowNumbers
from projections.calibration.calibration_filter import KeyFilter
from projections.calibration.field_values import FieldValues
from projections.columns import ModelGroupKey, as_array

GROUP_FIELDS_COUNT: Final = 6
"""The number of fields of a `ModelGroupKey`."""

_NO_VALUE: Final = 2**32 - 1

_SPARSE: Final = 16
"""Keys of merged cells are marked in an array of all possible ones if there are at most so many for each cell."""

_NAN: Final = float("nan")


class ConfidenceLevels:
    """The stated confidence of each cell (NaN: none), and the few different ones. Threads share it."""

    def __init__(self, of_cell: Floats) -> None:
        self.of_cell = of_cell

    @cached_property
    def numbered(self) -> tuple[Floats, RowNumbers]:
        """The different confidences, ascending with NaN last, and the place of each cell's confidence among them."""
        levels, numbers = np.unique(self.of_cell, return_inverse=True)
        return levels, numbers


class Cells:
    """The cells at one moment. Later folding does not change them, and threads share what is computed from them.

    `group` and `confidence` (NaN: none) are by cell. For each field of a group's key, `columns` has the number of its
    value by group, and `values` the values by number. `groups` and `values` may have more, which came later.
    """

    def __init__(
        self,
        groups: list[ModelGroupKey],
        group: npt.NDArray[np.uint32],
        confidence: Floats,
        columns: Sequence[npt.NDArray[np.uint32]],
        values: Sequence[FieldValues],
    ) -> None:
        self.groups, self.group, self.confidence = groups, group, confidence
        self.columns, self.values = columns, values
        self._merged: dict[tuple[int, ...], MergedCells] = {}
        self._representative: dict[tuple[int, ...], RowNumbers] = {}

    def __len__(self) -> int:
        return len(self.group)

    @cached_property
    def by_confidence(self) -> RowNumbers:
        """The numbers of the cells, ascending by confidence with NaN last."""
        return np.argsort(self.confidence, kind="stable")

    @cached_property
    def agent_category(self) -> RowNumbers:
        """The number of each cell's agent and category, in the order in which these first occurred."""
        agent, category = self.columns[:2]
        _, first, number = np.unique(agent * 2.0**32 + category, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[number][self.group]

    @cached_property
    def levels(self) -> ConfidenceLevels:
        """The different confidences."""
        return ConfidenceLevels(self.confidence)

    def merged(self, fields: tuple[int, ...]) -> "MergedCells":
        """Return the cells with only some fields of their groups' keys, by number. They are kept."""
        found = self._merged.get(fields)
        if found is None:
            found = self._merged[fields] = self._merge(fields)
        return found

    def representative(self, fields: tuple[int, ...]) -> RowNumbers:
        """Return for each cell the first one of its confidence that is alike in some fields. Later ones change none."""
        found = self._representative.get(fields)
        if found is None:
            number = self.merged(fields).number
            _, first = np.unique(number, return_index=True)
            found = self._representative[fields] = np.asarray(first[number])
        return found

    def _merge(self, fields: tuple[int, ...]) -> "MergedCells":
        columns = [self.columns[field] for field in fields] or [np.zeros_like(self.columns[0])]
        _, example, of_group = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
        levels, level = self.levels.numbered
        key = level * len(example) + of_group.astype(np.intp)[self.group]
        if len(levels) * len(example) <= _SPARSE * len(key):
            present = np.zeros(len(levels) * len(example), dtype=bool)
            present[key] = True
            keys, numbers = np.flatnonzero(present), (np.cumsum(present) - 1)[key]
        else:
            keys, numbers = np.unique(key, return_inverse=True)
        level, group = np.divmod(keys, max(1, len(example)))
        examples = [column[example] for column in self.columns]
        return MergedCells(numbers, group.astype(np.uint32), levels[level], examples)

    def matching_groups(self, key_filter: KeyFilter) -> npt.NDArray[np.bool_]:
        """Return a mask of the groups that match."""
        keep = np.ones(len(self.columns[0]), dtype=bool)
        for value, values, column in zip(key_filter, self.values, self.columns, strict=False):
            if value is not None:
                keep &= column == values.numbers.get(value, _NO_VALUE)
        return keep


class MergedCells(NamedTuple):
    """Cells whose groups are alike in some fields and that have one confidence, as one, ascending by confidence.

    `number` is that of the merged cell of each cell; `group` and `confidence` are by merged cell. `columns` are by
    group, and have the numbers of values of the fields by which cells were merged.
    """

    number: RowNumbers
    group: npt.NDArray[np.uint32]
    confidence: Floats
    columns: Sequence[npt.NDArray[np.uint32]]


class CellNumbers:
    """The numbers of cells by group and stated confidence; new ones are added."""

    def __init__(self) -> None:
        self._groups: list[ModelGroupKey] = []
        self._values = [FieldValues() for _ in range(GROUP_FIELDS_COUNT)]
        self._group_values = [array("I") for _ in range(GROUP_FIELDS_COUNT)]
        self._cell_group = array("I")
        self._cell_confidence = array("d")
        self._numbers: dict[ModelGroupKey, dict[float | None, int]] | None = {}
        self._now: Cells | None = None

    def __len__(self) -> int:
        return len(self._cell_group)

    def by_key(self) -> dict[ModelGroupKey, dict[float | None, int]]:
        """Return the numbers of cells by group, then by confidence. It is made when it is first needed: to fold."""
        numbers = self._numbers
        if numbers is None:
            numbers = {key: {} for key in self._groups}
            each = list(numbers.values())
            for cell, (group, confidence) in enumerate(zip(self._cell_group, self._cell_confidence, strict=True)):
                each[group][None if isnan(confidence) else confidence] = cell
            self._numbers = numbers
        return numbers

    def add(self, key: ModelGroupKey, confidence: float | None) -> int:
        """Add a cell and return its number."""
        by_key, cell = self.by_key(), len(self._cell_group)
        numbers = by_key.get(key)
        if numbers is None:
            numbers, group = by_key.setdefault(key, {}), len(self._groups)
            self._groups.append(key)
            for value, values, column in zip(key, self._values, self._group_values, strict=True):
                column.append(values.numbers.setdefault(value, len(values.numbers)))
        else:
            group = self._cell_group[next(iter(numbers.values()))]
        numbers[confidence] = cell
        self._cell_group.append(group)
        self._cell_confidence.append(_NAN if confidence is None else confidence)
        return cell

    def restated(self, cell: int, confidence: float) -> int:
        """Return the number of the cell of the same group with another confidence."""
        key = self._groups[self._cell_group[cell]]
        found = self.by_key()[key].get(confidence)
        return self.add(key, confidence) if found is None else found

    def now(self) -> Cells:
        """Return the cells as they are now. It is kept until there is a new one."""
        now = self._now
        if now is None or len(now) != len(self):
            now = self._now = Cells(
                self._groups,
                as_array(self._cell_group, np.uint32).copy(),
                as_array(self._cell_confidence, np.float64).copy(),
                [as_array(column, np.uint32).copy() for column in self._group_values],
                self._values,
            )
        return now

    def parts(self) -> "CellParts":
        """Return the cells as they are encoded."""
        return CellParts(
            values=[list(values.numbers) for values in self._values],
            groups=[column.tobytes() for column in self._group_values],
            group=self._cell_group.tobytes(),
            confidence=self._cell_confidence.tobytes(),
        )

    @classmethod
    def from_parts(cls, parts: "CellParts") -> Self:
        """Return the cells that `parts` were made of. Errors: ValueError, AssertionError, LookupError."""
        new = cls()
        new._numbers = None
        names = []
        for field, values, numbers, column in zip(
            new._values, parts.values, new._group_values, parts.groups, strict=True
        ):
            numbers.frombytes(column)
            names.append([values[number] for number in numbers])
            field.numbers = {value: number for number, value in enumerate(values)}
        new._groups = list(zip(*names, strict=True))
        new._cell_group.frombytes(parts.group)
        new._cell_confidence.frombytes(parts.confidence)
        assert len(new._cell_group) == len(new._cell_confidence), "columns of unlike length"
        assert max(new._cell_group, default=-1) == len(new._groups) - 1, "a group without a cell"
        return new


class CellParts(msgspec.Struct):
    """What is stored of cells: values of each field, the numbers of values of each group, group and confidence."""

    values: list[list[str | None]]
    groups: list[bytes]
    group: bytes
    confidence: bytes
