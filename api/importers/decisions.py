"""Import decisions: read the file once to check all of it, and once more to append its events."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from api.importers.decision_rows import DecisionDrafts, map_columns, rows_to_drafts
from api.importers.pipeline import AppendTotals, Batch, append_batches, count_lines
from api.importers.tables import TableFault, TableRows, open_rows
from api.progress import OpenProgress, no_progress
from api.service.store import EventStore
from api.text import many, one_line
from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import BATCH_BYTES_MAX
from ledger.errors import InvalidQuery

BATCH_EVENTS = 1000

SHOWN = 20
"""Bad rows that are listed; the others are only counted."""


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

    def add(self, one: DecisionDrafts | TableFault) -> None:
        """Count a row."""
        self.rows += 1
        if isinstance(one, TableFault):
            self.skipped += 1
            if len(self.bad_rows) < SHOWN:
                self.bad_rows.append(one)
            return
        self.decisions += 1
        self.with_confidence += one.row.confidence is not None
        self.reviews += one.row.outcome is not None


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
        self.found = DecisionImportResult(
            file=str(path), unused_columns=[name for name in self._rows.columns if name not in used]
        )
        with progress(f"checking {path.name}", "bytes") as report:
            for one in rows_to_drafts(self._rows, self._columns):
                self.found.add(one)
                if not self.found.rows % 1000:
                    report(self._rows.read_bytes, self._rows.size_bytes)
        if self.found.skipped and not skip_bad:
            raise InvalidEvent(
                f"{many(self.found.skipped, 'row')} of {path} cannot be imported; nothing was written.\n"
                + "\n".join(bad_row_lines(self.found)),
                "Correct the listed rows, or skip them with --skip-bad.",
            )

    async def write(self, store: EventStore) -> DecisionImportResult:
        """Append every event of the file; return the totals. Errors: those of `EventStore.append`, with the line."""
        totals, found = AppendTotals(), self.found
        with self._progress(f"importing {self._rows.path.name}", "rows") as report:
            await append_batches(self._batches(), store, totals, found.file, count_lines(report, found.decisions))
        found.appended, found.duplicates, found.first, found.last = msgspec.structs.astuple(totals)
        found.elapsed_ms = round((time.monotonic() - self._began) * 1000)
        return found

    def _batches(self) -> Iterator[Batch]:
        drafts: list[Draft] = []
        lines: list[int] = []
        size_bytes = 0
        for one in rows_to_drafts(self._rows, self._columns):
            if isinstance(one, TableFault):
                continue
            if len(drafts) + len(one.drafts) > BATCH_EVENTS or size_bytes > BATCH_BYTES_MAX:
                self._check_unchanged()
                yield Batch(drafts, lines)
                drafts, lines, size_bytes = [], [], 0
            drafts.extend(one.drafts)
            lines.extend([one.line] * len(one.drafts))
            # A character is at most six bytes of JSON; the rest of three events is a few hundred bytes.
            size_bytes += 6 * len(one.row.decision) + 2_000 * len(one.drafts)
        self._check_unchanged()
        if drafts:
            yield Batch(drafts, lines)

    def _check_unchanged(self) -> None:
        if self._rows.stamp() != self._stamp:
            raise InvalidQuery("FILE", f"{self._rows.path} changed while it was read.", "Run the import again.")


def bad_row_lines(found: DecisionImportResult) -> Iterator[str]:
    """Yield a line for each bad row: its place, its value, and what is allowed; and how many more there are."""
    for fault in found.bad_rows:
        value = repr(one_line(fault.value)) if fault.value else "missing"
        yield f"  line {fault.line}: {fault.field} is {value}; allowed: {one_line(fault.allowed)}"
    if found.skipped > len(found.bad_rows):
        yield f"  and {found.skipped - len(found.bad_rows):,} more"
