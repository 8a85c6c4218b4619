"""Write events as Parquet, a row group for some pages at a time: the whole table is never in memory."""

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from api.export.csv_rows import CsvRow, decode_row
from ledger.log import LogPage

GROUP_BYTES = 16 << 20
"""Approximate bytes of lines in a row group."""

TIMESTAMP = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    {
        "position": pa.int64(),
        "time": TIMESTAMP,
        "recordedtime": TIMESTAMP,
        "type": pa.string(),
        "subject": pa.string(),
        "streamversion": pa.int64(),
        "source": pa.string(),
        "id": pa.string(),
        "line": pa.string(),
    }
)


class ParquetEncoder:
    """Encodes pages as row groups."""

    def __init__(self) -> None:
        self._buffer = BytesIO()
        self._writer = pq.ParquetWriter(self._buffer, SCHEMA, compression="zstd", use_dictionary=["type", "source"])
        self._lines: list[bytes] = []
        self._size_bytes = 0

    def encode(self, page: LogPage) -> tuple[bytes]:
        self._lines += page.lines
        self._size_bytes += len(page.ndjson)
        if self._size_bytes >= GROUP_BYTES:
            self._close_group()
        return self._drain()

    def finish(self) -> tuple[bytes]:
        if self._lines:
            self._close_group()
        self._writer.close()
        return self._drain()

    def _close_group(self) -> None:
        self._writer.write_table(table_of(self._lines))
        self._lines, self._size_bytes = [], 0

    def _drain(self) -> tuple[bytes]:
        """Return the bytes written since the last call."""
        written = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return (written,)


def table_of(lines: list[bytes]) -> pa.Table:
    """Return a table of some lines. Arrow converts the times, a whole column at once."""
    rows = [decode_row(line) for line in lines]
    columns = {name: [getattr(row, name) for row in rows] for name in CsvRow.__struct_fields__}
    columns["line"] = [line.decode() for line in lines]
    arrays = [
        pa.array(columns[field.name], pa.string()).cast(TIMESTAMP)
        if field.type == TIMESTAMP
        else pa.array(columns[field.name], field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
