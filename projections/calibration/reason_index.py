"""The reasons projection: the outcomes of decisions by the types of reasons that they state.

The state adds one number per decision to the counts of calibration: the number of its list of reasons. Few different
lists (of types and strengths) occur. A view scans the columns, which takes about ten milliseconds for a million
decisions.
"""

from array import array
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionRecorded, Reason, ReasonType
from events.payload import Payload
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.counted_decisions import DecisionRows
from projections.calibration.outcome_counts import OutcomeCounts
from projections.calibration.reason_stats import (
    REASON_TYPES,
    ReasonCounts,
    ReasonCountStats,
    ReasonsView,
    ReasonTypeStats,
    ratio,
    recommend_from_reasons,
)
from projections.column_table import ColumnTable
from projections.columns import as_array
from projections.event_slice import EventSlice
from projections.outcome_codes import OUTCOME_VALUES, OUTCOMES_COUNT, UNREVIEWED
from projections.projection import Projection
from projections.saved_state import Part, nested, numbered

REVIEWED_MIN = 3
"""Default for the number of reviewed decisions that a recommendation requires."""

NO_REASONS = 0
"""The number of the empty list of reasons."""

ReasonList = tuple[tuple[ReasonType, float | None], ...]
"""The type and strength of each reason of a decision, in order."""

TYPE_SETS_COUNT = 1 << len(REASON_TYPES)
_bit: Mapping[str, int] = {name: number for number, name in enumerate(REASON_TYPES)}
_CONTAINS = np.arange(TYPE_SETS_COUNT) >> np.arange(len(REASON_TYPES))[:, np.newaxis] & 1 == 1
"""Whether a set of types contains a type. Shape: (types, sets)."""

_TYPES_COUNT = _CONTAINS.sum(axis=0)
_VALUES = np.nan_to_num(OUTCOME_VALUES)
"""The value of each outcome; 0 while unreviewed."""


