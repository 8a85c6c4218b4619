"""Snapshots of projections, in a file beside the ledger. The file may be deleted at any time.

A snapshot is its contents, which name chunks by the SHA-256 of their bytes: the state without its tables, what views
keep, and the chunks of the tables. A chunk that several snapshots name is stored once, so a new snapshot writes what
changed since the last one. Chunks of tables are read when they are first used.

Each snapshot has a seal: an HMAC-SHA256 over its name, version, position, the root of the log's tree at that position,
and its contents. The key is a secret that only the ledger's owner can read (`ledger/view_key.py`). A snapshot is used
only if its seal is right, its version is the version of the code, and the ledger has the same root at its position. Any
other snapshot is ignored, and the events are folded again. A wrong seal is logged once.
"""

import asyncio
import hmac
import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from ledger.errors import LedgerUnusable, ViewDamaged
from ledger.private_file import make_private_file
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.schema_check import has_schema
from projections.chunk_store import (
    ALL_ZERO,
    CHUNKS_TABLE,
    ChunkReader,
    ChunkSource,
    ChunkTarget,
    SavedTable,
    delete_chunks,
    store_chunks,
)
from projections.projection import Projection

if TYPE_CHECKING:
    from projections.column_table import ColumnTable

NEWEST_SNAPSHOTS = 2
"""Newest snapshots of each projection that are kept. The older one serves if the newer one cannot be used."""

EARLIER_APART = 10
"""Earlier ones are kept for answers as of a position: at least a tenth of the log apart. They share most chunks."""

DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of the errors that a damaged file causes."""

P = TypeVar("P", bound=Projection)

log = logging.getLogger("tallystick.views")

_CREATE = f"""
CREATE TABLE snapshots (
  name TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL,
  root BLOB NOT NULL, seal BLOB NOT NULL, contents BLOB NOT NULL,
  PRIMARY KEY (name, version, position)
) STRICT;
{CHUNKS_TABLE}
"""

_PROBE = "SELECT name, version, position, root, seal, contents, digest, bytes FROM snapshots, chunks LIMIT 0"
"""A statement that fails if the tables have other columns."""


class Contents(msgspec.Struct, frozen=True):
    """What a snapshot holds: the digest of the encoded state, the tables, and digests of what views keep.

    Of `parts` the first is read with the state, and the others when they are used.
    """

    state: bytes
    tables: dict[str, SavedTable]
    parts: list[bytes] = []


class Snapshot(NamedTuple):
    """The state of a projection after a position. `root` is that of the log's tree at it."""

    name: str
    version: int
    position: int
    root: bytes
    contents: bytes
    """The encoded `Contents`."""


class StoredState(NamedTuple):
    """A state that is stored but for its tables, which are frozen, and for what views keep, which is computed later."""

    name: str
    version: int
    state: bytes
    tables: "Mapping[str, ColumnTable]"
    kept: Callable[[ChunkTarget], bytes] | None


