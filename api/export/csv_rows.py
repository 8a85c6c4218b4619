"""Write events as CSV (RFC 4180) without cells that a spreadsheet reads as formulas.

A spreadsheet reads a cell that begins with one of = + - @ as a formula. If it expects another separator, for example
semicolons, it also splits our cells, in spite of the quotes. So an apostrophe is put before each such sign, at the
beginning of a cell and after any separator. The bytes of `line` must not change: a line that contains such a sign
after a separator is written in base64.
"""

import csv
import re
from base64 import b64encode
from io import StringIO

import msgspec

from ledger.log import LogPage

COLUMNS = ("position", "time", "recordedtime", "type", "subject", "streamversion", "source", "id", "line")

BYTE_ORDER_MARK = "\ufeff"
"""Without it spreadsheets do not read the file as UTF-8."""

SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
"""The signs that begin a formula, and their full-width forms, which some spreadsheets accept too."""

_beginning = re.compile(rf"((?:^|[;|\t\r\n])[\s\"']*)(?=[{SIGNS}])")
_inside = re.compile(rf"[;|\t\r\n][\s\"'\\]*[{SIGNS}]")


class CsvRow(msgspec.Struct, gc=False):
    """The fields of a stored line that have a column of their own."""

    position: int
    time: str
    recordedtime: str
    type: str
    subject: str
    streamversion: int
    source: str
    id: str


decode_row = msgspec.json.Decoder(CsvRow).decode
"""Decode the columns of a stored line."""


class CsvEncoder:
    """Encodes pages as rows; the header row comes with the first page."""

    def __init__(self) -> None:
        self._header = BYTE_ORDER_MARK + _csv_text([COLUMNS])

    def encode(self, page: LogPage) -> tuple[bytes]:
        head, self._header = self._header, ""
        return ((head + _csv_text([_row(line) for line in page.lines])).encode(),)

    def finish(self) -> tuple[bytes]:
        head, self._header = self._header, ""
        return (head.encode(),)


def escape_cell(cell: str) -> str:
    """Return a cell that no spreadsheet reads as a formula."""
    safe = _beginning.sub(r"\1'", cell)
    return f"'{safe}" if safe[:1] in {"\t", "\r", "\n"} else safe


def line_cell(line: bytes) -> str:
    """Return a line as it is, or in base64 if a spreadsheet could read a part of it as a formula."""
    text = line.decode()
    return b64encode(line).decode() if _inside.search(text) else text


def _row(line: bytes) -> tuple[str, ...]:
    row = decode_row(line)
    cells = (row.time, row.recordedtime, row.type, row.subject, str(row.streamversion), row.source, row.id)
    return (str(row.position), *map(escape_cell, cells), line_cell(line))


def _csv_text(rows: list[tuple[str, ...]]) -> str:
    buffer = StringIO(newline="")
    csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(rows)
    return buffer.getvalue()
