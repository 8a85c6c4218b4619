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

from api.importers.cstp.report import ReportBuilder

MAGIC = b"SQLite format 3\0"
BUSY_S = 2.0
"""Seconds to wait for a store that another process has locked."""

_INTERNAL = ("sqlite_", "decisions_fts")
_PARTS = ("decision_tags", "decision_reasons", "decision_bridge", "decision_deliberation")
_LISTS = ("tolerance", "enforcement", "prevention", "inputs", "steps")
_DAMAGED = (sqlite3.Error, UnicodeDecodeError)
"""Errors of reading a damaged store; the second one if SQLite quotes a name that is not UTF-8."""


class NoDecisions(Exception):
    """A SQLite file without decisions."""


def read_rows(path: Path, notes: ReportBuilder) -> Iterator[dict[str, Any]]:
    """Yield every decision with the field names of CSTP's YAML files; note what cannot be read. Errors: NoDecisions."""
    try:
        with _open_store(path) as connection:
            yield from _Store(connection, path, notes).rows()
    except _DAMAGED as error:
        notes.lose(str(path), "file", str(error), "a SQLite file that can be read", "the rest of the file")


@contextmanager
def _open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a read-only connection, in one transaction so that all reads see the same state.

    A store without a live log is opened as immutable: otherwise SQLite would leave two files beside it.
    """
    live = path.with_name(f"{path.name}-wal").exists() or path.with_name(f"{path.name}-journal").exists()
    mode = "mode=ro" if live else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=BUSY_S)
    # Bytes that are not UTF-8 become lone surrogates, which the conversion of the field finds.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.isolation_level = None
    try:
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


class _Store:
    def __init__(self, connection: sqlite3.Connection, path: Path, notes: ReportBuilder) -> None:
        self._connection = connection
        self._path = path
        self._notes = notes
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        self._tables = {str(name) for (name,) in names}
        if "decisions" not in self._tables or "id" not in self._columns("decisions"):
            raise NoDecisions
        others = (name for name in sorted(self._tables) if name != "decisions" and name not in _PARTS)
        notes.passed_over += [f"{path}: table {name}" for name in others if not name.startswith(_INTERNAL)]

    def rows(self) -> Iterator[dict[str, Any]]:
        parts = {name: self._part(name) for name in _PARTS}
        for row in self._select("decisions"):
            key = row["id"]
            row["tags"] = [one.get("tag") for one in parts["decision_tags"].get(key, ())]
            row["reasons"] = [_without(one, "id") for one in parts["decision_reasons"].get(key, ())]
            for name in ("bridge", "deliberation"):
                for one in parts[f"decision_{name}"].get(key, ()):
                    row[name] = self._lists(one, name, key)
            yield row

    def _columns(self, table: str) -> list[str]:
        return [str(name) for (name,) in self._connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]

    def _select(self, table: str) -> Iterator[dict[str, Any]]:
        cursor = self._connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def _part(self, table: str) -> dict[object, list[dict[str, Any]]]:
        """Return the rows of a table by decision; a damaged table loses no decision."""
        found: dict[object, list[dict[str, Any]]] = {}
        try:
            for row in self._select(table) if table in self._tables else ():
                found.setdefault(row.pop("decision_id", None), []).append(row)
        except _DAMAGED as error:
            allowed = "a table that can be read"
            self._notes.lose(str(self._path), table, str(error), allowed, f"the rest of {table}")
        return found

    def _lists(self, row: dict[str, Any], name: str, key: object) -> dict[str, Any]:
        """Decode the lists of a row, which the store keeps as JSON."""
        fields = {column.removesuffix("_json"): value for column, value in row.items()}
        for column in _LISTS:
            if not isinstance(fields.get(column), str):
                continue
            try:
                fields[column] = msgspec.json.decode(fields[column]) if fields[column] else None
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                shown = fields.pop(column)
                self._notes.lose(str(self._path), f"{name}.{column}", shown, "a list in JSON", of=str(key))
        return fields


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column != name}
