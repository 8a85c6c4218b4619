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

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventFacts
from events.model_names import join_names
from projections.calibration.field_values import FieldValues
from projections.calibration.first_reviews import FirstReviews, ReviewOrder
from projections.calibration.reviewed_decisions import DatedDecisions, ReviewedDecisions
from projections.calibration.span_counts import CountColumns, CountSpans
from projections.columns import ModelGroupKey, as_array, microseconds_column, pack, pack_names, unpack_names
from projections.decisions.stated_texts import StatedTexts
from projections.outcome_codes import OUTCOME_NUMBERS, OUTCOMES_COUNT, RETRACTED, UNREVIEWED
from projections.query_check import Check, no_check
from projections.time_range import TimeRange

GROUP_FIELDS_COUNT: Final = 6
"""The number of fields of a `ModelGroupKey`."""

MODEL_FIELD: Final = 5
"""The index of the model's names in a `ModelGroupKey`."""


_NO_VALUE = 2**32 - 1

_COUNTS_WIDTH = OUTCOMES_COUNT + 1
"""The counts of a cell: of each outcome, then of retracted decisions."""

CellKey = tuple[str, str | None, str | None, str | None, str | None, str | None, float | None]
"""The key of a cell: the fields of a `ModelGroupKey`, and the stated confidence or None."""

KeyFilter = tuple[str | None, str | None, str | None, str | None, str | None]
"""Required values of the fields of a `GroupKey`; None matches any value, and every model matches."""

Counts = npt.NDArray[np.int64]
"""Counts of decisions: a row for each cell, a column for each of OUTCOMES."""


class CountTable(msgspec.Struct, frozen=True):
    """Selected cells as arrays of equal length, ascending by confidence with NaN last.

    `group` is an index into `groups`, `confidence` the stated confidence (NaN: none), `counts` are by outcome.
    `retracted` is the number of decisions that match, but were retracted: `counts` leave them out. For each field of a
    group's key, `columns` has the number of its value by group, and `values` the values by number.
    """

    groups: list[ModelGroupKey]
    group: npt.NDArray[np.uint32]
    confidence: npt.NDArray[np.float64]
    counts: Counts
    retracted: int = 0
    columns: Sequence[npt.NDArray[np.uint32]] = ()
    values: "Sequence[FieldValues]" = ()


