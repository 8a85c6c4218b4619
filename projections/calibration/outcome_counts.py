"""Counts of outcomes by group and stated confidence, and the columns of decisions from which they are counted.

A cell is a group and a stated confidence. A million decisions have a few thousand cells. Brier score, accuracy and gap
are computed exactly from the counts of the cells. A second review subtracts 1 from one count and adds 1 to another. The
state also has one row for each decision, which is needed to count within a range of time, and one for each first review
(`first_reviews.py`).
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.model_names import join_names
from projections.arrays import Ints
from projections.calibration.cells import CellNumbers, CellParts, Cells, KeyFilter
from projections.calibration.count_table import (
    COUNTS_WIDTH,
    Counts,
    CountSelection,
    CountsWithin,
    CountTable,
)
from projections.calibration.counted_columns import CountedColumns
from projections.calibration.counted_decisions import CountedDecisions, DecisionRows
from projections.calibration.first_reviews import FirstReviewParts, FirstReviews, ReviewOrder
from projections.calibration.span_counts import CountSpans
from projections.column_table import ColumnTable, equal_tables
from projections.columns import ModelGroupKey, as_array
from projections.decisions.decision_numbers import DecisionNumbers, require_row
from projections.event_slice import EventSlice
from projections.outcome_codes import OUTCOME_NUMBERS, RETRACTED, UNREVIEWED
from projections.time_range import TimeRange


class _Known(NamedTuple):
    """Decisions that were recorded before a batch: row numbers, ascending, and their cells and outcomes then."""

    number: Ints
    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]


class OutcomeCounts:
    """Counts by cell; a row for each decision; and a row for each first review.

    Columns of `counted`: `cell`; `outcome`, a number of OUTCOMES or RETRACTED; `question`, a number from 1, or 0 if the
    decision has none; `place`, the number of the decision's first review plus 1, or 0 if there is none.
    """

    def __init__(self) -> None:
        self.numbers = DecisionNumbers()
        self.counted = ColumnTable(cell=np.uint32, outcome=np.uint8, question=np.uint32, place=np.uint32)
        self._first = FirstReviews()
        self._cells = CellNumbers()
        self._counts: Counts = np.zeros((0, COUNTS_WIDTH), dtype=np.int64)
        self._counts_lent = False
        self._questions: dict[str, int] = {}
        self._spans = CountSpans()
        self._position = 0
        self.restated: dict[int, int] = {}
        """Amendments of unreviewed decisions in the last batch: row number of the decision by position of the event."""

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.counted)

    def fold(self, events: EventSlice) -> None:
        """Count recorded, amended, reviewed and retracted decisions.

        Two projections may share these counts, so a batch that was already folded is skipped. The loop keeps the cell
        and outcome of each decision that the batch is about; numpy then changes the columns and counts at once.
        """
        if not events or events[-1].position <= self._position:
            return
        self._position = events[-1].position
        self.restated = {}
        rows, row = self.numbers.fold(events), len(self.counted)
        known = self._known(rows)
        cells = dict(zip(known.number.tolist(), known.cell.tolist(), strict=True))
        outcomes = dict(zip(known.number.tolist(), known.outcome.tolist(), strict=True))
        by_key, reviewed, first_outcomes, retracted = self._cells.by_key(), array("q"), bytearray(), array("q")
        asked: dict[int, int] = {}
        for event, decision in zip(events, rows, strict=True):
            data = event.data
            if type(data) is DecisionRecorded:
                model = data.model if data.reported_model is None else join_names(data.model, data.reported_model)
                key: ModelGroupKey = (event.source, data.category, data.stakes, data.project, data.feature, model)
                in_group = by_key.get(key)
                cell = None if in_group is None else in_group.get(data.confidence)
                cells[row] = self._cells.add(key, data.confidence) if cell is None else cell
                outcomes[row] = UNREVIEWED
                row += 1
            elif type(data) is DecisionReviewed:
                outcome = OUTCOME_NUMBERS[data.outcome]
                if outcomes[decision] == UNREVIEWED:
                    reviewed.append(decision)
                    first_outcomes.append(outcome)
                outcomes[decision] = outcome
            elif type(data) is DecisionRetracted:
                outcomes[decision] = RETRACTED
                retracted.append(decision)
            elif type(data) is DecisionAmended and outcomes[decision] == UNREVIEWED:
                self.restated[event.position] = decision
                if data.confidence is not None:
                    cells[decision] = self._cells.restated(cells[decision], data.confidence)
            elif type(data) is DecisionAsked:
                asked[require_row(decision)] = self._questions.setdefault(data.question, len(self._questions) + 1)
        self._change(
            known, np.fromiter(cells.values(), np.uint32, len(cells)), np.frombuffer(bytes(outcomes.values()), np.uint8)
        )
        self._ask(asked)
        self._review(as_array(reviewed, np.int64), as_array(first_outcomes, np.uint8), as_array(retracted, np.int64))

    def _known(self, rows: Sequence[int]) -> "_Known":
        """Return those of some decisions that were recorded before this batch, once each."""
        numbers = np.array(rows, dtype=np.int64)
        numbers = np.unique(numbers[numbers < len(self.counted)])
        return _Known(numbers, self.counted.take("cell", numbers), self.counted.take("outcome", numbers))

    def _change(self, known: "_Known", cell: npt.NDArray[np.uint32], outcome: npt.NDArray[np.uint8]) -> None:
        """Give known decisions, which come first, their new cells and outcomes; add the others; and count."""
        old = len(known.number)
        moved = np.flatnonzero(cell[:old] != known.cell)
        self.counted.put("cell", known.number[moved], cell[moved])
        decided = np.flatnonzero(outcome[:old] != known.outcome)
        self.counted.put("outcome", known.number[decided], outcome[decided])
        self.counted.append(len(cell) - old, {"cell": cell[old:], "outcome": outcome[old:]})
        counts = self._own_counts()
        np.add.at(counts, cell.astype(np.int64) * COUNTS_WIDTH + outcome, 1)
        np.subtract.at(counts, known.cell.astype(np.int64) * COUNTS_WIDTH + known.outcome, 1)

    def _own_counts(self) -> Ints:
        """Return the counts to be changed, with a row for each cell, in one row."""
        cells = len(self._cells)
        if len(self._counts) < cells:
            self._counts = np.concatenate([self._counts, np.zeros((cells, COUNTS_WIDTH), dtype=np.int64)])
        elif self._counts_lent:
            self._counts = self._counts.copy()
        self._counts_lent = False
        return self._counts.reshape(-1)

    def _ask(self, asked: Mapping[int, int]) -> None:
        """Note the numbers of the questions of some decisions."""
        if asked:
            rows, numbers = np.fromiter(asked, np.int64), np.fromiter(asked.values(), np.uint32)
            self.counted.put("question", rows, numbers)

    def _review(self, rows: Ints, outcome: npt.NDArray[np.uint8], retracted: Ints) -> None:
        """Add the first reviews of some decisions, then note which decisions are retracted."""
        recorded, before = self.numbers.table, len(self._first.table)
        places = np.arange(before + 1, before + 1 + len(rows)).astype(np.uint32)
        self.counted.put("place", rows, places)
        cell = self.counted.take("cell", rows)
        self._first.add(cell, outcome, recorded.take("time_us", rows), recorded.take("cluster", rows))
        places = self.counted.take("place", retracted)
        self._first.retract(places[places > 0].astype(np.int64) - 1)

    def equals(self, other: "OutcomeCounts") -> bool:
        """Return whether both count the same decisions alike."""
        if self is other:
            return True
        alike = self.numbers.equals(other.numbers) and equal_tables(self.counted, other.counted)
        return alike and equal_tables(self._first.table, other._first.table)

    def select(self, key_filter: KeyFilter, when: TimeRange) -> CountTable:
        """Return the cells of the groups that match, counted over a range of time."""
        return self.selection(key_filter, when).table()

    def selection(self, key_filter: KeyFilter, when: TimeRange) -> "CountSelection":
        """Return the matching cells as they are now, to be tabled on any thread.

        The counts over all time are stored, so that without a range the cost depends only on the number of cells.
        """
        cells = self._cells.now()
        counts: Counts | CountsWithin
        if when.bounded:
            counts = CountsWithin(self._columns("cell", "outcome"), *when.bounds_us(), len(cells), self._spans)
        else:
            self._counts_lent, counts = True, self._counts[: len(cells)]
        return CountSelection(cells, counts, cells.matching_groups(key_filter), cells.values)

    def cells(self) -> Cells:
        """Return the cells as they are now."""
        return self._cells.now()

    def review_order(self) -> ReviewOrder:
        """Return all decisions in the order of their first review."""
        return self._first.order(self._cells.now().levels, clustered=bool(self.numbers.clusters.texts))

    def _columns(self, *names: str) -> CountedColumns:
        """Return some columns of `counted` as they are now, and the times of decisions."""
        recorded = self.numbers.table.freeze("time_us", "cluster")
        return CountedColumns(recorded, self.counted.freeze(*names), self.numbers.times.now())

    def decisions(self, key_filter: KeyFilter, when: TimeRange) -> CountedDecisions:
        """Return the matching decisions that were made within a range of time, as they are now."""
        columns = self._columns("cell", "outcome", "question")
        texts = list(self._questions), list(self.numbers.clusters.texts)
        return CountedDecisions(self._cells.now(), columns, key_filter, *when.bounds_us(), *texts)

    def rows(self, key_filter: KeyFilter, when: TimeRange) -> DecisionRows:
        """Return a row for each matching decision made within a range of time."""
        return self.decisions(key_filter, when).rows()

    def tables(self) -> dict[str, ColumnTable]:
        """Return the tables by name."""
        return {"recorded": self.numbers.table, "counted": self.counted, "first_reviews": self._first.table}

    def encode(self) -> bytes:
        """Return what is not in the tables."""
        parts = _Parts(
            recorded=self.numbers.encode(),
            cells=self._cells.parts(),
            counts=self._counts[: len(self._cells)].astype("<u4").tobytes(),
            questions=list(self._questions),
            first_reviews=self._first.parts(),
        )
        return msgspec.msgpack.encode(parts)

    @classmethod
    def decode(cls, state: bytes) -> Self:
        """Return what `encode` wrote, with empty tables."""
        parts = msgspec.msgpack.decode(state, type=_Parts)
        new = cls()
        new.numbers = DecisionNumbers.decode(parts.recorded)
        new._cells = CellNumbers.from_parts(parts.cells)
        new._counts = np.frombuffer(parts.counts, "<u4").astype(np.int64).reshape(len(new._cells), COUNTS_WIDTH)
        new._questions = {question: number for number, question in enumerate(parts.questions, 1)}
        new._first = FirstReviews.from_parts(parts.first_reviews)
        return new


class _Parts(msgspec.Struct):
    recorded: bytes
    cells: CellParts
    counts: bytes
    questions: list[str]
    first_reviews: FirstReviewParts
