"""The result of an import of decisions: counts, warnings, conflicts, and what a dry run would write."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

import msgspec

from api.importers.decisions.row_comparison import RowConflict
from api.importers.decisions.rows import DecisionRow, IdentifiedRow
from api.importers.decisions.table_format import TableFormat
from api.importers.decisions.tables import TableFault
from api.text_format import one_line
from events.decision import DecisionAsked, DecisionRecordedV1, DecisionReviewed
from events.envelope import Draft

SHOWN = 20
"""Bad rows, conflicts and changes that are listed for people; the others are only counted."""

WarningKind = Literal["time_in_future", "review_before_decision", "confidence_below_1_percent", "reviewed_since"]

WARNINGS: dict[WarningKind, str] = {
    "time_in_future": "times in the future",
    "review_before_decision": "reviews before the time of their decision",
    "confidence_below_1_percent": "confidences below 1%; --percent reads 0.85 as 0.85%",
    "reviewed_since": "outcomes that were imported before and that other reviews replaced, which were kept",
}
"""What each kind of warning is about."""


class RowWarning(msgspec.Struct, kw_only=True):
    """Rows that were imported and may be wrong: how many, and the line of the first."""

    kind: WarningKind
    count: int
    line: int


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a dry run would write: the line of its row, its decision, and the new value."""

    line: int
    decision_id: str
    change: Literal["decision", "question", "review"]
    value: str


class DecisionImportResult(msgspec.Struct, kw_only=True):
    """The result of an import.

    `decisions`, `reviews` and `with_confidence` count rows; `new_decisions`, `new_reviews` and `new_questions` count
    events that are new, and `unchanged` the rows that add nothing. `skipped` counts bad rows, of which the first are in
    `bad_rows`, and `conflicting` rows that contradict the ledger. `refused` says that nothing was written because of
    them. `changes` is the list of a dry run.
    """

    file: str
    rows: int = 0
    decisions: int = 0
    reviews: int = 0
    with_confidence: int = 0
    skipped: int = 0
    bad_rows: list[TableFault] = []
    unused_columns: list[str] = []
    appended: int = 0
    duplicates: int = 0
    first: int | None = None
    last: int | None = None
    elapsed_ms: int = 0
    format: TableFormat
    columns: dict[str, str] = {}
    new_decisions: int = 0
    new_reviews: int = 0
    new_questions: int = 0
    unchanged: int = 0
    matched: int = 0
    retracted: int = 0
    conflicting: int = 0
    conflicts: list[RowConflict] = []
    warnings: list[RowWarning] = []
    dry_run: bool = False
    refused: bool = False
    stopped: bool = False
    kept: int = 0
    changes: list[PlannedChange] = []

    @property
    def usable(self) -> bool:
        """Whether some row can be imported, or the file has no rows."""
        return self.decisions > 0 or self.skipped == 0

    def add(self, result: IdentifiedRow | TableFault, now: datetime, *, percent: bool) -> None:
        """Count a row of the file."""
        self.rows += 1
        if isinstance(result, TableFault):
            self.skipped += 1
            if len(self.bad_rows) < SHOWN:
                self.bad_rows.append(result)
            return
        row = result.row
        self.decisions += 1
        self.with_confidence += row.confidence is not None
        self.reviews += row.outcome is not None
        self._check_times(result.line, row, now)
        if percent and row.confidence is not None and 0 < row.confidence < 0.01:
            self.warn("confidence_below_1_percent", result.line)

    def _check_times(self, line: int, row: DecisionRow, now: datetime) -> None:
        review_time = row.review_time if row.outcome is not None else None
        if any(time is not None and time > now for time in (row.time, review_time)):
            self.warn("time_in_future", line)
        if row.time is not None and review_time is not None and review_time < row.time:
            self.warn("review_before_decision", line)

    def warn(self, kind: WarningKind, line: int) -> None:
        """Count a row that may be wrong."""
        for warning in self.warnings:
            if warning.kind == kind:
                warning.count += 1
                return
        self.warnings.append(RowWarning(kind=kind, count=1, line=line))

    def plan_new(self, row: DecisionRow) -> None:
        """Count the events of a new decision."""
        self.new_decisions += 1
        self.new_questions += row.question is not None
        self.new_reviews += row.outcome is not None

    def plan(self, drafts: list[Draft]) -> None:
        """Count the events that a row adds to its decision."""
        self.new_questions += sum(isinstance(draft.data, DecisionAsked) for draft in drafts)
        self.new_reviews += sum(isinstance(draft.data, DecisionReviewed) for draft in drafts)

    def list_changes(self, line: int, drafts: list[Draft]) -> None:
        """List events that would be written."""
        self.changes += [_change(line, draft) for draft in drafts]

    def there(self, positions: list[int]) -> None:
        """Count events of a row that the ledger has."""
        self.duplicates += len(positions)
        self.cover(min(positions), max(positions))

    def cover(self, first: int | None, last: int | None) -> None:
        """Extend the range of positions."""
        self.first = min((position for position in (self.first, first) if position is not None), default=None)
        self.last = max((position for position in (self.last, last) if position is not None), default=None)


def _change(line: int, draft: Draft) -> PlannedChange:
    data = draft.data
    if isinstance(data, DecisionRecordedV1):
        return PlannedChange(line=line, decision_id=data.decision_id or "", change="decision", value=data.decision)
    if isinstance(data, DecisionAsked):
        return PlannedChange(line=line, decision_id=data.decision_id, change="question", value=data.question)
    assert isinstance(data, DecisionReviewed)
    return PlannedChange(line=line, decision_id=data.decision_id, change="review", value=data.outcome)


def bad_row_lines(result: DecisionImportResult) -> Iterator[str]:
    """Yield a line for each bad row: its place, its value, and what is allowed; and how many more there are."""
    for fault in result.bad_rows:
        value = repr(one_line(fault.value)) if fault.value else "missing"
        yield f"  {result.format.unit} {fault.line}: {fault.field} is {value}; allowed: {one_line(fault.allowed)}"
    if result.skipped > len(result.bad_rows):
        yield f"  and {result.skipped - len(result.bad_rows):,} more"
