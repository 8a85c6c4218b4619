"""Import decisions: check the whole file, compare it with the ledger, and append what is new.

Nothing is written before all of the file is compared. An interrupted import is continued by another one, because every
id is the same again and rows that the ledger has are found.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import msgspec

from api.importers.batch_append import (
    BATCH_EVENTS,
    STREAMS_MAX,
    AppendTotals,
    Batch,
    append_batches,
    count_lines,
    group_batches,
)
from api.importers.decisions.columns import map_columns, mapped_names
from api.importers.decisions.ledger_match import Matches, has_decisions, match_rows
from api.importers.decisions.report import DecisionImportResult, bad_row_lines
from api.importers.decisions.row_comparison import RowConflict, compare_row, known_decisions, new_decision
from api.importers.decisions.rows import IdentifiedRow, ValueOptions, parse_outcome_map, read_rows
from api.importers.decisions.tables import TableFault, TableRows, open_rows
from api.progress import OpenProgress, ReportProgress, no_progress
from api.service.store import EventStore
from api.text_format import pluralize
from events.envelope import Draft
from events.errors import InvalidEvent
from ledger.errors import InvalidQuery

REPORT_ROWS = 1000
"""Rows between two reports of progress."""

NEW, SAME, CHANGED = range(3)
"""What a row is to the ledger: its decision is new, it adds nothing, or it adds reviews or questions."""


class DecisionImportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a file is read and imported: the options of `import decisions`."""

    mapping: Sequence[str] = ()
    ignored: Sequence[str] = ()
    outcome_map: Sequence[str] = ()
    percent: bool = False
    skip_bad: bool = False
    skip_conflicts: bool = False
    match: bool = False
    dry_run: bool = False
    batch_events: int = BATCH_EVENTS


class DecisionImport:
    """An import of one file: checked when it is made, compared and written by `write`."""

    def __init__(
        self,
        path: Path,
        options: DecisionImportOptions,
        *,
        name: str | None = None,
        progress: OpenProgress = no_progress,
    ) -> None:
        """Check the whole file; nothing is written. `name` is its name in messages.

        Errors: InvalidQuery; InvalidEvent, which lists bad rows.
        """
        self._began = time.monotonic()
        self._progress = progress
        self._options = options
        self._name = str(path) if name is None else name
        self._values = ValueOptions(options.percent, parse_outcome_map(options.outcome_map))
        self._rows: TableRows = open_rows(path, self._name, mapped_names(options.mapping))
        self._stamp = self._rows.stamp()
        self._columns = map_columns(self._rows, options.mapping, options.ignored)
        used = set(self._columns.values())
        self.result = DecisionImportResult(
            file=self._name,
            unused_columns=[column for column in self._rows.columns if column not in used],
            format=self._rows.format,
            columns=self._columns,
            dry_run=options.dry_run,
        )
        self._check()

    def _check(self) -> None:
        result, now = self.result, datetime.now(UTC)
        with self._progress(f"checking {self._name}", "bytes") as report:
            for item in read_rows(self._rows, self._columns, self._values):
                result.add(item, now, percent=self._options.percent)
                if not result.rows % REPORT_ROWS:
                    report(self._rows.read_bytes, self._rows.size_bytes)
        if result.skipped and not self._options.skip_bad:
            raise InvalidEvent(
                f"{pluralize(result.skipped, 'row')} of {self._name} cannot be imported.\n"
                + "\n".join(bad_row_lines(result)),
                "Correct the listed rows, or skip them with --skip-bad.",
            )

    async def write(self, store: EventStore, stop: Callable[[], bool] = lambda: False) -> DecisionImportResult:
        """Append every event that is new; return the totals. If `stop` returns True, end after the current batch.

        If rows contradict the ledger, write nothing, unless conflicts are skipped.
        Errors: InvalidQuery, and those of `EventStore`, with the line.
        """
        result = self.result
        comparison = _Comparison(result, self._options)
        with self._progress("comparing", "rows") as report:
            await self._compare(store, comparison, stop, report)
        result.refused = bool(result.conflicts) and not self._options.skip_conflicts
        result.stopped = stop()
        if not (result.refused or result.stopped or result.dry_run):
            await self._append(store, comparison, stop)
        result.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return result

    async def _compare(
        self, store: EventStore, comparison: "_Comparison", stop: Callable[[], bool], report: ReportProgress
    ) -> None:
        filled = await has_decisions(store)
        if filled and self._options.match:
            comparison.matches = await match_rows(store, self._good_rows())
        rows = self._good_rows()
        while not stop() and (chunk := list(islice(rows, STREAMS_MAX))):
            subjects = comparison.subjects(chunk) if filled else []
            comparison.add(chunk, await store.streams(subjects) if subjects else b"")
            report(len(comparison.kinds), self.result.decisions)
        self._check_unchanged()

    async def _append(self, store: EventStore, comparison: "_Comparison", stop: Callable[[], bool]) -> None:
        totals, result = AppendTotals(), self.result
        with self._progress(f"importing {self._name}", "rows") as report:
            count = count_lines(report, comparison.rows_to_write)
            batches = self._batches(comparison, stop)
            await append_batches(batches, store, totals, result.file, count)
        result.appended = totals.appended
        result.duplicates += totals.duplicates
        result.cover(totals.first, totals.last)
        result.stopped = comparison.stopped
        result.kept = comparison.rows_written + len(comparison.kinds) - comparison.rows_to_write

    def _batches(self, comparison: "_Comparison", stop: Callable[[], bool]) -> Iterator[Batch]:
        drafts = comparison.drafts(self._good_rows())
        for batch in group_batches(drafts, self.result.format.unit, self._options.batch_events):
            self._check_unchanged()
            if stop():
                comparison.stopped = True
                return
            comparison.rows_written += len(set(batch.lines))
            yield batch
        self._check_unchanged()

    def _good_rows(self) -> Iterator[IdentifiedRow]:
        """Yield the rows that can be imported."""
        for item in read_rows(self._rows, self._columns, self._values):
            if not isinstance(item, TableFault):
                yield item

    def _check_unchanged(self) -> None:
        if self._rows.stamp() != self._stamp:
            raise InvalidQuery("FILE", f"{self._name} changed while it was read.", "Run the import again.")


