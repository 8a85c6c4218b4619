"""Events as Parquet: a row group for each run of pages, never the whole table in memory."""

from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from api.export.csv_rows import CsvRow, decode_row
from ledger import Page

GROUP_BYTES = 16 << 20
"""Lines of about so many bytes make a row group."""

MOMENT = pa.timestamp("us", tz="UTC")

SCHEMA = pa.schema(
    {
        "position": pa.int64(),
        "time": MOMENT,
        "recordedtime": MOMENT,
        "type": pa.string(),
        "subject": pa.string(),
        "streamversion": pa.int64(),
        "source": pa.string(),
        "id": pa.string(),
        "line": pa.string(),
    }
)


class ParquetEncoder:
    """Pages to row groups."""

    def __init__(self) -> None:
        self._made = BytesIO()
        self._writer = pq.ParquetWriter(self._made, SCHEMA, compression="zstd", use_dictionary=["type", "source"])
        self._lines: list[bytes] = []
        self._size_bytes = 0

    def encode(self, page: Page) -> tuple[bytes]:
        self._lines += page.lines
        self._size_bytes += len(page.ndjson)
        if self._size_bytes >= GROUP_BYTES:
            self._close_group()
        return self._taken()

    def finish(self) -> tuple[bytes]:
        if self._lines:
            self._close_group()
        self._writer.close()
        return self._taken()

    def _close_group(self) -> None:
        self._writer.write_table(table_of(self._lines))
        self._lines, self._size_bytes = [], 0

    def _taken(self) -> tuple[bytes]:
        """What was made since it was last asked."""
        made = self._made.getvalue()
        self._made.seek(0)
        self._made.truncate()
        return (made,)


def table_of(lines: list[bytes]) -> pa.Table:
    """Some lines as the table that is written of them. The times are cast by Arrow, a column at a time."""
    rows = [decode_row(line) for line in lines]
    columns = {name: [getattr(row, name) for row in rows] for name in CsvRow.__struct_fields__}
    columns["line"] = [line.decode() for line in lines]
    arrays = [
        pa.array(columns[field.name], pa.string()).cast(MOMENT)
        if field.type == MOMENT
        else pa.array(columns[field.name], field.type)
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)
