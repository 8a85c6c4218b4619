"""Compare the columns of rows with their lines: each column must have the value in the line."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ledger.clock import microseconds
from ledger.sqlite.schema import COLUMNS
from ledger.verify.event_order import LineHeaders
from ledger.verify.findings import Check

MINUTES_MAX = 100_000
"""Minutes that are cached."""

MINUTE_CHARS = 16
"""Length of `2026-11-21T08:30`, which `:00.000000Z` follows."""

SECONDS, MICROSECONDS = slice(17, 19), slice(20, 26)
"""Places of the digits after the minute."""


class TimestampParser:
    """Parses times of lines to UTC microseconds. It caches minutes, because many events are in the same minute."""

    def __init__(self) -> None:
        self._minutes: dict[str, int] = {}

    def of(self, text: str) -> int:
        """Return a time of a line in UTC microseconds. Errors: ValueError."""
        minute = self._minutes.get(text[:MINUTE_CHARS])
        if minute is None:
            minute = microseconds(datetime.fromisoformat(text[:MINUTE_CHARS] + "Z"))
            if len(self._minutes) >= MINUTES_MAX:
                self._minutes.clear()
            self._minutes[text[:MINUTE_CHARS]] = minute
        return minute + 1_000_000 * int(text[SECONDS]) + int(text[MICROSECONDS])


def rows_of(
    lines: Sequence[bytes], headers: Sequence[LineHeaders], instant: Callable[[str], int]
) -> list[tuple[object, ...]]:
    """Return the rows of lines, with the columns `schema.COLUMNS`. Errors: ValueError, OverflowError."""
    return [
        (
            header.position, header.source, header.id, header.subject, header.streamversion, header.type,
            instant(header.time), instant(header.recordedtime), line,
        )
        for header, line in zip(headers, lines, strict=True)
    ]  # fmt: skip


class ColumnCheck:
    """Compares rows, which have the columns `schema.COLUMNS`, with their lines."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._instant = TimestampParser().of

    def fault(self, detail: str, position: int) -> None:
        """Add a fault of a row that `compare` does not check."""
        self._check.fault(detail, position)

    def compare(self, rows: Sequence[tuple[object, ...]], headers: Sequence[LineHeaders], first: int) -> None:
        """Compare rows from a position on with the headers of their lines; do nothing if a line has no header."""
        if len(rows) != len(headers):
            return
        self._check.count += len(rows)
        instant: Callable[[str], int] = self._instant
        try:
            expected = [
                (
                    line.position, line.source, line.id, line.subject, line.streamversion, line.type,
                    instant(line.time), instant(line.recordedtime),
                )
                for line in headers
            ]  # fmt: skip
        except ValueError:
            expected = []
        if [row[:-1] for row in rows] != expected:
            for position, row, line in zip(range(first, first + len(rows)), rows, headers, strict=True):
                self._compare_row(row, line, position)

    def _compare_row(self, row: tuple[object, ...], line: LineHeaders, position: int) -> None:
        for name, stored in zip(COLUMNS[:-1], row, strict=False):
            value: object = getattr(line, name)
            if name in ("time", "recordedtime"):
                try:
                    value = self._instant(str(value))
                except ValueError:
                    self._check.fault(f"{name} {value!r} of the line is not a time.", position)
                    continue
            if stored != value:
                self._check.fault(f"column {name} holds {stored!r}; the line says {value!r}.", position)
