"""Read the rows of a CSV or JSON Lines file as texts, each row with the number of its first line."""

import csv
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, TextIO

import msgspec

from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import InvalidQuery

FIELD_CHARS_MAX = 16 * 1024 * 1024
"""The most characters of a CSV field: far more than a line of the ledger holds. The limit stops an unclosed quote."""

PEEK_ROWS = 100
"""Rows of a JSON Lines file that are read to find its columns."""

VALUE_CHARS_MAX = 60
"""Characters of a value that a fault quotes."""

REPORT_LINES = 256
"""Lines of a CSV file between two updates of `read_bytes`."""


class TableFault(msgspec.Struct, frozen=True):
    """A fault of a row: its line and field, the value, and what is allowed."""

    line: int
    field: str
    value: str
    allowed: str


Texts = tuple[str, ...]


class TableRows(ABC):
    """A file of rows, which can be read any number of times."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = path.stat().st_size
        self.read_bytes = 0
        self.columns = self._peek()

    @abstractmethod
    def _peek(self) -> list[str]:
        """Return the names of the columns."""

    @abstractmethod
    def read(self, columns: Sequence[str | None]) -> Iterator[tuple[int, Texts | TableFault]]:
        """Yield the texts of some columns of every row, stripped; empty if a value or column is missing."""

    def stamp(self) -> tuple[int, int]:
        """Return the file's size and modification time."""
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns


def open_rows(path: Path) -> TableRows:
    """Open a file of rows in the format that its suffix names. Errors: InvalidQuery."""
    try:
        os.close(os.open(path, os.O_RDONLY))
        if not path.is_file():
            raise InvalidQuery("FILE", f"{path} is not a file.", "An import reads its file twice: name a regular one.")
        if path.suffix.lower() == ".csv":
            return CsvRows(path)
        if path.suffix.lower() in {".jsonl", ".ndjson"}:
            return JsonRows(path)
    except OSError as error:
        raise InvalidQuery("FILE", f"{path} cannot be read: {error.strerror}.", "Name another.") from None
    raise InvalidQuery("FILE", f"{path} is neither .csv nor .jsonl.", "Rename it with the suffix of its format.")


class CsvRows(TableRows):
    """A CSV file with a header line; UTF-8, with a byte order mark or without."""

    def _peek(self) -> list[str]:
        with self._open() as file:
            try:
                header = next(csv.reader(file), [])
            except (csv.Error, UnicodeDecodeError) as error:
                raise InvalidQuery("FILE", f"{self.path} is not a CSV file in UTF-8: {error}.", "Convert it.") from None
        columns = [name.strip() for name in header]
        if repeated := sorted({name for name in columns if name and columns.count(name) > 1}):
            raise InvalidQuery("FILE", f"{self.path} has the column {repeated[0]!r} twice.", "Rename one of them.")
        return columns

    def read(self, columns: Sequence[str | None]) -> Iterator[tuple[int, Texts | TableFault]]:
        width = len(self.columns)
        # A missing column is read from an empty cell that is appended to each row.
        pick = itemgetter(*(self.columns.index(name) if name is not None else width for name in columns))
        csv.field_size_limit(FIELD_CHARS_MAX)
        with self._open() as file:
            reader = csv.reader(file, strict=True)
            next(reader, None)
            while True:
                line = reader.line_num + 1
                try:
                    row = next(reader, None)
                except (csv.Error, UnicodeDecodeError) as error:
                    yield (
                        line,
                        TableFault(line, "line", str(error), "CSV in UTF-8; the lines after this one cannot be read"),
                    )
                    return
                if row is None:
                    return
                if not row:
                    continue
                if len(row) != width:
                    yield line, TableFault(line, "line", f"{len(row)} cells", f"{width} cells, as in the header")
                    continue
                row.append("")
                if not line % REPORT_LINES:
                    self.read_bytes = file.buffer.tell()
                yield line, tuple(map(str.strip, pick(row)))

    def _open(self) -> TextIO:
        return self.path.open(encoding="utf-8-sig", newline="")


class JsonRows(TableRows):
    """A JSON Lines file: an object on each line, whose values are texts, numbers, true, false or null."""

    def _peek(self) -> list[str]:
        columns: dict[str, None] = {}
        decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
        with self.path.open("rb") as file:
            for _, line in zip(range(PEEK_ROWS), _lines(file), strict=False):
                try:
                    columns.update(dict.fromkeys(decode(line[1])))
                except DECODE_ERRORS:
                    continue
        return list(columns)

    def read(self, columns: Sequence[str | None]) -> Iterator[tuple[int, Texts | TableFault]]:
        decode = msgspec.json.Decoder(dict[str, object]).decode
        with self.path.open("rb") as file:
            for number, line in _lines(file):
                self.read_bytes += len(line)
                try:
                    row = decode(line)
                except DECODE_ERRORS as error:
                    shown = line[:VALUE_CHARS_MAX].decode("utf-8", "replace").strip()
                    yield number, TableFault(number, "line", shown, f"one JSON object ({error})")
                    continue
                yield number, _texts(number, row, columns)


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield every line that is not blank, with its number."""
    for number, line in enumerate(file, 1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield number, text


def _texts(number: int, row: dict[str, object], columns: Sequence[str | None]) -> Texts | TableFault:
    texts = []
    for name in columns:
        value = row.get(name) if name is not None else None
        if isinstance(value, str):
            texts.append(value.strip())
        elif value is None:
            texts.append("")
        elif isinstance(value, bool):
            texts.append("true" if value else "false")
        elif isinstance(value, int | float):
            texts.append(repr(value))
        else:
            return TableFault(
                number, name or "", msgspec.json.encode(value).decode()[:VALUE_CHARS_MAX], "a text or a number"
            )
    return tuple(texts)
