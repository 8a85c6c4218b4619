"""Encode pages of events as the bytes of a file: as stored lines, or as tables that contain them; gzipped or not."""

import zlib
from typing import Protocol

from api.export.csv_rows import CsvEncoder
from api.export.manifest import Format
from ledger.log import LogPage

GZIP_LEVEL = 6
GZIP_WINDOW = 16 + zlib.MAX_WBITS
"""zlib's number for the gzip format. Its header has no time and no name, so the same events give the same bytes."""

Parts = tuple[bytes, ...] | list[bytes]
"""Parts of a file in sequence, not joined: copying a page to append a line feed takes a fifth of its hash's time."""


class Encoder(Protocol):
    """Encodes pages as a file, piece by piece. It blocks: call it on a thread."""

    def encode(self, page: LogPage) -> Parts:
        """Return the bytes that a page adds to the file."""
        ...

    def finish(self) -> Parts:
        """Return the bytes that end the file."""
        ...


class NdjsonEncoder:
    """Writes the stored lines, each with a line feed."""

    def encode(self, page: LogPage) -> Parts:
        return page.ndjson, b"\n"

    def finish(self) -> Parts:
        return ()


class GzipEncoder:
    """Compresses the output of another encoder."""

    def __init__(self, inner: Encoder) -> None:
        self._inner = inner
        self._zip = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_WINDOW)

    def encode(self, page: LogPage) -> Parts:
        return [self._zip.compress(part) for part in self._inner.encode(page)]

    def finish(self) -> Parts:
        return [*map(self._zip.compress, self._inner.finish()), self._zip.flush()]


def encoder_of(format_: Format, *, gzipped: bool) -> Encoder:
    """Return the encoder of a format."""
    if format_ == "parquet":
        from api.export.parquet import ParquetEncoder  # noqa: PLC0415 - pyarrow is an extra

        return ParquetEncoder()
    encoder: Encoder = CsvEncoder() if format_ == "csv" else NdjsonEncoder()
    return GzipEncoder(encoder) if gzipped else encoder
