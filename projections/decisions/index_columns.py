"""The columns of the index of decisions, and what is known of each group of their rows without loading them."""

from copy import copy
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers
from projections.column_table import ColumnTable, Values
from projections.decisions.decision_numbers import DecisionNumbers
from projections.decisions.decision_selection import STAKES, STATUSES
from projections.decisions.group_fields import GroupFields, TagSets
from projections.decisions.stated_texts import StatedTexts
from projections.outcome_codes import UNREVIEWED

RETRACTED: Final = 1
PRESERVED: Final = 2
DATED: Final = 4
"""The decision has a review date."""
HAS_PR: Final = 8
"""The decision states a pull request. These are the bits of the column `flags`."""

STATUSES_COUNT: Final = len(STATUSES)

UNSTATED_STAKES: Final = len(STAKES)
"""The code of the stakes of a decision that states none."""

_SHARED = frozenset({"position", "time_us", "cluster"})
"""The columns of the table of `DecisionNumbers`."""

_PENDING, _REVIEWED, _RETRACTED = range(STATUSES_COUNT)

_SOURCES: Final = {"category": ("group",), "stakes": ("group",), "status": ("outcome", "flags")}
"""The columns from which codes are computed that have no column of their own."""


class StatusCounts:
    """Numbers of decisions by status: a row of counts for each number of a kind, a column for each of STATUSES."""

    def __init__(self, counts: bytes = b"") -> None:
        self._counts = np.frombuffer(counts, np.int64).copy()

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """The counts. They must not be changed."""
        return self._counts.reshape(-1, STATUSES_COUNT)

    def add(self, numbers: npt.NDArray[Any], statuses: npt.NDArray[Any]) -> None:
        """Count decisions, given number and status of each."""
        if not len(numbers):
            return
        missing = (int(numbers.max()) + 1) * STATUSES_COUNT - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing, np.int64)])
        np.add.at(self._counts, numbers.astype(np.intp) * STATUSES_COUNT + statuses, 1)

    def move(self, numbers: npt.NDArray[Any], before: npt.NDArray[Any], after: npt.NDArray[Any]) -> None:
        """Count decisions with another status than before."""
        np.subtract.at(self._counts, numbers.astype(np.intp) * STATUSES_COUNT + before, 1)
        self.add(numbers, after)

    def tobytes(self) -> bytes:
        """Return the counts as bytes."""
        return self._counts.tobytes()


