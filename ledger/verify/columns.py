"""The columns of rows beside their lines: each must be what the line says."""

from collections.abc import Callable, Sequence
from datetime import datetime

from ledger.clock import microseconds
from ledger.sqlite.schema import COLUMNS
from ledger.verify.event_order import LineHeaders
from ledger.verify.findings import Check

MINUTES_MAX = 100_000
"""Minutes that are remembered."""

MINUTE_CHARS = 16
"""`2026-11-21T08:30`"""


class TimestampParser:
    """Times of lines as numbers, in UTC microseconds: most events share their minute with others, worked out once."""

    def __init__(self) -> None:
        self._minutes: dict[str, int] = {}

    def of(self, text: str) -> int:
        """The number of a time as lines have it. Errors: ValueError."""
        minute = self._minutes.get(text[:MINUTE_CHARS])
        if minute is None:
            minute = microseconds(datetime.fromisoformat(text[:MINUTE_CHARS] + "Z"))
            if len(self._minutes) >= MINUTES_MAX:
                self._minutes.clear()
            self._minutes[text[:MINUTE_CHARS]] = minute
        return minute + 1_000_000 * int(text[17:19]) + int(text[20:26])


class ColumnCheck:
    """Checks rows of `schema.COLUMNS`."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._instant = TimestampParser().of

    def fault(self, detail: str, place: int) -> None:
        """Something else that is wrong with a row."""
        self._check.fault(detail, place)

    def take(self, rows: Sequence[tuple[object, ...]], found: Sequence[LineHeaders], first: int) -> None:
        """Compare the rows from a position on with what their lines say; not where one of the lines says nothing."""
        if len(rows) != len(found):
            return
        self._check.count += len(rows)
        instant: Callable[[str], int] = self._instant
        try:
            said = [
                (
                    one.position, one.source, one.id, one.subject, one.streamversion, one.type, instant(one.time),
                    instant(one.recordedtime),
                )
                for one in found
            ]  # fmt: skip
        except ValueError:
            said = []
        if [row[:-1] for row in rows] != said:
            for place, row, one in zip(range(first, first + len(rows)), rows, found, strict=True):
                self._compare(row, one, place)

    def _compare(self, row: tuple[object, ...], one: LineHeaders, place: int) -> None:
        for name, held in zip(COLUMNS[:-1], row, strict=False):
            value: object = getattr(one, name)
            if name in ("time", "recordedtime"):
                try:
                    value = self._instant(str(value))
                except ValueError:
                    self._check.fault(f"{name} {value!r} of the line is no time.", place)
                    continue
            if held != value:
                self._check.fault(f"column {name} holds {held!r}; the line says {value!r}.", place)
