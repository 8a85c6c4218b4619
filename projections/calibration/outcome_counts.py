"""Counts of outcomes by group and stated confidence, and the columns of decisions from which they are counted.

A cell is a group and a stated confidence. A million decisions have a few thousand cells. Brier score, accuracy and gap
are computed exactly from the counts of the cells. A second review subtracts 1 from one count and adds 1 to another. The
state also has one row per decision (13 bytes and its name), which is needed to count within a range of time.
"""

from array import array
from collections.abc import Sequence
from typing import Final, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionReviewed
from events.envelope import EventFacts
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.calibration.span_counts import CountColumns, CountSpans
from projections.columns import GroupKey, as_array, microseconds_column, pack, pack_names, unpack_names
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOMES_COUNT, UNREVIEWED
from projections.time_range import TimeRange

GROUP_FIELDS_COUNT: Final = 5
"""The number of fields of a `GroupKey`."""

_NO_VALUE = 2**32 - 1

CellKey = tuple[str, str | None, str | None, str | None, str | None, float | None]
"""The key of a cell: the fields of a `GroupKey`, and the stated confidence or None."""

KeyFilter = tuple[str | None, str | None, str | None, str | None, str | None]
"""Required values of the fields of a `GroupKey`; None matches any value."""

Counts = npt.NDArray[np.int64]
"""Counts of decisions: a row for each cell, a column for each of OUTCOMES."""


class CountTable(msgspec.Struct, frozen=True):
    """Selected cells as arrays of equal length, ascending by confidence with NaN last.

    `group` is an index into `groups`, `confidence` the stated confidence (NaN: none), `counts` are by outcome.
    """

    groups: list[GroupKey]
    group: npt.NDArray[np.uint32]
    confidence: npt.NDArray[np.float64]
    counts: Counts


class DecisionRows(msgspec.Struct, frozen=True):
    """Selected decisions as arrays of equal length: row number, stated confidence (NaN: none), outcome by number."""

    number: npt.NDArray[np.intp]
    confidence: npt.NDArray[np.float64]
    outcome: npt.NDArray[np.uint8]


