"""Snapshots of projections, in a file beside the ledger. The file may be deleted at any time.

Each snapshot has a seal: an HMAC-SHA256 over its name, version, position, the root of the log's tree at that position,
and its state. The key is a secret that only the ledger's owner can read (`ledger/view_key.py`). A snapshot is used only
if its seal is right, its version is the version of the code, and the ledger has the same root at its position. Any
other snapshot is ignored, and the events are folded again. A wrong seal is logged once.
"""

import asyncio
import hmac
import logging
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

log = logging.getLogger("tallystick.views")

_CREATE = """
CREATE TABLE snapshots (
  name TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
  root BLOB NOT NULL, seal BLOB NOT NULL, state BLOB NOT NULL,
  PRIMARY KEY (name, version, position)
) STRICT
"""

_PROBE = "SELECT name, version, position, root, seal, state FROM snapshots LIMIT 0"
"""A statement that fails if the table has other columns."""


class Snapshot(NamedTuple):
    """The encoded state of a projection after a position. `root` is that of the log's tree at it."""

    name: str
    version: int
    position: int
    root: bytes
    state: bytes


class Snapshots:
    """The snapshot file of one ledger. An unreadable file is treated as empty.

    Without a `secret` no snapshot is used or saved.
    """

    def __init__(
        self, connection: SqliteConnection | None, path: Path | None = None, secret: bytes | None = None
    ) -> None:
        self._connection = connection
        self._path = path
        self._secret = secret
        self._warned = False

    @classmethod
    async def open(cls, path: Path, *, writable: bool, secret: bytes | None) -> "Snapshots":
        """Open the snapshot file.

        A writer creates a missing file and replaces a damaged one. A reader treats both as empty.
        """
        connection = await _connect(path, writable=writable)
        if connection is None and writable:
            remove_database(path)
            connection = await _connect(path, writable=True)
        return cls(connection, path if writable else None, secret)

    @property
    def writable(self) -> bool:
        """Whether `save` stores anything."""
        return self._connection is not None and self._path is not None and self._secret is not None

    async def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            await self._connection.close()

    async def latest(self, name: str, version: int, upto: int) -> Snapshot | None:
        """Return the newest snapshot with a right seal at or before a position, or None."""
        if self._connection is None or self._secret is None:
            return None
        statement = (
            "SELECT position, root, seal, state FROM snapshots"
            " WHERE name = ? AND version = ? AND position <= ? ORDER BY position DESC LIMIT 1"
        )
        with suppress(sqlite3.Error):
            while rows := list(await self._connection.execute_fetchall(statement, (name, version, upto))):
                position, root, seal, state = rows[0]
                snapshot = Snapshot(name, version, position, root, state)
                if hmac.compare_digest(await asyncio.to_thread(_seal, self._secret, snapshot), seal):
                    return snapshot
                self._warn(snapshot)
                upto = position - 1
        return None

    def _warn(self, snapshot: Snapshot) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "A snapshot of %s at position %s was not written by this ledger's owner, or is damaged: "
                "it was ignored, and the events are folded again.",
                snapshot.name,
                snapshot.position,
            )

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
        if self._connection is None or self._secret is None:
            return
        try:
            await self._connection.run(_save, snapshots, self._secret)
        except sqlite3.Error as error:
            if primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and self._path is not None:
                remove_database(self._path)


def _seal(secret: bytes, snapshot: Snapshot) -> bytes:
    head = f"tallystick snapshot\n{snapshot.name}\n{snapshot.version}\n{snapshot.position}\n".encode()
    digest = hmac.new(secret, head + sha256(snapshot.root).digest(), "sha256")
    digest.update(snapshot.state)
    return digest.digest()


def _save(connection: sqlite3.Connection, snapshots: Iterable[Snapshot], secret: bytes) -> None:
    with connection:
        for snapshot in snapshots:
            row = (*snapshot[:4], _seal(secret, snapshot), snapshot.state)
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
