"""The calibration projection: are agents as good as the confidence that they state?"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

import msgspec

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.payload import Payload
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.count_table import CountSelection, CountTable
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.outcome_counts import OutcomeCounts
from projections.calibration.reviewed_decisions import DatedDecisions, ReviewedDecisions
from projections.calibration.words import MIN_DECISIONS
from projections.chunk_store import ChunkSource, ChunkTarget
from projections.column_table import ColumnTable
from projections.decisions.decision_index import DecisionIndex
from projections.event_slice import EventSlice
from projections.projection import Projection
from projections.query_check import no_check

if TYPE_CHECKING:
    from projections.calibration.plot_data import SelectedReviews
    from projections.calibration.words import GroupBy
    from tallystick.shapes.calibration import CalibrationView


class Calibration(Projection):
    """Counts of outcomes by group and stated confidence: the last one that was stated before the first review."""

    name: ClassVar[str] = "calibration"
    version: ClassVar[int] = 8
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DecisionRecorded, DecisionAmended, DecisionAsked, DecisionReviewed, DecisionRetracted,
    )  # fmt: skip

    def __init__(self, cells: OutcomeCounts | None = None) -> None:
        self._cells = cells if cells is not None else OutcomeCounts()

    def fold(self, events: EventSlice) -> None:
        self._cells.fold(events)

    def share_with(self, others: Sequence[Projection]) -> None:
        for projection in others:
            if isinstance(projection, DecisionIndex) and self._cells.numbers.equals(projection.numbers):
                self._cells.numbers = projection.numbers

    @property
    def cells(self) -> OutcomeCounts:
        """The counts, which another projection of the same decisions may share."""
        return self._cells

    def kept(self) -> Callable[[ChunkTarget], bytes] | None:
        from projections.calibration.cell_groups import alike_cells
        from projections.calibration.view_evidence import ROW_GROUPINGS, find_evidence

        if not self._cells.counted.full_groups:
            return None
        everything = CalibrationFilter()
        selection, decisions = self.selection(everything), self.decisions(everything)

        def count(target: ChunkTarget) -> bytes:
            selection.counts.count(no_check)
            find_evidence(selection, decisions, "confidence_bucket", no_check)
            fields = [alike_cells(selection.cells, grouping).fields for grouping in ROW_GROUPINGS]
            return self._cells.saved_counts(decisions.columns, [(decisions.key_filter, one) for one in fields], target)

        return count

    def take_kept(self, kept: bytes, source: ChunkSource) -> None:
        self._cells.restore_counts(kept, source)

    def encode(self) -> bytes:
        return self._cells.encode()

    @classmethod
    def decode(cls, state: bytes) -> Self:
        return cls(OutcomeCounts.decode(state))

    def tables(self) -> Mapping[str, ColumnTable]:
        return self._cells.tables()

    def summary(self) -> Mapping[str, object]:
        return msgspec.to_builtins(self.view(CalibrationFilter()))  # type: ignore[no-any-return]

    def decisions(self, filters: CalibrationFilter) -> CountedDecisions:
        """Return the decisions that pass a filter as they are now, to be read on any thread."""
        return self._cells.decisions(filters.key_filter(), filters.range)

    def history(self, filters: CalibrationFilter) -> ReviewedDecisions:
        """Return the reviewed decisions with a confidence that pass a filter, in the order in which they were made."""
        return self.decisions(filters).history()

    def dated(self, filters: CalibrationFilter) -> DatedDecisions:
        """Return the decisions with a confidence that pass a filter, reviewed or not."""
        return self.decisions(filters).dated()

    def drawn(self, filters: CalibrationFilter, selection: CountSelection) -> "SelectedReviews":
        """Return the decisions of a selection that drawings show."""
        from projections.calibration.plot_data import SelectedReviews

        return SelectedReviews(selection, self.decisions(filters))

    def table(self, filters: CalibrationFilter) -> CountTable:
        """Return the cells of the decisions that pass a filter. Later folding does not change them."""
        return self.selection(filters).table()

    def selection(self, filters: CalibrationFilter) -> CountSelection:
        """Return the cells of the decisions that pass a filter, to be tabled on any thread."""
        return self._cells.selection(filters.key_filter(), filters.range)

    def view(
        self,
        filters: CalibrationFilter,
        group_by: "GroupBy" = "confidence_bucket",
        min_decisions: int = MIN_DECISIONS,
        *,
        curves: bool = False,
    ) -> "CalibrationView":
        """Compute the scores of the decisions that pass a filter: overall, by group and by bucket."""
        from projections.calibration.calibration_view import build_calibration_view
        from projections.calibration.cell_groups import fields_of
        from projections.calibration.view_evidence import find_evidence

        selection = self.selection(filters)
        evidence = find_evidence(selection, self.decisions(filters), group_by, no_check)
        table = selection.table_by(fields_of(group_by))
        return build_calibration_view(table, group_by, min_decisions, curves=curves, evidence=evidence)