class OutcomeCounts:
    """Counts by cell, and columns with the cell, outcome and time of each decision, and its question if it has one."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.cell = array("I")
        self.outcome = bytearray()
        self._time_us = array("q")
        self._keys: dict[CellKey, int] = {}
        self._groups: dict[GroupKey, int] = {}
        self._group_keys: list[GroupKey] = []
        self._values: list[dict[str | None, int]] = [{} for _ in range(GROUP_FIELDS_COUNT)]
        self._group_values = [array("I") for _ in range(GROUP_FIELDS_COUNT)]
        self._cell_group = array("I")
        self._cell_confidence = array("d")
        self._counts: Counts = np.zeros(0, dtype=np.int64)
        self._order = np.zeros(0, dtype=np.intp)
        self._spans = CountSpans()
        self._questions: dict[str, int] = {}
        self._asked = array("I")
        self._asked_question = array("I")
        self._position = 0
        self.restated: dict[int, int] = {}
        """Amendments of unreviewed decisions in the last batch: row number of the decision by position of the event."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        """Count recorded, amended and reviewed decisions.

        Two projections may share these counts, so a batch that was already folded is skipped. The loop collects the
        numbers of counts to decrease and to increase, and numpy applies them afterwards, because changing counts one by
        one took a fifth of the fold. Recorded decisions are counted from their column.
        """
        if not events or events[-1].position <= self._position:
            return
        self._position = events[-1].position
        self.restated = {}
        index, keys, cell, outcome = self.index, self._keys, self.cell, self.outcome
        add_cell, add_outcome, width = cell.append, outcome.append, OUTCOMES_COUNT
        first = size = len(cell)
        times: list[str] = []
        decreased, increased, changed = array("q"), array("q"), array("q")
        add_changed = changed.append
        for event in events:
            data = event.data
            if type(data) is DecisionRecorded:
                key: CellKey = (event.source, data.category, data.stakes, data.project, data.feature, data.confidence)
                cell_number = keys.get(key)
                if cell_number is None:
                    cell_number = self._make_cell(key)
                index[event.subject] = size
                size += 1
                add_cell(cell_number)
                add_outcome(UNREVIEWED)
                times.append(event.time)
            elif type(data) is DecisionReviewed:
                decision = index[event.subject]
                cell_start, new_outcome = cell[decision] * width, OUTCOME_NUMBERS[data.outcome]
                decreased.append(cell_start + outcome[decision])
                increased.append(cell_start + new_outcome)
                outcome[decision] = new_outcome
                add_changed(decision)
            elif type(data) is DecisionAmended:
                decision = index[event.subject]
                previous_cell = cell[decision]
                self._amend(event.position, decision, data)
                if cell[decision] != previous_cell:
                    add_changed(decision)
                    if decision < first:
                        decreased.append(previous_cell * width)
                        increased.append(cell[decision] * width)
            elif type(data) is DecisionAsked:
                self._asked.append(index[event.subject])
                self._asked_question.append(self._questions.setdefault(data.question, len(self._questions)))
        self._time_us.frombytes(microseconds_column(times))
        self._count(first, decreased, increased)
        self._spans.invalidate(as_array(changed, np.int64))

    def _amend(self, position: int, decision: int, data: DecisionAmended) -> None:
        """Record an amendment of an unreviewed decision, and move it to the cell of its new confidence."""
        if self.outcome[decision] != UNREVIEWED:
            return
        self.restated[position] = decision
        if data.confidence is not None:
            key = (*self._group_keys[self._cell_group[self.cell[decision]]], data.confidence)
            cell_number = self._keys.get(key)
            self.cell[decision] = self._make_cell(key) if cell_number is None else cell_number

    def _count(self, first: int, decreased: "array[int]", increased: "array[int]") -> None:
        """Count the decisions from row number `first` on as recorded, and apply the changes of counts."""
        missing = len(self._keys) * OUTCOMES_COUNT - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing + len(self._counts), dtype=np.int64)])
        np.add.at(self._counts, as_array(self.cell, np.uint32)[first:].astype(np.int64) * OUTCOMES_COUNT, 1)
        np.add.at(self._counts, as_array(increased, np.int64), 1)
        np.subtract.at(self._counts, as_array(decreased, np.int64), 1)

    def _make_cell(self, key: CellKey) -> int:
        """Add a cell and return its number."""
        cell_number = self._keys[key] = len(self._keys)
        group_key, confidence = key[:GROUP_FIELDS_COUNT], key[GROUP_FIELDS_COUNT]
        group = self._groups.setdefault(group_key, len(self._groups))
        if group == len(self._group_keys):
            self._group_keys.append(group_key)
            for value, values, column in zip(group_key, self._values, self._group_values, strict=True):
                column.append(values.setdefault(value, len(values)))
        self._cell_group.append(group)
        self._cell_confidence.append(float("nan") if confidence is None else confidence)
        return cell_number

    def select(self, key_filter: KeyFilter, when: TimeRange) -> CountTable:
        """Return the cells of the groups that match, counted over a range of time.

        The counts over all time are stored, so that without a range the cost depends only on the number of cells.
        """
        group, counts = as_array(self._cell_group, np.uint32), self._count_within(when)
        confidence = as_array(self._cell_confidence, np.float64)
        if len(self._order) != len(self._keys):
            self._order = np.argsort(confidence, kind="stable")
        rows = self._order[self._matching_groups(key_filter)[group[self._order]]]
        rows = rows[counts[rows] @ np.ones(OUTCOMES_COUNT, dtype=np.int64) > 0]
        return CountTable(self._group_keys, group[rows], confidence[rows], counts[rows])

    def _matching_groups(self, key_filter: KeyFilter) -> npt.NDArray[np.bool_]:
        """Return a mask of the groups that match."""
        keep = np.ones(len(self._group_keys), dtype=bool)
        for value, values, column in zip(key_filter, self._values, self._group_values, strict=True):
            if value is not None:
                keep &= as_array(column, np.uint32) == values.get(value, _NO_VALUE)
        return keep

    def _count_within(self, when: TimeRange) -> Counts:
        """Return the counts of all cells over a range of time."""
        size = len(self._keys) * OUTCOMES_COUNT
        if not when.bounded:
            return self._counts[:size].reshape(-1, OUTCOMES_COUNT)
        return self._spans.count(self._columns(), *when.bounds_us(), OUTCOMES_COUNT, size).reshape(-1, OUTCOMES_COUNT)

    def _columns(self) -> CountColumns:
        return CountColumns(
            as_array(self._time_us, np.int64), as_array(self.cell, np.uint32), as_array(self.outcome, np.uint8)
        )

    def history(self, key_filter: KeyFilter, when: TimeRange) -> ReviewedDecisions:
        """Return the matching reviewed decisions with a stated confidence that were made within a range of time."""
        cell_group, cell_confidence = as_array(self._cell_group, np.uint32), as_array(self._cell_confidence, np.float64)
        kept_cells = self._matching_groups(key_filter)[cell_group] & ~np.isnan(cell_confidence)
        cell, outcome = as_array(self.cell, np.uint32), as_array(self.outcome, np.uint8)
        rows = np.flatnonzero(
            kept_cells[cell] & (outcome != UNREVIEWED) & when.contains(as_array(self._time_us, np.int64))
        )
        time_us = as_array(self._time_us, np.int64)[rows]
        if (time_us[1:] < time_us[:-1]).any():
            order = np.argsort(time_us, kind="stable")
            rows, time_us = rows[order], time_us[order]
        cells = cell[rows]
        question = np.full(len(cell), -1, dtype=np.int64)
        question[as_array(self._asked, np.uint32)] = as_array(self._asked_question, np.uint32)
        return ReviewedDecisions(
            groups=list(self._group_keys),
            questions=list(self._questions),
            time_us=time_us,
            confidence=cell_confidence[cells],
            outcome=outcome[rows],
            group=cell_group[cells],
            question=question[rows],
        )

    def rows(self, key_filter: KeyFilter, when: TimeRange) -> DecisionRows:
        """Return a row for each matching decision made within a range of time."""
        kept_cells = self._matching_groups(key_filter)[as_array(self._cell_group, np.uint32)]
        cell = as_array(self.cell, np.uint32)
        number = np.flatnonzero(kept_cells[cell] & when.contains(as_array(self._time_us, np.int64)))
        confidence = as_array(self._cell_confidence, np.float64)[cell[number]]
        return DecisionRows(number, confidence, as_array(self.outcome, np.uint8)[number])

    def encode(self) -> bytes:
        return pack(
            {
                "index": pack_names(self.index),
                "cell": self.cell.tobytes(),
                "outcome": bytes(self.outcome),
                "time_us": self._time_us.tobytes(),
                "keys": list(self._keys),
                "questions": list(self._questions),
                "asked": self._asked.tobytes(),
                "asked_question": self._asked_question.tobytes(),
            }
        )

    @classmethod
    def decode(cls, state: bytes) -> Self:
        parts = msgspec.msgpack.decode(state, type=_Parts)
        counts = cls()
        counts.index = unpack_names(parts.index)
        counts.cell.frombytes(parts.cell)
        counts.outcome.extend(parts.outcome)
        counts._time_us.frombytes(parts.time_us)
        for key in parts.keys:
            counts._make_cell(key)
        counts._questions = {question: number for number, question in enumerate(parts.questions)}
        counts._asked.frombytes(parts.asked)
        counts._asked_question.frombytes(parts.asked_question)
        numbers = counts._columns().count_numbers(slice(None), OUTCOMES_COUNT)
        counts._counts = np.bincount(numbers, minlength=len(parts.keys) * OUTCOMES_COUNT)
        assert len(counts.index) == len(counts.cell) == len(counts.outcome) == len(counts._time_us)
        return counts


class _Parts(msgspec.Struct):
    index: bytes
    cell: bytes
    outcome: bytes
    time_us: bytes
    keys: list[CellKey]
    questions: list[str]
    asked: bytes
    asked_question: bytes