class CellOrder:
    """The order of cells by confidence, which is kept until there is a new cell."""

    def __init__(self) -> None:
        self._rows = np.zeros(0, dtype=np.intp)

    def rows(self, confidence: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Return the numbers of cells, ascending by confidence with NaN last, given all confidences."""
        rows = self._rows
        if len(rows) != len(confidence):
            rows = self._rows = np.argsort(confidence, kind="stable")
        return rows


class CountSelection(msgspec.Struct, frozen=True):
    """Cells at one moment, and a mask of the groups that match a filter. Later folding does not change them."""

    groups: list[ModelGroupKey]
    group: npt.NDArray[np.uint32]
    confidence: npt.NDArray[np.float64]
    counts: Counts
    columns: Sequence[npt.NDArray[np.uint32]]
    values: "Sequence[FieldValues]"
    matching: npt.NDArray[np.bool_]
    order: CellOrder

    def table(self, check: Check = no_check) -> CountTable:
        """Return the matching cells with decisions. This may take long with many cells; `check` is called meanwhile."""
        rows = self.order.rows(self.confidence)
        check()
        rows = rows[self.matching[self.group[rows]]]
        check()
        retracted = int(self.counts[rows, RETRACTED].sum())
        counts = self.counts[:, :OUTCOMES_COUNT]
        check()
        rows = rows[counts[rows] @ np.ones(OUTCOMES_COUNT, dtype=np.int64) > 0]
        check()
        return CountTable(
            self.groups, self.group[rows], self.confidence[rows], counts[rows], retracted, self.columns, self.values
        )


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
        self._groups: dict[ModelGroupKey, int] = {}
        self._group_keys: list[ModelGroupKey] = []
        self._values = [FieldValues() for _ in range(GROUP_FIELDS_COUNT)]
        self._group_values = [array("I") for _ in range(GROUP_FIELDS_COUNT)]
        self._cell_group = array("I")
        self._cell_confidence = array("d")
        self._counts: Counts = np.zeros(0, dtype=np.int64)
        self._order = CellOrder()
        self._spans = CountSpans()
        self._first = FirstReviews()
        self._questions: dict[str, int] = {}
        self._asked = array("I")
        self._asked_question = array("I")
        self._clusters = StatedTexts()
        self._position = 0
        self.restated: dict[int, int] = {}
        """Amendments of unreviewed decisions in the last batch: row number of the decision by position of the event."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        """Count recorded, amended, reviewed and retracted decisions.

        Two projections may share these counts, so a batch that was already folded is skipped. The loop collects the
        numbers of counts to decrease and to increase, and numpy applies them afterwards, because changing counts one by
        one took a fifth of the fold. Recorded decisions are counted from their column.
        """
        if not events or events[-1].position <= self._position:
            return
        self._position = events[-1].position
        self.restated = {}
        index, keys, cell, outcome = self.index, self._keys, self.cell, self.outcome
        add_cell, add_outcome, width = cell.append, outcome.append, _COUNTS_WIDTH
        first = size = len(cell)
        times: list[str] = []
        clusters: list[str | None] = []
        add_cluster = clusters.append
        decreased, increased, changed = array("q"), array("q"), array("q")
        add_changed = changed.append
        for event in events:
            data = event.data
            if type(data) is DecisionRecorded:
                model = data.model if data.reported_model is None else join_names(data.model, data.reported_model)
                key: CellKey = (
                    event.source, data.category, data.stakes, data.project, data.feature, model, data.confidence,
                )  # fmt: skip
                cell_number = keys.get(key)
                if cell_number is None:
                    cell_number = self._make_cell(key)
                index[event.subject] = size
                add_cluster(data.cluster)
                size += 1
                add_cell(cell_number)
                add_outcome(UNREVIEWED)
                times.append(event.time)
            elif type(data) is DecisionReviewed or type(data) is DecisionRetracted:
                decision = index[event.subject]
                new_outcome = OUTCOME_NUMBERS[data.outcome] if type(data) is DecisionReviewed else RETRACTED
                cell_start = cell[decision] * width
                decreased.append(cell_start + outcome[decision])
                increased.append(cell_start + new_outcome)
                outcome[decision] = new_outcome
                add_changed(decision)
            elif type(data) is DecisionAmended:
                decision = index[event.subject]
                previous_cell = cell[decision]
                self._amend(event.position, decision, data)
                if cell[decision] != previous_cell and decision < first:
                    add_changed(decision)
                    decreased.append(previous_cell * width)
                    increased.append(cell[decision] * width)
            elif type(data) is DecisionAsked:
                self._asked.append(index[event.subject])
                self._asked_question.append(self._questions.setdefault(data.question, len(self._questions)))
        self._time_us.frombytes(microseconds_column(times))
        self._clusters.extend(first, clusters)
        self._count(first, decreased, increased)
        rows, before, after = (as_array(numbers, np.int64) for numbers in (changed, decreased, increased))
        self._spans.invalidate(rows)
        self._first.add(rows, before % _COUNTS_WIDTH, after % _COUNTS_WIDTH)

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
        missing = len(self._keys) * _COUNTS_WIDTH - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing + len(self._counts), dtype=np.int64)])
        np.add.at(self._counts, as_array(self.cell, np.uint32)[first:].astype(np.int64) * _COUNTS_WIDTH, 1)
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
                column.append(values.numbers.setdefault(value, len(values.numbers)))
        self._cell_group.append(group)
        self._cell_confidence.append(float("nan") if confidence is None else confidence)
        return cell_number

    def select(self, key_filter: KeyFilter, when: TimeRange) -> CountTable:
        """Return the cells of the groups that match, counted over a range of time."""
        return self.selection(key_filter, when).table()

    def selection(self, key_filter: KeyFilter, when: TimeRange) -> "CountSelection":
        """Return the matching cells as they are now, to be tabled on any thread.

        The counts over all time are stored, so that without a range the cost depends only on the number of cells.
        """
        return CountSelection(
            groups=self._group_keys,
            group=as_array(self._cell_group, np.uint32).copy(),
            confidence=as_array(self._cell_confidence, np.float64).copy(),
            counts=self._count_within(when).copy(),
            columns=[as_array(column, np.uint32).copy() for column in self._group_values],
            values=self._values,
            matching=self._matching_groups(key_filter),
            order=self._order,
        )

    def review_order(self) -> ReviewOrder:
        """Return all decisions in the order of their first review."""
        return self._first.order(self._columns(), self._clusters, as_array(self._cell_confidence, np.float64).copy())

    def _matching_groups(self, key_filter: KeyFilter) -> npt.NDArray[np.bool_]:
        """Return a mask of the groups that match."""
        keep = np.ones(len(self._group_keys), dtype=bool)
        for value, values, column in zip(key_filter, self._values, self._group_values, strict=False):
            if value is not None:
                keep &= as_array(column, np.uint32) == values.numbers.get(value, _NO_VALUE)
        return keep

    def _count_within(self, when: TimeRange) -> Counts:
        """Return the counts of all cells over a range of time, one row for each cell."""
        size = len(self._keys) * _COUNTS_WIDTH
        if not when.bounded:
            return self._counts[:size].reshape(-1, _COUNTS_WIDTH)
        return self._spans.count(self._columns(), *when.bounds_us(), _COUNTS_WIDTH, size).reshape(-1, _COUNTS_WIDTH)

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
            kept_cells[cell]
            & (outcome != UNREVIEWED)
            & (outcome != RETRACTED)
            & when.contains(as_array(self._time_us, np.int64))
        )
        time_us = as_array(self._time_us, np.int64)[rows]
        if (time_us[1:] < time_us[:-1]).any():
            order = np.argsort(time_us, kind="stable")
            rows, time_us = rows[order], time_us[order]
        cells = cell[rows]
        question = np.full(len(cell), -1, dtype=np.int64)
        question[as_array(self._asked, np.uint32)] = as_array(self._asked_question, np.uint32)
        return ReviewedDecisions(
            groups=[key[:-1] for key in self._group_keys],
            models=[key[-1] for key in self._group_keys],
            questions=list(self._questions),
            clusters=list(self._clusters.texts),
            time_us=time_us,
            confidence=cell_confidence[cells],
            outcome=outcome[rows],
            group=cell_group[cells],
            question=question[rows],
            cluster=self._clusters.column(len(cell))[rows],
        )

    def dated(self, key_filter: KeyFilter, when: TimeRange) -> DatedDecisions:
        """Return the matching decisions with a stated confidence, reviewed or not, made within a range of time."""
        cell_group, cell_confidence = as_array(self._cell_group, np.uint32), as_array(self._cell_confidence, np.float64)
        kept_cells = self._matching_groups(key_filter)[cell_group] & ~np.isnan(cell_confidence)
        cell, outcome = as_array(self.cell, np.uint32), as_array(self.outcome, np.uint8)
        time_us = as_array(self._time_us, np.int64)
        rows = np.flatnonzero(kept_cells[cell] & (outcome != RETRACTED) & when.contains(time_us))
        return DatedDecisions(
            categories=list(self._values[1].numbers),
            cell_category=as_array(self._group_values[1], np.uint32)[cell_group],
            cell_confidence=cell_confidence.copy(),
            cell=cell[rows],
            outcome=outcome[rows],
            time_us=time_us[rows],
        )

    def rows(self, key_filter: KeyFilter, when: TimeRange) -> DecisionRows:
        """Return a row for each matching decision made within a range of time."""
        kept_cells = self._matching_groups(key_filter)[as_array(self._cell_group, np.uint32)]
        cell, outcome = as_array(self.cell, np.uint32), as_array(self.outcome, np.uint8)
        within = when.contains(as_array(self._time_us, np.int64))
        number = np.flatnonzero(kept_cells[cell] & (outcome != RETRACTED) & within)
        confidence = as_array(self._cell_confidence, np.float64)[cell[number]]
        return DecisionRows(number, confidence, outcome[number])

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
                "clusters": self._clusters.parts(),
                "first": self._first.row.tobytes(),
                "first_outcome": bytes(self._first.outcome),
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
        counts._clusters = StatedTexts.from_parts(*parts.clusters)
        counts._first.row.frombytes(parts.first)
        counts._first.outcome.extend(parts.first_outcome)
        numbers = counts._columns().count_numbers(slice(None), _COUNTS_WIDTH)
        counts._counts = np.bincount(numbers, minlength=len(parts.keys) * _COUNTS_WIDTH)
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
    clusters: tuple[bytes, bytes, list[str]]
    first: bytes
    first_outcome: bytes
