"""Read the rows of a CSV, JSON Lines or JSON file as texts, each row with the number of its first line."""

import codecs
import csv
import re
import shutil
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TextIO

import msgspec

from api.importers.decisions.table_format import TableFormat, TableKind, detect_format
from events.decode_error_messages import DECODE_ERRORS
from events.errors import MalformedInput
from events.json_check import check_json, half_surrogate_error
from ledger.errors import InvalidQuery
from ledger.regular_file import open_regular

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

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

COLUMNS_MAX = 1_000
"""Columns of a table, or fields of its objects."""

_separators = re.compile(r"[\s_-]+")


class TableRows(ABC):
    """A file of rows, which can be read any number of times. `name` is its name in messages."""

    def __init__(self, path: Path, name: str, format_: TableFormat) -> None:
        self.path = path
        self.name = name
        self.format = format_
        self.size_bytes = path.stat().st_size
        self.read_bytes = 0
        self.columns = self._peek()
        if len(self.columns) > COLUMNS_MAX:
            detail = f"{name} has {len(self.columns):,} columns, more than {COLUMNS_MAX:,}."
            raise InvalidQuery("FILE", detail, "Leave out columns that no decision needs.")

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


@contextmanager
def regular_file(path: str) -> Iterator[Path]:
    """Yield the path of a file; standard input, named `-`, is copied to a temporary file. Errors: InvalidQuery."""
    if path != "-":
        yield Path(path)
        return
    if sys.stdin is None:
        raise InvalidQuery("FILE", "standard input is closed.", "Name a file, or open it.")
    with TemporaryDirectory(prefix="tallystick-") as folder:
        copy = Path(folder) / "input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield copy


def open_rows(path: Path, name: str, known: Collection[str]) -> TableRows:
    """Open a file of rows in the format that it has. `known` are names of columns to expect. Errors: InvalidQuery."""
    try:
        open_regular(path).close()
        format_ = detect_format(path, name, normalize, {normalize(column) for column in known})
        return _readers[format_.kind](path, name, format_)
    except UnicodeError as error:
        encoding = f"{name} begins with a byte order mark, but is not in its encoding: {error}."
        raise InvalidQuery("FILE", encoding, "Convert it to UTF-8.") from None
    except OSError as error:
        raise InvalidQuery("FILE", f"{name} cannot be read: {error.strerror}.", "Name another.") from None


def normalize(column: str) -> str:
    """Return the name of a column without case, spaces, underscores and hyphens."""
    return _separators.sub("", column).casefold()


class CsvRows(TableRows):
    """A CSV file with a header line, in the detected encoding and with the detected delimiter."""

    def _peek(self) -> list[str]:
        with self._open() as file:
            try:
                header = next(self._reader(file), [])
            except csv.Error as error:
                raise InvalidQuery("FILE", f"{self.name} is not a CSV file: {error}.", "Convert it.") from None
        columns = [column.strip() for column in header]
        counts = Counter(filter(None, columns))
        if repeated := min((column for column, count in counts.items() if count > 1), default=None):
            raise InvalidQuery("FILE", f"{self.name} has the column {repeated!r} twice.", "Rename one of them.")
        return columns

    def _reader(self, file: TextIO, *, strict: bool = False) -> "CsvReader":
        """Return a reader that is at the header."""
        reader = csv.reader(file, delimiter=self.format.delimiter or ",", strict=strict)
        if self.format.separator_line:
            next(reader)
        return reader

    def read(self, columns: Sequence[str | None]) -> Iterator[tuple[int, Texts | TableFault]]:
        width = len(self.columns)
        # A missing column is read from an empty cell that is appended to each row.
        pick = itemgetter(*(self.columns.index(name) if name is not None else width for name in columns))
        csv.field_size_limit(FIELD_CHARS_MAX)
        with self._open() as file:
            reader = self._reader(file, strict=True)
            next(reader, None)
            while True:
                line = reader.line_num + 1
                try:
                    row = next(reader, None)
                except (csv.Error, UnicodeDecodeError) as error:
                    yield (
                        line,
                        TableFault(line, "line", str(error), "CSV; the lines after this one cannot be read"),
                    )
                    return
                if row is None:
                    return
                if not any(cell.strip() for cell in row):  # an empty line, or the delimiters of an empty row
                    continue
                if len(row) != width:
                    yield line, TableFault(line, "line", f"{len(row)} cells", f"{width} cells, as in the header")
                    continue
                row.append("")
                if not line % REPORT_LINES:
                    self.read_bytes = file.buffer.tell()
                yield line, tuple(map(str.strip, pick(row)))

    def _open(self) -> TextIO:
        return self.path.open(encoding=self.format.encoding, newline="")


