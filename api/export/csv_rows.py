"""Events as CSV (RFC 4180) that a spreadsheet may open: no cell of it is ever a formula.

A spreadsheet takes a cell that begins with one of = + - @ for a formula, and one that expects semicolons finds such
cells inside ours, whatever quotes stand around them. So an apostrophe goes before each such beginning in a cell, behind
any separator too; and a `line` that holds one, where not a byte may change, stands in base64.
"""

import csv
import re
from base64 import b64encode
from io import StringIO

import msgspec

from ledger import Page

COLUMNS = ("position", "time", "recordedtime", "type", "subject", "streamversion", "source", "id", "line")

BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets read UTF-8 as something else."""

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
"""What begins a formula, and the full-width forms that some take for the same."""

_beginning = re.compile(rf"((?:^|[;|\t\r\n])[\s\"']*)(?=[{SIGNS}])")
_inside = re.compile(rf"[;|\t\r\n][\s\"'\\]*[{SIGNS}]")


class CsvRow(msgspec.Struct, gc=False):
    """Of a stored line, what stands in columns of its own."""

    position: int
    time: str
    recordedtime: str
    type: str
    subject: str
    streamversion: int
    source: str
    id: str


decode_row = msgspec.json.Decoder(CsvRow).decode
"""The columns of a stored line."""


class CsvSheet:
    """Pages to rows; the head of the table comes with the first."""

    def __init__(self) -> None:
        self._head = BYTE_ORDER_MARK + _written([COLUMNS])

    def encode(self, page: Page) -> tuple[bytes]:
        head, self._head = self._head, ""
        return ((head + _written([_row(line) for line in page.lines])).encode(),)

    def finish(self) -> tuple[bytes]:
        head, self._head = self._head, ""
        return (head.encode(),)


def harmless(cell: str) -> str:
    """A cell without a beginning that a spreadsheet obeys."""
    safe = _beginning.sub(r"\1'", cell)
    return f"'{safe}" if safe[:1] in {"\t", "\r", "\n"} else safe


def exact(line: bytes) -> str:
    """A line as it is, or in base64 where some spreadsheet could take a part of it for a formula."""
    text = line.decode()
    return b64encode(line).decode() if _inside.search(text) else text


def _row(line: bytes) -> tuple[str, ...]:
    row = decode_row(line)
    cells = (row.time, row.recordedtime, row.type, row.subject, str(row.streamversion), row.source, row.id)
    return (str(row.position), *map(harmless, cells), exact(line))


def _written(rows: list[tuple[str, ...]]) -> str:
    written = StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return written.getvalue()
