"""Read CSTP's SQLite store without writing anything beside it, also while a server has it open.

Versions of CSTP differ in tables and columns; missing ones have no values.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from api.importers.cstp.report import CstpImportResult
from api.text_format import pluralize
from ledger.sqlite.schema_check import distrust_schema

MAGIC = b"SQLite format 3\0"
BUSY_S = 2.0
"""Seconds to wait for a store that another process has locked."""

_INTERNAL = ("sqlite_", "decisions_fts")
_PART_TABLES = ("decision_tags", "decision_reasons", "decision_bridge", "decision_deliberation")
_JSON_COLUMNS = ("tolerance", "enforcement", "prevention", "inputs", "steps")
_DAMAGED = (sqlite3.Error, UnicodeDecodeError)
"""Errors of reading a damaged store; the second one if SQLite quotes a name that is not UTF-8."""


_VECTOR_TABLES = {"collections", "embeddings", "segments"}
"""Tables of a vector database, which CSTP makes of its decisions."""

_EVIDENCE_COLUMNS = {"seq", "event_type", "evidence_class", "prev_hash"}


class NoDecisions(Exception):
    """A SQLite file without decisions, and without anything else that is lost."""


def read_rows(path: Path, report: CstpImportResult) -> Iterator[dict[str, Any]]:
    """Yield every decision with the field names of CSTP's YAML files. Report tables of other data.

    Errors: NoDecisions.
    """
    try:
        with _open_store(path) as connection:
            yield from _Store(connection, str(path), report).rows()
    except _DAMAGED as error:
        report.add_loss(
            str(path), "file", str(error), "a SQLite file that can be read", left_out="the rest of the file"
        )


@contextmanager
def _open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection, in one transaction so that all reads see the same state.

    A store without a live log is opened as immutable: otherwise SQLite would leave two files beside it.
    """
    live = path.with_name(f"{path.name}-wal").exists() or path.with_name(f"{path.name}-journal").exists()
    mode = "mode=ro" if live else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=BUSY_S)
    # Bytes that are not UTF-8 become lone surrogates, which the conversion of the field reports.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.isolation_level = None
    try:
        distrust_schema(connection)
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


class _Store:
    def __init__(self, connection: sqlite3.Connection, file: str, report: CstpImportResult) -> None:
        self._connection = connection
        self._file = file
        self._report = report
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        self._tables = {str(name) for (name,) in names}
        if "id" in self._columns("decisions"):
            for table in self._other_tables({"decisions", *_PART_TABLES}):
                if not self._lose(table):
                    report.passed_over.append(f"{file}: table {table}")
        else:
            other = [] if self._tables >= _VECTOR_TABLES else self._other_tables(set())
            lost = [table for table in other if self._lose(table)]
            if not lost:
                raise NoDecisions
            self._tables = set()

    def _other_tables(self, known: set[str]) -> list[str]:
        return sorted(name for name in self._tables - known if not name.startswith(_INTERNAL))

    def _columns(self, table: str) -> set[str]:
        return {str(name) for (name,) in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}

    def _lose(self, table: str) -> bool:
        """Report a table that no event can hold, if it has rows; return whether it has."""
        quoted = table.replace('"', '""')
        try:
            (count,) = self._connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()
        except _DAMAGED:
            count = 0
        if count:
            allowed = "a table of decisions or of their parts"
            if self._columns(table) >= _EVIDENCE_COLUMNS:
                allowed += ": it holds a chain of evidence; record its events again with cstp.ingestEvidence"
            self._report.add_loss(self._file, f"table {table}", pluralize(count, "row"), allowed)
        return bool(count)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every decision with its parts."""
        tags, reasons, bridges, deliberations = map(self._rows_by_decision, _PART_TABLES)
        for row in self._select("decisions") if "decisions" in self._tables else ():
            decision_id = row["id"]
            row["tags"] = [tag.get("tag") for tag in tags.get(decision_id, ())]
            row["reasons"] = reasons.get(decision_id, [])
            for reason in row["reasons"]:
                reason.pop("id", None)
            for bridge in bridges.get(decision_id, ()):
                row["bridge"] = self._decode_lists(bridge, "bridge", decision_id)
            for deliberation in deliberations.get(decision_id, ()):
                row["deliberation"] = self._decode_lists(deliberation, "deliberation", decision_id)
            yield row

    def _select(self, table: str) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def _rows_by_decision(self, table: str) -> dict[object, list[dict[str, Any]]]:
        """Return the rows of a table by decision; a damaged table loses no decision."""
        rows: dict[object, list[dict[str, Any]]] = {}
        try:
            for row in self._select(table) if table in self._tables else ():
                rows.setdefault(row.pop("decision_id", None), []).append(row)
        except _DAMAGED as error:
            allowed = "a table that can be read"
            self._report.add_loss(self._file, table, str(error), allowed, left_out=f"the rest of {table}")
        return rows

    def _decode_lists(self, row: dict[str, Any], part: str, decision_id: object) -> dict[str, Any]:
        """Decode the lists of a row, which the store keeps as JSON."""
        fields = {column.removesuffix("_json"): value for column, value in row.items()}
        for column in _JSON_COLUMNS:
            if not isinstance(fields.get(column), str):
                continue
            try:
                fields[column] = msgspec.json.decode(fields[column]) if fields[column] else None
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                text, field = fields.pop(column), f"{part}.{column}"
                self._report.add_loss(self._file, field, text, "a list in JSON", decision_id=str(decision_id))
        return fields
