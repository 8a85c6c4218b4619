"""Snapshots of projections, in a file beside the ledger. The file may be deleted at any time.

A snapshot is used only if its digest matches its bytes, its version is the version of the code, and the ledger has the
same line at its position as when the snapshot was made. Any other snapshot is ignored, and the events are folded again.
"""

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ledger.errors import LedgerUnusable
from ledger.private_file import make_private_file
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema_check import has_schema

SNAPSHOTS_MAX = 6
"""Most snapshots of each projection: a recent one to start from, and older ones for `as_of`."""

_CREATE = """
CREATE TABLE snapshots (
  name TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
  anchor BLOB NOT NULL, digest BLOB NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY (name, version, position)
) STRICT
"""

_PROBE = "SELECT name, version, position, anchor, digest, state FROM snapshots LIMIT 0"
"""A statement that fails if the table has other columns."""


class Snapshot(NamedTuple):
    """The encoded state of a projection after a position. `anchor` is the SHA-256 of the ledger line at it."""

    name: str
    version: int
    position: int
    anchor: bytes
    state: bytes


class Snapshots:
    """The snapshot file of one ledger. An unreadable file is treated as empty."""

    def __init__(self, connection: SqliteConnection | None, path: Path | None = None) -> None:
        self._connection = connection
        self._path = path

    @classmethod
    async def open(cls, path: Path, *, writable: bool) -> "Snapshots":
        """Open the snapshot file.

        A writer creates a missing file and replaces a damaged one. A reader treats both as empty.
        """
        connection = await _connect(path, writable=writable)
        if connection is None and writable:
            remove_database(path)
            connection = await _connect(path, writable=True)
        return cls(connection, path if writable else None)

    @property
    def writable(self) -> bool:
        """Whether `save` stores anything."""
        return self._connection is not None and self._path is not None

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            await self._connection.close()

    async def latest(self, name: str, version: int, upto: int) -> Snapshot | None:
        """Return the newest undamaged snapshot at or before a position, or None."""
        if self._connection is None:
            return None
        statement = (
            "SELECT position, anchor, digest, state FROM snapshots"
            " WHERE name = ? AND version = ? AND position <= ? ORDER BY position DESC LIMIT 1"
        )
        with suppress(sqlite3.Error):
            while rows := list(await self._connection.execute_fetchall(statement, (name, version, upto))):
                position, anchor, digest, state = rows[0]
                if await asyncio.to_thread(_digest, state) == digest:
                    return Snapshot(name, version, position, anchor, state)
                upto = position - 1
        return None

    async def position(self, name: str, version: int, upto: int) -> int:
        """Return the position of the newest snapshot at or before a position, damaged or not; 0 if there is none."""
        statement = "SELECT max(position) FROM snapshots WHERE name = ? AND version = ? AND position <= ?"
        if self._connection is None:
            return 0
        try:
            (row,) = await self._connection.execute_fetchall(statement, (name, version, upto))
        except sqlite3.Error:
            return 0
        return row[0] or 0

    async def save(self, snapshots: Iterable[Snapshot]) -> None:
        """Store all snapshots or none, and delete old ones. After a failure the next start only folds more events.

        The connection's thread iterates over `snapshots`, so that only one of them is in memory at a time. All of them
        would take a third as much memory as the projections.

        Snapshots at later positions are deleted too: they come from a log that continued in another way, for example
        before it was restored from a backup. A damaged file is deleted, so that the next start creates a new one.
        """
        if self._connection is None:
            return
        try:
            await self._connection.run(_save, snapshots)
        except sqlite3.Error as error:
            if primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and self._path is not None:
                remove_database(self._path)


def _digest(state: bytes) -> bytes:
    return sha256(state).digest()


def _save(connection: sqlite3.Connection, snapshots: Iterable[Snapshot]) -> None:
    with connection:
        for snapshot in snapshots:
            row = (*snapshot[:4], _digest(snapshot.state), snapshot.state)
            connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute(
                "DELETE FROM snapshots WHERE name = ?1 AND (version <> ?2 OR position > ?3 OR position NOT IN"
                " (SELECT position FROM snapshots WHERE name = ?1 AND version = ?2 AND position <= ?3"
                " ORDER BY position DESC LIMIT ?4))",
                (snapshot.name, snapshot.version, snapshot.position, SNAPSHOTS_MAX),
            )
            del snapshot, row  # frees the memory before the next one is encoded


async def _connect(path: Path, *, writable: bool) -> SqliteConnection | None:
    """Return a connection to a snapshot file, or None if the file cannot be used."""
    if path.is_symlink() or path.exists() != path.is_file() or not (writable or path.exists()):
        return None  # without a connection, because each starts a thread
    try:
        if writable:
            make_private_file(path)
        uri = f"{path.absolute().as_uri()}?mode=rwc" if writable else read_only_uri(path)
        connection = await connect(uri, uri=True)
    except (sqlite3.Error, OSError, LedgerUnusable):
        return None
    try:
        if not await connection.run(has_schema, path, _CREATE):
            await connection.close()
            return None
        if writable:
            await connection.execute("PRAGMA journal_mode = WAL")
            if not list(await connection.execute_fetchall("SELECT 1 FROM sqlite_schema LIMIT 1")):
                await connection.execute(_CREATE)
                await connection.commit()
        await connection.execute_fetchall(_PROBE)
    except BaseException as error:
        await connection.close()
        if isinstance(error, sqlite3.Error):
            return None
        raise
    return connection


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code, which is the low byte of the extended one; 0 without a code."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def remove_database(path: Path) -> None:
    """Delete a database and the files that SQLite has put beside it, as far as possible."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