class JsonRows(TableRows):
    """JSON objects, one on each line, whose values are texts, numbers, true, false or null."""

    allowed = "one JSON object"

    def _peek(self) -> list[str]:
        columns: dict[str, None] = {}
        decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
        fault = f"{self.name} is empty."
        for place, (number, item) in enumerate(islice(self._items(), PEEK_ROWS)):
            try:
                columns.update(dict.fromkeys(decode(item)))
            except DECODE_ERRORS as error:
                if not place:
                    cause = half_surrogate_error(item) or error
                    fault = f"{self.name}, {self.format.unit} {number}: {self.allowed} is expected ({cause})."
        if not columns:
            raise InvalidQuery("FILE", fault, f"Write {self.allowed} with the fields of a decision.")
        return list(columns)

    def read(self, columns: Sequence[str | None]) -> Iterator[tuple[int, Texts | TableFault]]:
        decode = msgspec.json.Decoder(dict[str, object]).decode
        for number, item in self._items():
            try:
                row = decode(item)
                check_json(item)
            except (*DECODE_ERRORS, MalformedInput) as error:
                shown = item[:VALUE_CHARS_MAX].decode("utf-8", "replace").strip()
                cause = half_surrogate_error(item) or error
                yield number, TableFault(number, self.format.unit, shown, f"{self.allowed} ({cause})")
                continue
            yield number, _texts(number, row, columns)

    def _items(self) -> Iterator[tuple[int, bytes]]:
        """Yield every line that is not blank, with its number."""
        if self.format.encoding in ("utf-8", "utf-8-sig"):
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    self.read_bytes += len(line)
                    text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                    if text.strip():
                        yield number, text
            return
        with self.path.open(encoding=self.format.encoding, newline="\n") as texts:
            for number, decoded in enumerate(texts, 1):
                self.read_bytes += len(decoded)
                if decoded.strip():
                    yield number, decoded.encode("utf-8", "surrogatepass")


class JsonArrayRows(JsonRows):
    """A JSON array of such objects, numbered from 1."""

    allowed = "a JSON object"

    def _items(self) -> Iterator[tuple[int, bytes]]:
        body = self.path.read_bytes().removeprefix(codecs.BOM_UTF8)
        if self.format.encoding not in ("utf-8", "utf-8-sig"):
            body = body.decode(self.format.encoding).encode("utf-8", "surrogatepass")
        self.read_bytes = self.size_bytes
        try:
            items = msgspec.json.decode(body, type=list[msgspec.Raw])
        except DECODE_ERRORS as error:
            half = half_surrogate_error(body)
            if half is not None:
                detail = f"{self.name}, {self.format.unit} {(half.index or 0) + 1}: {half.detail}"
                raise InvalidQuery("FILE", detail, half.advice) from None
            raise InvalidQuery("FILE", f"{self.name} is not a JSON array: {error}.", "Correct it.") from None
        for number, item in enumerate(items, 1):
            yield number, bytes(item)


_readers: dict[TableKind, type[TableRows]] = {"csv": CsvRows, "json lines": JsonRows, "json array": JsonArrayRows}


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