class IndexColumns:
    """One row for each decision, in the order in which they were recorded, and the texts whose numbers it has.

    `by_fields` counts the decisions of each combination of fields by status, `by_rows` those of each group of rows.
    """

    def __init__(self) -> None:
        self.numbers = DecisionNumbers()
        self.table = ColumnTable(
            group=np.uint32, tags=np.uint32, confidence=np.float64, outcome=np.uint8, flags=np.uint8,
            pattern=np.uint64, model=np.uint32, pr=np.uint64, due_us=np.int64,
        )  # fmt: skip
        self.groups = GroupFields()
        self.tagsets = TagSets()
        self.models = StatedTexts()
        """The names of the model, joined by `join_names`."""
        self.by_fields = StatusCounts()
        self.by_rows = StatusCounts()

    def append(self, rows: int, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Add the rows of pending decisions that `numbers` has already."""
        first = len(self.table)
        self.table.append(rows, columns)
        if not rows:
            return
        added = np.arange(first, first + rows)
        pending = np.full(rows, _PENDING)
        self.by_fields.add(columns["group"], pending)
        self.by_rows.add(added // self.table.group_rows, pending)

    def move(self, rows: RowNumbers, before: npt.NDArray[np.uint8]) -> None:
        """Count some different rows by the statuses that they have now, no longer by those before."""
        after = self.take_statuses(rows)
        moved = before != after
        rows, before, after = rows[moved], before[moved], after[moved]
        self.by_fields.move(self.table.take("group", rows), before, after)
        self.by_rows.move(rows // self.table.group_rows, before, after)

    def chunk(self, column: str, group: int) -> Values:
        """Return the values of a column in a group of rows. They must not be changed."""
        table = self.numbers.table if column in _SHARED else self.table
        return table.chunk(column, group)

    def take(self, column: str, rows: RowNumbers) -> Values:
        """Return the values of a column in some rows."""
        table = self.numbers.table if column in _SHARED else self.table
        return table.take(column, rows)

    def stamps(self, columns: tuple[str, ...], group: int) -> tuple[int, ...]:
        """Return numbers that are others after rows were added to a group or values of some columns changed in it."""
        start, end = self.table.bounds(group)
        tables = (self.numbers.table if column in _SHARED else self.table for column in columns)
        return (end - start, *(table.stamp(column, group) for table, column in zip(tables, columns, strict=True)))

    def flags(self, flag: int, group: int) -> npt.NDArray[np.bool_] | bool:
        """Return which rows of a group have a flag; False if none ever had any."""
        if self.table.is_zero("flags", group):
            return False
        flags: npt.NDArray[np.bool_] = self.table.chunk("flags", group) & np.uint8(flag) != 0
        return flags

    def codes(self, column: str, group: int) -> Values:
        """Return the codes of the rows of a group: of a column, or of the field `category`, `stakes` or `status`."""
        if column == "status":
            return _statuses(self.table.chunk("outcome", group), self.table.chunk("flags", group))
        if column in ("category", "stakes"):
            return self.codes_by_fields(column)[self.table.chunk("group", group)]
        return self.chunk(column, group)

    def take_codes(self, column: str, rows: RowNumbers) -> Values:
        """Return the codes of some rows."""
        if column == "status":
            return self.take_statuses(rows)
        if column in ("category", "stakes"):
            return self.codes_by_fields(column)[self.table.take("group", rows)]
        return self.take(column, rows)

    def codes_by_fields(self, column: str) -> Values:
        """Return the codes of `category` or `stakes` by combination of fields: stakes are numbered by rank."""
        if column == "category":
            return self.groups.codes("category")
        ranks = {name: rank for rank, name in enumerate(STAKES)}
        by_value = [ranks.get(name or "", UNSTATED_STAKES) for name in self.groups.values("stakes")]
        return np.array(by_value, dtype=np.uint32)[self.groups.codes("stakes")]

    def take_statuses(self, rows: RowNumbers) -> npt.NDArray[np.uint8]:
        """Return the status of some rows, as an index into STATUSES."""
        return _statuses(self.table.take("outcome", rows), self.table.take("flags", rows))

    def with_status(self, statuses: npt.NDArray[np.bool_], group: int) -> npt.NDArray[np.bool_]:
        """Return which rows of a group have one of some statuses, given a mask by status."""
        if "outcome" in status_sources(statuses):
            found: npt.NDArray[np.bool_] = statuses[self.codes("status", group)]
            return found
        retracted = self.table.chunk("flags", group) & np.uint8(RETRACTED) != 0
        among: npt.NDArray[np.bool_] = np.where(retracted, statuses[_RETRACTED], statuses[_PENDING])
        return among

    def frozen(self) -> Self:
        """Return the columns as they are now. Later changes do not reach them."""
        frozen = copy(self)
        frozen.numbers, frozen.table = self.numbers.frozen(), self.table.freeze()
        frozen.by_fields = StatusCounts(self.by_fields.tobytes())
        frozen.by_rows = StatusCounts(self.by_rows.tobytes())
        return frozen


def sources(column: str) -> tuple[str, ...]:
    """Return the columns from which the codes of a column or field are computed."""
    return _SOURCES.get(column, (column,))


def status_sources(statuses: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the columns that decide whether a row has one of some statuses, given a mask by status."""
    return ("flags",) if statuses[_PENDING] == statuses[_REVIEWED] else ("flags", "outcome")


def _statuses(outcome: Values, flags: Values) -> npt.NDArray[np.uint8]:
    statuses = np.where(outcome != UNREVIEWED, np.uint8(_REVIEWED), np.uint8(_PENDING))
    statuses[flags & np.uint8(RETRACTED) != 0] = _RETRACTED
    return statuses
