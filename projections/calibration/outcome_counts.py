"""The columns of decisions from which outcomes are counted by group and stated confidence.

A cell is a group and a stated confidence. A million decisions have a few thousand cells. Brier score, accuracy and gap
are computed exactly from the counts of the cells, of the decisions that are due (`maturity.py`). What was counted is
kept until one of its decisions changes or becomes due (`span_counts.py`, `maturity.py`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventFacts
from events.model_names import join_names
from ledger.clock import microseconds
from projections.arrays import Ints
from projections.calibration.calibration_filter import KeyFilter
from projections.calibration.cells import CellNumbers, CellParts, Cells
from projections.calibration.count_table import CountSelection, CountsWithin, CountTable
from projections.calibration.counted_columns import CountedColumns
from projections.calibration.counted_decisions import CountedDecisions, DecisionRows, QuestionKind, read_older
from projections.calibration.kept_clusters import KeptClusters, SavedClusters
from projections.calibration.kept_groups import SavedGroup
from projections.calibration.maturity import DelayCounts, Maturity, delay_columns
from projections.calibration.span_counts import CountSpans, SavedCounts
from projections.chunk_store import ChunkSource, ChunkTarget
from projections.column_table import ColumnTable, equal_tables
from projections.columns import ModelGroupKey, microseconds_column
from projections.decisions.decision_numbers import DecisionNumbers, require_row
from projections.event_slice import EventSlice
from projections.outcome_codes import OUTCOME_NUMBERS, RETRACTED, UNREVIEWED
from projections.saved_state import Part, SavedState, nested, numbered, rebuilt, saved_value
from projections.time_range import TimeRange

_OTHERS = frozenset((DecisionAmended, DecisionAsked, DecisionRetracted))
_NO_CELLS: Mapping[float | None, int] = {}


class _Known(NamedTuple):
    """Decisions that were recorded before a batch: row numbers, ascending, and their cells and outcomes then."""

    number: Ints
    cell: npt.NDArray[np.uint32]
    outcome: npt.NDArray[np.uint8]


class SavedOutcomes(msgspec.Struct, frozen=True, array_like=True):
    """What was counted of full groups of rows: delays, outcomes, and reviews of clusters for kinds of questions."""

    delays: list[SavedGroup]
    spans: SavedCounts
    clusters: list[tuple[QuestionKind, SavedClusters]]


class OutcomeCounts(SavedState):
    """A row for each decision.

    Columns of `counted`: `cell`; `outcome`, a number of OUTCOMES or RETRACTED; `question`, a number from 1, or 0 if the
    decision has none; `due_us`, its `review_by` in microseconds since 1970 UTC, or 0 if it states none; `delay_us`, the
    microseconds from the decision to its first review, at least 1, or 0 if there is none.
    """

    parts: ClassVar[Mapping[str, Part]] = {
        "recorded": nested("numbers", DecisionNumbers),
        "cells": rebuilt("_cells", CellParts, CellNumbers.parts, CellNumbers.from_parts),
        "questions": numbered("_questions", str, first=1),
        "now_us": saved_value("_now_us", int),
    }

    def __init__(self) -> None:
        self.numbers = DecisionNumbers()
        self.counted = ColumnTable(
            cell=np.uint32, outcome=np.uint8, question=np.uint32, due_us=np.int64, delay_us=np.int64
        )
        self._cells = CellNumbers()
        self._now_us = 0
        """The latest time of an event that is counted: what is due later is waiting."""
        self._maturity: Maturity | None = None
        self._questions: dict[str, int] = {}
        self._spans, self._delays = CountSpans(), DelayCounts()
        self._clusters: dict[QuestionKind, KeptClusters] = {}
        self._position = 0
        self.restated: dict[int, int] = {}
        """Amendments of unreviewed decisions in the last batch: row number of the decision by position of the event."""

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.counted)

    def fold(self, events: EventSlice) -> None:
        """Add recorded, amended, reviewed and retracted decisions.

        Two projections may share these columns, so a batch that was already folded is skipped. The loop keeps the cell
        and outcome of each decision that the batch is about; numpy then changes the columns at once.
        """
        if not events or events[-1].position <= self._position:
            return
        self._position = events[-1].position
        self.restated, self._maturity = {}, None
        rows, first = self.numbers.fold(events), len(self.counted)
        known, row = self._known(rows), first
        cells = dict(zip(known.number.tolist(), known.cell.tolist(), strict=True))
        outcomes = dict(zip(known.number.tolist(), known.outcome.tolist(), strict=True))
        outcomes.update(dict.fromkeys(range(row, len(self.numbers)), UNREVIEWED))
        by_key, due_us, asked, reviewed = self._cells.by_key(), dict[int, int](), dict[int, int](), dict[int, int]()
        times: list[str] = []  # of all but the recorded ones
        for event, decision in zip(events, rows, strict=True):
            data = event.data
            if type(data) is DecisionRecorded:
                model = data.model if data.reported_model is None else join_names(data.model, data.reported_model)
                key: ModelGroupKey = (event.source, data.category, data.stakes, data.project, data.feature, model)
                cell = by_key.get(key, _NO_CELLS).get(data.confidence)
                cells[row] = self._cells.add(key, data.confidence) if cell is None else cell
                if data.review_by is not None:
                    due_us[row] = microseconds(data.review_by)
                row += 1
            elif type(data) is DecisionReviewed:
                if outcomes[decision] == UNREVIEWED:
                    reviewed[decision] = len(times)
                times.append(event.time)
                outcomes[decision] = OUTCOME_NUMBERS[data.outcome]
            elif type(data) in _OTHERS:
                times.append(event.time)
                if type(data) is DecisionRetracted:
                    outcomes[decision] = RETRACTED
                elif type(data) is DecisionAsked:
                    asked[require_row(decision)] = self._questions.setdefault(data.question, len(self._questions) + 1)
                else:
                    self._amend(event, decision, outcomes[decision], cells)
        self._change(
            known,
            np.fromiter(cells.values(), np.uint32, len(cells)),
            np.frombuffer(bytes(outcomes.values()), np.uint8),
        )
        self._put("due_us", due_us)
        self._put("question", asked)
        self._time(np.arange(first, row), reviewed, times)

    def _amend(self, event: EventFacts, decision: int, outcome: int, cells: dict[int, int]) -> None:
        """Note an amendment, if the decision is not reviewed."""
        assert isinstance(event.data, DecisionAmended)
        if outcome != UNREVIEWED:
            return
        self.restated[event.position] = decision
        if event.data.confidence is not None:
            cells[decision] = self._cells.restated(cells[decision], event.data.confidence)

    def _known(self, rows: Sequence[int]) -> "_Known":
        """Return those of some decisions that were recorded before this batch, once each."""
        numbers = np.array(rows, dtype=np.int64)
        numbers = np.unique(numbers[numbers < len(self.counted)])
        return _Known(numbers, self.counted.take("cell", numbers), self.counted.take("outcome", numbers))

    def _change(self, known: "_Known", cell: npt.NDArray[np.uint32], outcome: npt.NDArray[np.uint8]) -> None:
        """Give known decisions, which come first, their new cells and outcomes, and add the others."""
        old = len(known.number)
        moved = np.flatnonzero(cell[:old] != known.cell)
        self.counted.put("cell", known.number[moved], cell[moved])
        decided = np.flatnonzero(outcome[:old] != known.outcome)
        self.counted.put("outcome", known.number[decided], outcome[decided])
        self.counted.append(len(cell) - old, {"cell": cell[old:], "outcome": outcome[old:]})

    def _put(self, name: str, values: Mapping[int, int]) -> None:
        """Set a column of some decisions."""
        if values:
            rows = np.fromiter(values, np.int64, len(values))
            self.counted.put(name, rows, np.fromiter(values.values(), np.int64, len(values)))

    def _time(self, new: Ints, reviewed: Mapping[int, int], times: list[str]) -> None:
        """Note how long first reviews took, given their places in the times of events, and the latest time."""
        rows, places = (np.fromiter(each, np.int64, len(reviewed)) for each in (reviewed, reviewed.values()))
        made_us, times_us = self.numbers.table.take("time_us", new), np.frombuffer(microseconds_column(times), np.int64)
        took_us = times_us[places] - self.numbers.table.take("time_us", rows)
        self.counted.put("delay_us", rows, np.maximum(took_us, 1))
        self._now_us = max(self._now_us, int(made_us.max(initial=0)), int(times_us.max(initial=0)))

    def equals(self, other: "OutcomeCounts") -> bool:
        """Return whether both count the same decisions alike."""
        if self is other:
            return True
        return self.numbers.equals(other.numbers) and equal_tables(self.counted, other.counted)

    def select(self, key_filter: KeyFilter, when: TimeRange) -> CountTable:
        """Return the cells of the groups that match, counted over a range of time."""
        return self.selection(key_filter, when).table()

    def selection(self, key_filter: KeyFilter, when: TimeRange) -> "CountSelection":
        """Return the matching cells as they are now, to be tabled on any thread."""
        cells = self._cells.now()
        counts = CountsWithin(self._columns(), *when.bounds_us(), len(cells), self._spans)
        return CountSelection(cells, counts, cells.matching_groups(key_filter), cells.values)

    def saved_counts(self, columns: CountedColumns, kinds: Sequence[QuestionKind], target: ChunkTarget) -> bytes:
        """Return what was counted of full groups of rows of these columns, and of clusters for kinds of questions."""
        delays = self._delays.kept.saved(delay_columns(columns.counted), target)
        clusters = [
            (kind, self._clusters[kind].saved(columns.used, target)) for kind in kinds if kind in self._clusters
        ]
        return msgspec.msgpack.encode(SavedOutcomes(delays, self._spans.saved(columns, target), clusters))

    def restore_counts(self, saved: bytes, source: ChunkSource) -> None:
        """Keep what `saved_counts` returned, where columns have the same values. Errors: msgspec.DecodeError."""
        found, columns = msgspec.msgpack.decode(saved, type=SavedOutcomes), self._columns()
        self._delays.kept.restore(delay_columns(columns.counted), found.delays, source)
        self._spans.restore(columns, found.spans, source)
        for kind, clusters in found.clusters:
            kept = self._clusters[kind] = KeptClusters()
            kept.restore(columns.used, clusters, source, partial(read_older, self._cells.now()))

    def cells(self) -> Cells:
        """Return the cells as they are now."""
        return self._cells.now()

    def _columns(self) -> CountedColumns:
        """Return the columns as they are now, and the times of decisions."""
        recorded, counted = self.numbers.table.freeze("time_us", "cluster"), self.counted.freeze()
        if self._maturity is None:
            self._maturity = Maturity(recorded, counted, self._cells.now(), self._now_us, self._delays)
        return CountedColumns(recorded, counted, self.numbers.times.now(), self._maturity)

    def decisions(self, key_filter: KeyFilter, when: TimeRange) -> CountedDecisions:
        """Return the matching decisions that were made within a range of time, as they are now."""
        texts = list(self._questions), list(self.numbers.clusters.texts)
        return CountedDecisions(
            self._cells.now(), self._columns(), key_filter, *when.bounds_us(), *texts, self._clusters
        )

    def rows(self, key_filter: KeyFilter, when: TimeRange, *, waiting: bool = False) -> DecisionRows:
        """Return a row for each matching decision made within a range of time, as `CountedDecisions.rows` does."""
        return self.decisions(key_filter, when).rows(waiting=waiting)

    def tables(self) -> dict[str, ColumnTable]:
        """Return the tables by name."""
        return {"recorded": self.numbers.table, "counted": self.counted}
