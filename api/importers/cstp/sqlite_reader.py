"""CSTP's SQLite store, read as a guest: nothing is written beside it, not even where a server has it open.

Versions of CSTP differ in tables and columns; what is there is read, and what is not there says nothing.
"""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from api.importers.cstp.report import ReportBuilder

MAGIC = b"SQLite format 3\0"
BUSY_S = 2.0
"""How long a store that another process has locked is waited for."""

_INTERNAL = ("sqlite_", "decisions_fts")
_PARTS = ("decision_tags", "decision_reasons", "decision_bridge", "decision_deliberation")
_LISTS = ("tolerance", "enforcement", "prevention", "inputs", "steps")
_TORN = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged store raises; the second where SQLite cites a name of its schema that is no UTF-8."""


class NoStore(Exception):
    """A SQLite file that holds no decisions."""


def rows_of(path: Path, notes: ReportBuilder) -> Iterator[dict[str, Any]]:
    """Every decision as a mapping, named as in CSTP's YAML files. Errors: NoStore; what cannot be read is noted."""
    try:
        with _opened(path) as connection:
            yield from _Store(connection, path, notes).rows()
    except _TORN as error:
        notes.lose(str(path), "file", str(error), "a SQLite file that can be read", "the rest of the file")


def _opened(path: Path) -> "_Closing":
    """A connection that writes nothing.

    A store without a live log is opened as one that does not change: else SQLite would leave two files beside it.
    """
    live = path.with_name(f"{path.name}-wal").exists() or path.with_name(f"{path.name}-journal").exists()
    mode = "mode=ro" if live else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, timeout=BUSY_S)
    # What is no UTF-8 comes through as lone surrogates, which the fitting of its field finds.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.isolation_level = None
    return _Closing(connection)


class _Closing:
    """A connection with one state of the store for all that is read, closed at the end."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN")
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class _Store:
    def __init__(self, connection: sqlite3.Connection, path: Path, notes: ReportBuilder) -> None:
        self._connection = connection
        self._path = path
        self._notes = notes
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
        self._tables = {str(name) for (name,) in names}
        if "decisions" not in self._tables or "id" not in self._columns("decisions"):
            raise NoStore
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
        """The rows of a table by their decision, as they stand; one that is torn costs no decision."""
        found: dict[object, list[dict[str, Any]]] = {}
        try:
            for row in self._select(table) if table in self._tables else ():
                found.setdefault(row.pop("decision_id", None), []).append(row)
        except _TORN as error:
            must_be = "a table that can be read"
            self._notes.lose(str(self._path), table, str(error), must_be, f"the rest of {table}")
        return found

    def _lists(self, row: dict[str, Any], name: str, key: object) -> dict[str, Any]:
        """The row of a part with its lists, which the store keeps as JSON."""
        said = {column.removesuffix("_json"): value for column, value in row.items()}
        for column in _LISTS:
            if not isinstance(said.get(column), str):
                continue
            try:
                said[column] = msgspec.json.decode(said[column]) if said[column] else None
            except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
                shown = said.pop(column)
                self._notes.lose(str(self._path), f"{name}.{column}", shown, "a list in JSON", of=str(key))
        return said


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {column: value for column, value in row.items() if column != name}
