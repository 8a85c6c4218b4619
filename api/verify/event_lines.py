"""Read the events file of an export as pages of lines, from NDJSON, CSV or Parquet.

A table is encoded again from its column of lines and compared with the file, so that no other column can differ from
the line.
"""

import csv
import zlib
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator
from tempfile import TemporaryFile
from typing import Protocol

from api.export.csv_rows import CsvEncoder
from api.export.encoders import GZIP_WINDOW
from api.verify.package import BLOCK_BYTES
from events.decode_error_messages import DECODE_ERRORS
from events.limits import LINE_BYTES_MAX
from ledger.errors import UnusableExport
from ledger.log import LogPage
from ledger.verify import Check

RECORD_BYTES_MAX = 4 * LINE_BYTES_MAX
"""The most bytes of a row: its line, which doubled quotes or base64 make longer, and its other columns."""

BATCH_ROWS = 4096
"""Rows of a Parquet file that are read at once."""


class EventFile(Protocol):
    """A file that is read from its beginning."""

    def read(self, size: int = ...) -> bytes:
        """Return the next bytes; no bytes at the end."""
        ...


class ReadStopped(Exception):
    """The rest of a file cannot be read as events. A fault with the reason was added before."""


class GunzipReader:
    """Reads the content of a gzip file that has one member."""

    def __init__(self, source: EventFile, check: Check, name: str) -> None:
        self._source = source
        self._check = check
        self._name = name
        self._zip = zlib.decompressobj(GZIP_WINDOW)

    def read(self, size: int = BLOCK_BYTES) -> bytes:
        """Return the next bytes, at most `size`."""
        try:
            while not self._zip.eof:
                packed = self._zip.unconsumed_tail or self._source.read(BLOCK_BYTES)
                data = self._zip.decompress(packed, size)
                if data:
                    return data
                if not packed:
                    self._check.fault(f"{self._name} is cut off.")
                    return b""
        except zlib.error as error:
            self._check.fault(f"{self._name} is not a valid gzip file: {error}.")
            return b""
        if self._zip.unused_data or self._source.read(1):
            self._check.fault(f"{self._name} has bytes after its end.")
        return b""


def pages_of(name: str, source: EventFile, check: Check) -> Iterator[list[bytes]]:
    """Yield the lines of an events file, a page at a time; add faults to `check`."""
    plain = name.removesuffix(".gz")
    if plain != name:
        source = GunzipReader(source, check, name)
    try:
        if plain.endswith(".ndjson"):
            yield from lines_of(source, b"\n", LINE_BYTES_MAX, name, check)
        elif plain.endswith(".csv"):
            yield from _rows(source, name, check)
        else:
            yield from _batches(source, name, check)
    except ReadStopped:
        return


def lines_of(source: EventFile, end: bytes, bytes_max: int, name: str, check: Check) -> Iterator[list[bytes]]:
    """Yield lines without their line ends."""
    rest = b""
    while block := source.read(BLOCK_BYTES):
        lines = (rest + block).split(end)
        rest = lines.pop()
        if lines:
            yield lines
        if len(rest) > bytes_max:
            check.fault(f"{name} has a line of more than {bytes_max:,} bytes.")
            raise ReadStopped
    if rest:
        check.fault(f"{name} ends in the middle of a line: it was cut off.")
        yield [rest]


def _rows(source: EventFile, name: str, check: Check) -> Iterator[list[bytes]]:
    """Yield the lines of a CSV file; each row must be the encoding of its line."""
    csv.field_size_limit(2 * RECORD_BYTES_MAX)
    sheet, before_header = CsvEncoder(), True
    rows_read = 0
    for records in lines_of(source, b"\r\n", RECORD_BYTES_MAX, name, check):
        try:
            rows = list(csv.reader([record.decode() for record in records], strict=True))
            lines = [_line_of(row[-1]) for row in (rows[1:] if before_header else rows)]
        except (UnicodeDecodeError, csv.Error, IndexError, NotBase64, ValueError) as error:
            check.fault(f"{name} is not a table that an export writes, after row {rows_read:,}: {error}.")
            raise ReadStopped from error
        actual = b"\r\n".join(records) + b"\r\n"
        expected = _encoded(sheet.encode, lines) if lines else sheet.finish()[0]
        if expected is not None and expected != actual:
            expected_rows = expected.split(b"\r\n")
            differing = (
                index
                for index, record in enumerate(records)
                if index >= len(expected_rows) or record != expected_rows[index]
            )
            check.fault(f"row {rows_read + next(differing) + 1:,} of {name} differs from its line.")
        before_header = False
        rows_read += len(records)
        if lines:
            yield lines
    if before_header:
        check.fault(f"{name} has no header row.")


def _line_of(cell: str) -> bytes:
    return cell.encode() if cell[:1] == "{" else b64decode(cell, validate=True)


def _encoded(encode: Callable[[LogPage], tuple[bytes]], lines: list[bytes]) -> bytes | None:
    """Encode lines as an export does; None for lines that are not events, which another check reports."""
    try:
        return encode(LogPage(b"\n".join(lines), range(len(lines)), more=False))[0]
    except DECODE_ERRORS:
        return None


def _batches(source: EventFile, name: str, check: Check) -> Iterator[list[bytes]]:
    """Yield the lines of a Parquet file; each row must be the encoding of its line."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError:
        raise UnusableExport(
            f"{name} is a Parquet file, and pyarrow is not installed.", "pip install 'tallystick[parquet]'"
        ) from None
    from api.export.parquet import SCHEMA, table_of  # noqa: PLC0415 - needs pyarrow

    with TemporaryFile() as file:
        while block := source.read(BLOCK_BYTES):
            file.write(block)
        rows_read = 0
        try:
            with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
                if parquet.schema_arrow != SCHEMA:
                    check.fault(f"{name} does not have the columns that an export writes.")
                    raise ReadStopped
                for batch in parquet.iter_batches(batch_size=BATCH_ROWS):
                    lines = [text.encode() for text in batch.column("line").to_pylist()]
                    if not _equals_lines(pa.Table.from_batches([batch]), table_of, lines):
                        check.fault(f"a row of {name} after row {rows_read:,} differs from its line.")
                    rows_read += len(lines)
                    yield lines
        except (pa.ArrowException, OSError, UnicodeDecodeError, AttributeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            check.fault(f"{name} cannot be read after row {rows_read:,}: {reason}.")
            raise ReadStopped from error


def _equals_lines(actual: object, table_of: Callable[[list[bytes]], object], lines: list[bytes]) -> bool:
    """Whether a table is the encoding of its lines; true if they are not events, which another check reports."""
    try:
        return actual == table_of(lines)
    except DECODE_ERRORS:
        return True
