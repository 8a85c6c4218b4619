"""Import decisions: read the file once to check all of it, and once more to append its events."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from api.importers.batch_append import (
    AppendTotals,
    Batch,
    append_batches,
    count_lines,
    group_batches,
)
from api.importers.decision_rows import DecisionDrafts, map_columns, rows_to_drafts
from api.importers.tables import TableFault, TableRows, open_rows
from api.progress import OpenProgress, no_progress
from api.service.store import EventStore
from api.text_format import one_line, pluralize
from events.envelope import Draft
from events.errors import InvalidEvent
from ledger.errors import InvalidQuery

SHOWN = 20
"""Bad rows that are listed; the others are only counted."""

REPORT_ROWS = 1000
"""Rows between two reports of progress."""


class DecisionImportResult(msgspec.Struct, kw_only=True):
    """The result of an import. `skipped` counts bad rows, of which the first are in `bad_rows`."""

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

    def add(self, result: DecisionDrafts | TableFault) -> None:
        """Count a row."""
        self.rows += 1
        if isinstance(result, TableFault):
            self.skipped += 1
            if len(self.bad_rows) < SHOWN:
                self.bad_rows.append(result)
            return
        self.decisions += 1
        self.with_confidence += result.row.confidence is not None
        self.reviews += result.row.outcome is not None


class DecisionImport:
    """An import of one file: checked when it is made, written by `write`."""

    def __init__(
        self, path: Path, mapping: Sequence[str], *, skip_bad: bool, progress: OpenProgress = no_progress
    ) -> None:
        """Check the whole file. Errors: InvalidQuery, and InvalidEvent, which lists bad rows; nothing is written."""
        self._began = time.monotonic()
        self._progress = progress
        self._rows: TableRows = open_rows(path)
        self._stamp = self._rows.stamp()
        self._columns = map_columns(self._rows, mapping)
        used = set(self._columns.values())
        self._result = DecisionImportResult(
            file=str(path), unused_columns=[name for name in self._rows.columns if name not in used]
        )
        with progress(f"checking {path.name}", "bytes") as report:
            for result in rows_to_drafts(self._rows, self._columns):
                self._result.add(result)
                if not self._result.rows % REPORT_ROWS:
                    report(self._rows.read_bytes, self._rows.size_bytes)
        if self._result.skipped and not skip_bad:
            raise InvalidEvent(
                f"{pluralize(self._result.skipped, 'row')} of {path} cannot be imported; nothing was written.\n"
                + "\n".join(bad_row_lines(self._result)),
                "Correct the listed rows, or skip them with --skip-bad.",
            )

    async def write(self, store: EventStore) -> DecisionImportResult:
        """Append every event of the file; return the totals. Errors: those of `EventStore.append`, with the line."""
        totals, result = AppendTotals(), self._result
        with self._progress(f"importing {self._rows.path.name}", "rows") as report:
            await append_batches(self._batches(), store, totals, result.file, count_lines(report, result.decisions))
        result.appended, result.duplicates, result.first, result.last = msgspec.structs.astuple(totals)
        result.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return result

    def _batches(self) -> Iterator[Batch]:
        for batch in group_batches(self._drafts(), "line"):
            self._check_unchanged()
            yield batch

    def _drafts(self) -> Iterator[tuple[int, list[Draft]]]:
        """Yield the events of each row that can be imported, with its line."""
        for result in rows_to_drafts(self._rows, self._columns):
            if isinstance(result, DecisionDrafts):
                yield result.line, result.drafts
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if self._rows.stamp() != self._stamp:
            raise InvalidQuery("FILE", f"{self._rows.path} changed while it was read.", "Run the import again.")


def bad_row_lines(result: DecisionImportResult) -> Iterator[str]:
    """Yield a line for each bad row: its place, its value, and what is allowed; and how many more there are."""
    for fault in result.bad_rows:
        value = repr(one_line(fault.value)) if fault.value else "missing"
        yield f"  line {fault.line}: {fault.field} is {value}; allowed: {one_line(fault.allowed)}"
    if result.skipped > len(result.bad_rows):
        yield f"  and {result.skipped - len(result.bad_rows):,} more"