class _Comparison:
    """What each row of a file is to the ledger, and the events to append for rows whose decision the ledger has."""

    def __init__(self, result: DecisionImportResult, options: DecisionImportOptions) -> None:
        self.matches = Matches({}, {})
        self.kinds = bytearray()
        self.rows_to_write = self.rows_written = 0
        self.stopped = False
        self._changed: dict[int, list[Draft]] = {}
        self._ids: set[str | None] = set()
        self._result = result
        self._options = options

    def subjects(self, chunk: Sequence[IdentifiedRow]) -> list[str]:
        """Return the streams of the rows that come next."""
        start = len(self.kinds)
        return [f"decision/{self._decision_id(start + offset, row)}" for offset, row in enumerate(chunk)]

    def add(self, chunk: Sequence[IdentifiedRow], lines: bytes) -> None:
        """Compare the rows that come next with the lines of their streams."""
        known = known_decisions(lines)
        result = self._result
        for row in chunk:
            index = len(self.kinds)
            decision_id = self._decision_id(index, row)
            if row.row.id is not None and row.row.id in self._ids:  # the same row again
                result.unchanged += 1
                result.duplicates += len(new_decision(row))
                self.kinds.append(SAME)
                continue
            self._ids.add(row.row.id)
            if index in self.matches.ambiguous:
                self._refuse([_ambiguous(row, self.matches.ambiguous[index])])
            elif decision_id not in known:
                self._plan_new(row)
            elif known[decision_id].state.retracted is not None:
                result.retracted += 1
                self.kinds.append(SAME)
            else:
                result.matched += decision_id != row.decision_id
                changes = compare_row(row, known[decision_id])
                result.there(changes.positions)
                if changes.reviewed_since:
                    result.warn("reviewed_since", row.line)
                if changes.conflicts:
                    self._note(changes.conflicts)
                drafts = [] if changes.is_other_decision else changes.drafts
                result.unchanged += not drafts and not changes.conflicts
                self._plan(row, drafts)

    def drafts(self, rows: Iterator[IdentifiedRow]) -> Iterator[tuple[int, list[Draft]]]:
        """Yield the events to append of each row that has any, with its line."""
        for index, (kind, row) in enumerate(zip(self.kinds, rows, strict=False)):
            if kind == NEW:
                yield row.line, new_decision(row)
            elif kind == CHANGED:
                yield row.line, self._changed[index]

    def _decision_id(self, index: int, row: IdentifiedRow) -> str:
        return self.matches.found.get(index, row.decision_id)

    def _plan_new(self, row: IdentifiedRow) -> None:
        """Plan a new decision. Its events are made when they are appended, and before only for a dry run."""
        self.kinds.append(NEW)
        self.rows_to_write += 1
        self._result.plan_new(row.row)
        if self._options.dry_run:
            self._result.list_changes(row.line, new_decision(row))

    def _plan(self, row: IdentifiedRow, drafts: list[Draft]) -> None:
        """Plan the events that a row adds to its decision."""
        if drafts:
            self._changed[len(self.kinds)] = drafts
        self.kinds.append(CHANGED if drafts else SAME)
        self.rows_to_write += bool(drafts)
        self._result.plan(drafts)
        if self._options.dry_run:
            self._result.list_changes(row.line, drafts)

    def _refuse(self, conflicts: list[RowConflict]) -> None:
        """Leave a row out."""
        self._note(conflicts)
        self.kinds.append(SAME)

    def _note(self, conflicts: list[RowConflict]) -> None:
        self._result.conflicting += 1
        self._result.conflicts += conflicts


def _ambiguous(row: IdentifiedRow, decision_ids: Sequence[str]) -> RowConflict:
    return RowConflict(
        line=row.line,
        decision_id="",
        field="decision",
        ledger=", ".join(decision_ids),
        file=row.row.decision,
        reason=f"{len(decision_ids)} decisions of the ledger have this agent, decision and time",
    )