class Snapshots:
    """The snapshot file of one ledger. An unreadable file is treated as empty.

    Without a `secret` no snapshot is used or saved.
    """

    def __init__(
        self,
        reader: ChunkReader | None,
        connection: SqliteConnection | None = None,
        path: Path | None = None,
        secret: bytes | None = None,
    ) -> None:
        self._reader = reader
        self._connection = connection
        self._path = path
        self._secret = secret
        self._warned = False

    @classmethod
    async def open(cls, path: Path, *, writable: bool, secret: bytes | None) -> "Snapshots":
        """Open the snapshot file.

        A writer creates a missing file and replaces a damaged one. A reader treats both as empty.
        """
        connection = None
        if writable:
            connection = await _connect(path)
            if connection is None:
                remove_database(path)
                connection = await _connect(path)
            if connection is None:
                return cls(None, secret=secret)
        try:
            reader = await asyncio.to_thread(ChunkReader.open, path, _CREATE, _PROBE, whole=not writable)
        except (sqlite3.Error, OSError, LedgerUnusable):
            reader = None
        except BaseException:
            if connection is not None:
                await connection.close()  # its thread would keep the process alive
            raise
        return cls(reader, connection, path if writable else None, secret)

    @property
    def writable(self) -> bool:
        """Whether `save` stores anything."""
        return self._connection is not None and self._secret is not None

    @property
    def damaged(self) -> bool:
        """Whether a chunk was found to be missing or wrong. States that were restored must not be used any more."""
        return self._reader is not None and self._reader.damaged

    async def discard(self) -> None:
        """Delete every snapshot, or ignore them where the file cannot be written, because one is damaged."""
        if self._connection is None:
            self._secret = None
        else:
            with suppress(sqlite3.Error):
                await self._connection.run(_delete_all)
        if self._reader is not None:
            self._reader.damaged = False

    async def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close()
        if self._connection is not None:
            await self._connection.close()

    async def latest(self, name: str, version: int, upto: int) -> Snapshot | None:
        """Return the newest snapshot with a right seal at or before a position, or None."""
        return await asyncio.to_thread(self._latest, name, version, upto)

    def _latest(self, name: str, version: int, upto: int) -> Snapshot | None:
        if self._reader is None or self._secret is None:
            return None
        statement = (
            "SELECT position, root, seal, contents FROM snapshots"
            " WHERE name = ? AND version = ? AND position <= ? ORDER BY position DESC LIMIT 1"
        )
        with suppress(sqlite3.Error):
            while rows := self._reader.fetch(statement, (name, version, upto)):
                position, root, seal, encoded = rows[0]
                snapshot = Snapshot(name, version, position, root, encoded)
                # a seal covers the digests of the chunks, and not whether the file still has these
                if hmac.compare_digest(_seal(self._secret, snapshot), seal) and self._reader.has_all(
                    _digests(snapshot.contents)
                ):
                    return snapshot
                self._warn(snapshot)
                upto = snapshot.position - 1
        return None

    def restore(self, kind: type[P], snapshot: Snapshot) -> P:
        """Return the state of a snapshot, whose tables are read when they are used. It may raise any error."""
        assert self._reader is not None
        contents = msgspec.msgpack.decode(snapshot.contents, type=Contents)
        state = kind.decode(self._reader.read(contents.state))
        tables = state.tables()
        if tables.keys() != contents.tables.keys():
            raise ValueError("other tables were saved")
        for name, table in tables.items():
            table.restore(contents.tables[name], self._reader)
        if contents.parts:
            kept = self._reader.read(contents.parts[0])
            with suppress(msgspec.DecodeError):  # of another version: it is computed again
                state.take_kept(kept, self._reader)
        return state

    def count_damaged(self, snapshot: Snapshot) -> int:
        """Return how many chunks of a snapshot are missing or wrong. It reads all of them."""
        assert self._reader is not None
        damaged = 0
        for digest in _digests(snapshot.contents):
            try:
                self._reader.read(digest)
            except ViewDamaged:
                damaged += 1
        return damaged

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
        if self._reader is None:
            return 0
        try:
            ((position,),) = await asyncio.to_thread(self._reader.fetch, statement, (name, version, upto))
        except sqlite3.Error:
            return 0
        return position or 0

    async def store_states(self, states: Sequence[Projection]) -> list[StoredState]:
        """Store what states are without their tables, on a thread. They must not be folded meanwhile.

        After a failure nothing is returned.
        """
        assert self._connection is not None
        # now, and not when they are saved: the live tables are folded further by then
        frozen = [{name: table.freeze() for name, table in state.tables().items()} for state in states]
        kept = [state.kept() for state in states]
        try:
            return await self._connection.run(_store_states, states, frozen, kept)
        except sqlite3.Error as error:
            self._delete_damaged(error)
            return []

    async def save(self, position: int, root: bytes, states: Sequence[StoredState]) -> bool:
        """Store the tables of states, and then a snapshot of each, all or none; delete what no snapshot names.

        Return whether that was done. After a failure the next start only folds more events. Snapshots at later
        positions are deleted too: they come from a log that continued in another way, for example before it was
        restored from a backup. A damaged file is deleted, so that the next start creates a new one.
        """
        if self._connection is None or self._secret is None or self._reader is None:
            return False
        try:
            await self._connection.run(_save, self._reader, position, root, states, self._secret)
        except sqlite3.Error as error:
            self._delete_damaged(error)
            return False
        return True

    def _delete_damaged(self, error: sqlite3.Error) -> None:
        """Delete the file if an error says that it is damaged."""
        if primary_code(error) in DAMAGED and self._path is not None:
            remove_database(self._path)


def _store_states(
    connection: sqlite3.Connection,
    states: Sequence[Projection],
    frozen: "Sequence[Mapping[str, ColumnTable]]",
    kept: Sequence[Callable[[ChunkTarget], bytes] | None],
) -> list[StoredState]:
    """Store each state before the next one is encoded, so that only one of them is in memory."""
    stored = []
    for state, tables, keep in zip(states, frozen, kept, strict=True):
        stored.append(StoredState(state.name, state.version, _store_chunk(connection, state.encode()), tables, keep))
    return stored


def _store_chunk(connection: sqlite3.Connection, encoded: bytes) -> bytes:
    """Store a chunk and return its digest."""
    digest = sha256(encoded).digest()
    store_chunks(connection, [(digest, encoded)])
    return digest


