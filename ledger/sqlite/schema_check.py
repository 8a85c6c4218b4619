"""Compare the schema of a SQLite file with the known one, before anything else is read from the file.

A file from elsewhere may have a view in the place of a table, or triggers and default values that run functions: a view
can be endless. So a connection trusts no schema (`trusted_schema = OFF`), and no statement names a table before its
definition was compared. The comparison itself reads only SQLite's own table, under a limit.
"""

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ledger.errors import LedgerUnusable
from ledger.sqlite.schema import APPLICATION_ID, CREATE, SCHEMA_VERSION

GUARD_STEPS = 100_000
"""Instructions of SQLite's virtual machine between two calls of the guard."""

GUARD_CALLS_MAX = 1_000
"""Calls of the guard after which a statement that reads a schema is stopped: a second or two."""

ADVICE = "Another program altered the file. Restore a backup: tallystick restore."


class SchemaObject(NamedTuple):
    """A table, index, trigger or view, and the table to which it belongs; names in lower case, SQL without spaces."""

    kind: str
    name: str
    table: str
    sql: str


def distrust_schema(connection: sqlite3.Connection) -> None:
    """Let the schema of a file call no function that has side effects."""
    connection.execute("PRAGMA trusted_schema = OFF")


def check_identity(connection: sqlite3.Connection, path: Path) -> None:
    """Check that a file says that it is a ledger of this version. Errors: LedgerUnusable."""
    try:
        distrust_schema(connection)
        ((application,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{path} is not a ledger: {error}.", "Name another file with --ledger.") from error
    if application != APPLICATION_ID:
        raise LedgerUnusable(f"{path} is not a ledger.", "Name another file with --ledger.")
    if version > SCHEMA_VERSION:
        raise LedgerUnusable(f"{path} was written by a newer Tallystick.", "Upgrade this one.")
    if version < SCHEMA_VERSION:
        detail = f"{path} was written by a Tallystick before version 0.1.0."
        raise LedgerUnusable(detail, "Open it once with version 0.1.0, for writing: tallystick serve.")


def check_ledger(connection: sqlite3.Connection, path: Path, *, writing: bool = False) -> None:
    """Check that a file is a ledger with a ledger's tables.

    With `writing`, no trigger may run on an insert except those of a ledger. What is missing or differs otherwise is
    reported by `verify`. Errors: LedgerUnusable.
    """
    check_identity(connection, path)
    stored = read_schema(connection, path)
    if (fault := find_foreign_table(stored)) is not None:
        raise LedgerUnusable(f"{path}: {fault}.", ADVICE)
    if writing:
        known = known_objects()
        foreign = [item.name for item in stored if item.kind == "trigger" and item not in known]
        if foreign:
            raise LedgerUnusable(f"{path}: the trigger {foreign[0]} is not that of a ledger.", ADVICE)


def find_foreign_table(stored: frozenset[SchemaObject]) -> str | None:
    """Return which table of a ledger is missing or is something else, in words; None if all are as they must be."""
    for known in sorted(known_objects()):
        if known.kind == "table" and known not in stored:
            found = next((item.kind for item in stored if item.name == known.name), None)
            if found is None:
                return f"the table {known.name} is missing"
            return (
                f"{known.name} is a {found}" if found != "table" else f"the table {known.name} is not that of a ledger"
            )
    return None


def read_schema(connection: sqlite3.Connection, path: Path) -> frozenset[SchemaObject]:
    """Return every object of a file's schema. Errors: LedgerUnusable."""
    calls = 0

    def guard() -> int:
        nonlocal calls
        calls += 1
        return calls > GUARD_CALLS_MAX

    connection.set_progress_handler(guard, GUARD_STEPS)
    try:
        rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{path} is not a ledger: {error}.", "Name another file with --ledger.") from error
    finally:
        connection.set_progress_handler(None, 0)
    return frozenset(
        SchemaObject(str(kind), str(name).lower(), str(table).lower(), " ".join(str(sql or "").split()))
        for kind, name, table, sql in rows
    )


def has_schema(connection: sqlite3.Connection, path: Path, create: str) -> bool:
    """Return whether a file has exactly the schema that `create` makes, or is empty."""
    distrust_schema(connection)
    try:
        stored = read_schema(connection, path)
    except LedgerUnusable:
        return False
    return not stored or stored == objects_of(create)


def known_objects() -> frozenset[SchemaObject]:
    """Return the schema of a new ledger."""
    return objects_of(CREATE)


@cache
def objects_of(create: str) -> frozenset[SchemaObject]:
    """Return the objects that some statements make."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(create)
        return read_schema(fresh, Path(":memory:"))