class ReasonIndex(Projection):
    """The reasons of each decision, as stated before its first review, and its outcome."""

    name: ClassVar[str] = "reasons"
    version: ClassVar[int] = 6
    reads: ClassVar[tuple[type[Payload], ...]] = Calibration.reads

    parts: ClassVar[Mapping[str, Part]] = {
        "cells": nested("_cells", OutcomeCounts),
        "sets": numbered("_lists", ReasonList),
    }

    def __init__(self) -> None:
        self._cells = OutcomeCounts()
        self._given = ColumnTable(reasons=np.uint32)
        """The number of each decision's list of reasons."""
        self._lists: dict[ReasonList, int] = {}
        self._list_types = array("B")
        self._list_size = array("I")
        self._reason_list = array("I")
        self._reason_type = array("B")
        self._reason_strength = array("d")
        self._number(())

    def fold(self, events: EventSlice) -> None:
        if not events:
            return
        self._cells.fold(events)
        lists = self._lists
        given: list[int] = []
        amended: dict[int, int] = {}
        for event in events:
            data = event.data
            if type(data) is DecisionRecorded:
                if data.reasons:
                    parts = _parts(data.reasons)
                    number = lists.get(parts)
                    given.append(self._number(parts) if number is None else number)
                else:
                    given.append(NO_REASONS)
            elif type(data) is DecisionAmended and data.reasons is not None:
                row = self._cells.restated.get(event.position)
                if row is not None:
                    amended[row] = self._number(_parts(data.reasons))
        self._given.append(len(given), {"reasons": np.array(given, dtype=np.uint32)})
        if amended:
            self._given.put("reasons", np.fromiter(amended, np.int64), np.fromiter(amended.values(), np.uint32))

    def _number(self, parts: ReasonList) -> int:
        """Return the number of a list of reasons; add it if it is new."""
        number = self._lists.setdefault(parts, len(self._lists))
        if number == len(self._list_size):
            self._list_size.append(len(parts))
            mask = 0
            for name, strength in parts:
                mask |= 1 << _bit[name]
                self._reason_list.append(number)
                self._reason_type.append(_bit[name])
                self._reason_strength.append(float("nan") if strength is None else strength)
            self._list_types.append(mask)
        return number

    def share_with(self, others: Sequence[Projection]) -> None:
        for projection in others:
            if isinstance(projection, Calibration) and self._cells.equals(projection.cells):
                self._cells = projection.cells

    def complete(self) -> None:
        for reason_list in self._lists:
            self._number(reason_list)

    def tables(self) -> Mapping[str, ColumnTable]:
        return {**self._cells.tables(), "given": self._given}

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.view(CalibrationFilter()))  # type: ignore[no-any-return]

    def view(self, filters: CalibrationFilter, min_reviewed: int = REVIEWED_MIN) -> ReasonsView:
        """Compute the statistics of the decisions that pass a filter, by their reasons."""
        rows = self._cells.rows(filters.key_filter(), filters.range, waiting=True)
        lists = self._given.take("reasons", rows.number)
        tally = self._tally(rows, lists)
        types = self._types(tally, lists, min_reviewed)
        counts = [
            ReasonCountStats(types=number, **stats)  # type: ignore[arg-type]
            for number in range(1, len(REASON_TYPES) + 1)
            if (stats := tally.stats_of(number == _TYPES_COUNT))["total"]
        ]
        total = sum(row.total for row in counts)
        mean_types = ratio(sum(row.types * row.total for row in counts), total)
        return ReasonsView(
            total=total,
            reviewed=sum(row.reviewed for row in counts),
            mean_types=mean_types,
            mean_reasons=ratio(as_array(self._list_size, np.uint32)[lists].sum(), total),
            types=types,
            counts=counts,
            recommendations=list(recommend_from_reasons(types, counts, mean_types, min_reviewed)),
        )

    def _tally(self, rows: DecisionRows, lists: npt.NDArray[np.uint32]) -> ReasonCounts:
        stated = ~np.isnan(rows.confidence)
        confidence = np.where(stated, rows.confidence, 0.0)
        error = np.where(stated & (rows.outcome != UNREVIEWED), (confidence - _VALUES[rows.outcome]) ** 2, 0.0)
        types = as_array(self._list_types, np.uint8)[lists].astype(np.intp)
        index = (types * OUTCOMES_COUNT + rows.outcome) * 2 + stated

        def summed(weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
            sums = np.bincount(index, weights=weights, minlength=TYPE_SETS_COUNT * OUTCOMES_COUNT * 2)
            return sums.astype(np.float64).reshape(TYPE_SETS_COUNT, OUTCOMES_COUNT, 2)

        return ReasonCounts(summed(None), summed(confidence), summed(error))

    def _types(self, tally: ReasonCounts, lists: npt.NDArray[np.uint32], min_reviewed: int) -> list[ReasonTypeStats]:
        list_uses = np.bincount(lists, minlength=len(self._lists))
        uses = list_uses[as_array(self._reason_list, np.uint32)].astype(np.float64)
        strength = as_array(self._reason_strength, np.float64)
        kind, stated = as_array(self._reason_type, np.uint8), ~np.isnan(strength)
        counts = np.bincount(kind[stated], uses[stated], len(REASON_TYPES))
        sums = np.bincount(kind[stated], (uses * strength)[stated], len(REASON_TYPES))
        strengths = [int(n) for n in counts]
        means = [ratio(total, count) for total, count in zip(sums, counts, strict=True)]
        types = [
            ReasonTypeStats(type=name, strengths=strengths[bit], mean_strength=means[bit], **stats)  # type: ignore[arg-type]
            for bit, name in enumerate(REASON_TYPES)
            if (stats := tally.stats_of(_CONTAINS[bit]))["total"]
        ]
        return sorted(
            types, key=lambda row: (row.reviewed < min_reviewed, -(row.success_rate or 0.0), -row.total, row.type)
        )


def _parts(reasons: Sequence[Reason]) -> ReasonList:
    return tuple([(reason.type, reason.strength) for reason in reasons])