def _save(
    connection: sqlite3.Connection,
    source: ChunkSource,
    position: int,
    root: bytes,
    states: Sequence[StoredState],
    secret: bytes,
) -> None:
    snapshots = []
    for state in states:
        for table in state.tables.values():
            store_chunks(connection, table.unsaved(source))
        tables = {name: table.saved() for name, table in state.tables.items()}
        contents = msgspec.msgpack.encode(Contents(state.state, tables, _store_kept(connection, state.kept)))
        snapshots.append(Snapshot(state.name, state.version, position, root, contents))
    # one transaction: no snapshot ever names a chunk that was deleted
    with connection:
        for snapshot in snapshots:
            row = (*snapshot[:4], _seal(secret, snapshot), snapshot.contents)
            connection.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)", row)
            _delete_older(connection, snapshot)
        delete_chunks(connection, _named_chunks(connection))
    for state in states:
        for table in state.tables.values():
            table.note_saved(source)


class _KeptChunks:
    """Stores the chunks of what views keep. `digests` has those of all."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.digests: list[bytes] = []

    def store(self, chunk: bytes) -> bytes:
        digest = _store_chunk(self._connection, chunk)
        self.keep(digest)
        return digest

    def keep(self, digest: bytes) -> None:
        self.digests.append(digest)


def _store_kept(connection: sqlite3.Connection, kept: Callable[[ChunkTarget], bytes] | None) -> list[bytes]:
    """Store what views keep, and return the digests of its chunks."""
    if kept is None:
        return []
    chunks = _KeptChunks(connection)
    return [_store_chunk(connection, kept(chunks)), *chunks.digests]


def _delete_older(connection: sqlite3.Connection, newest: Snapshot) -> None:
    """Delete the snapshots of a projection that are not kept beside its newest one."""
    usable = "SELECT position FROM snapshots WHERE name = ? AND version = ? AND position <= ? ORDER BY position"
    positions = [position for (position,) in connection.execute(usable, newest[:3])]
    kept = [0]
    for position in positions[:-NEWEST_SNAPSHOTS]:
        if position - kept[-1] >= newest.position // EARLIER_APART:
            kept.append(position)
    kept += positions[-NEWEST_SNAPSHOTS:]
    connection.execute(
        "DELETE FROM snapshots WHERE name = ? AND (version <> ? OR position NOT IN (SELECT value FROM json_each(?)))",
        (newest.name, newest.version, msgspec.json.encode(kept).decode()),
    )


def _named_chunks(connection: sqlite3.Connection) -> set[bytes]:
    """Return the digests of the chunks that undamaged snapshots name."""
    named: set[bytes] = set()
    for (contents,) in connection.execute("SELECT contents FROM snapshots"):
        with suppress(msgspec.DecodeError):
            named |= _digests(contents)
    return named


def _digests(contents: bytes) -> set[bytes]:
    """Return the digests of all chunks of a snapshot. Errors: msgspec.DecodeError."""
    named = msgspec.msgpack.decode(contents, type=Contents)
    columns = [digests for table in named.tables.values() for digests in table.columns.values()]
    return {named.state, *named.parts}.union(*columns) - {ALL_ZERO}


def _delete_all(connection: sqlite3.Connection) -> None:
    with connection:
        connection.execute("DELETE FROM snapshots")
        connection.execute("DELETE FROM chunks")


def _seal(secret: bytes, snapshot: Snapshot) -> bytes:
    head = f"tallystick snapshot\n{snapshot.name}\n{snapshot.version}\n{snapshot.position}\n".encode()
    # of a fixed length: otherwise bytes could be moved between root and contents under the same seal
    digest = hmac.new(secret, head + sha256(snapshot.root).digest(), "sha256")
    digest.update(snapshot.contents)
    return digest.digest()


async def _connect(path: Path) -> SqliteConnection | None:
    """Return a connection to write a snapshot file, or None if the file cannot be used."""
    if path.is_symlink() or path.exists() != path.is_file():
        return None  # without a connection, because each starts a thread
    try:
        make_private_file(path)
        connection = await connect(f"{path.absolute().as_uri()}?mode=rwc", uri=True)
    except (sqlite3.Error, OSError, LedgerUnusable):
        return None
    try:
        if not await connection.run(has_schema, path, _CREATE):
            await connection.close()
            return None
        await connection.execute("PRAGMA journal_mode = WAL")
        if not list(await connection.execute_fetchall("SELECT 1 FROM sqlite_schema LIMIT 1")):
            await connection.executescript(_CREATE)
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


def foreign_file(path: Path) -> sqlite3.DatabaseError:
    """Return the error for a file that is not an index, which is then replaced."""
    error = sqlite3.DatabaseError(f"{path} is not an index that Tallystick made")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def remove_database(path: Path) -> None:
    """Delete a database and the files that SQLite has put beside it, as far as possible."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
