"""Pages of events to the bytes of a file: lines as they are stored, or tables that carry them; gzipped or not."""

import zlib
from typing import Protocol

from api.export.csv_rows import CsvSheet
from api.export.manifest import Format
from ledger import Page

GZIP_LEVEL = 6
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""zlib's number for the gzip format. Its header has no time and no name: the same events are the same bytes."""

Parts = tuple[bytes, ...] | list[bytes]
"""Bytes that follow one another. They are not joined: a copy of each page to end it by a line feed costs as much as a
fifth of its hash."""


class Encoder(Protocol):
    """Something that makes a file of pages, piece by piece. It blocks: call it on a thread."""

    def encode(self, page: Page) -> Parts:
        """What a page adds to the file."""
        ...

    def finish(self) -> Parts:
        """What ends the file."""
        ...


class NdjsonEncoder:
    """The stored lines, each ended by a line feed."""

    def encode(self, page: Page) -> Parts:
        return page.ndjson, b"\n"

    def finish(self) -> Parts:
        return ()


class Gzip:
    """What another encoder makes, gzipped."""

    def __init__(self, inner: Encoder) -> None:
        self._inner = inner
        self._zip = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)

    def encode(self, page: Page) -> Parts:
        return [self._zip.compress(part) for part in self._inner.encode(page)]

    def finish(self) -> Parts:
        return [*map(self._zip.compress, self._inner.finish()), self._zip.flush()]


def encoder_of(format_: Format, *, gzipped: bool) -> Encoder:
    """The encoder of a format."""
    if format_ == "parquet":
        from api.export.parquet import ParquetEncoder  # noqa: PLC0415 - pyarrow is an extra

        return ParquetEncoder()
    encoder: Encoder = CsvSheet() if format_ == "csv" else NdjsonEncoder()
    return Gzip(encoder) if gzipped else encoder
