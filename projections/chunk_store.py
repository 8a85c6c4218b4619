"""The chunks of a snapshot file: bytes, each under its SHA-256."""

import sqlite3
from collections.abc import Iterable, Set
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol, Self

import msgspec

from ledger.errors import ViewDamaged
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema_check import has_schema

CHUNKS_TABLE: Final = "CREATE TABLE chunks (digest BLOB NOT NULL PRIMARY KEY, bytes BLOB NOT NULL) STRICT"

DIGESTS_ASKED: Final = 1_000
"""Digests that one statement looks up."""

COMMITTED_BYTES: Final = 16_000_000
"""Bytes of chunks after which a transaction ends, so that the write-ahead log stays small."""


ALL_ZERO: Final = b""
"""Stands for the digest of a chunk of zeros, which is neither stored nor held in memory."""


class ChunkSource(Protocol):
    """Where saved chunks are read from."""

    def read(self, digest: bytes) -> bytes:
        """Return the bytes with a SHA-256 digest. Errors: ViewDamaged."""
        ...


class ChunkTarget(Protocol):
    """Where chunks are stored."""

    def store(self, chunk: bytes) -> bytes:
        """Store a chunk and return its digest."""
        ...

    def keep(self, digest: bytes) -> None:
        """Keep a chunk that is stored already."""
        ...


class SavedTable(msgspec.Struct, frozen=True):
    """A table by the digests of its chunks: its number of rows, and for each column a digest for each group."""

    rows: int
    columns: dict[str, list[bytes]]


class ChunkReader:
    """A connection that any thread may read with.

    A reader sees one version of the file: that of its first read. The process that writes it sees what it wrote last.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = Lock()
        self.damaged = False
        """Whether a chunk was missing, or had other bytes."""

    @classmethod
    def open(cls, path: Path, create: str, probe: str, *, whole: bool) -> Self:
        """Open a file that has the tables that `create` makes, and no others, and can run the statement `probe`.

        With `whole`, see one version of it. Errors: sqlite3.Error, OSError, LedgerUnusable.
        """
        if path.is_symlink() or not path.is_file():
            raise FileNotFoundError(f"{path} is not a file")
        connection = sqlite3.connect(read_only_uri(path), uri=True, check_same_thread=False, isolation_level=None)
        try:
            if not has_schema(connection, path, create):
                raise sqlite3.DatabaseError(f"{path} has other tables")
            connection.execute(probe).close()
            if whole:
                connection.execute("BEGIN")
        except BaseException:
            connection.close()
            raise
        return cls(connection, path)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def fetch(self, statement: str, parameters: tuple[object, ...] = ()) -> list[Any]:
        """Return the rows of a statement. Errors: sqlite3.Error."""
        with self._lock:
            return self._connection.execute(statement, parameters).fetchall()

    def read(self, digest: bytes) -> bytes:
        """Return the bytes of a chunk. Errors: ViewDamaged."""
        rows: list[Any] = []
        with suppress(sqlite3.Error):
            rows = self.fetch("SELECT bytes FROM chunks WHERE digest = ?", (digest,))
        stored = rows[0][0] if rows else None
        if not isinstance(stored, bytes) or sha256(stored).digest() != digest:
            self.damaged = True
            raise ViewDamaged(
                f"{self._path} is damaged: it lacks a part of a view, or has another one in its place.",
                "Ask again: the views are folded again. If that does not help, delete the file.",
            )
        return stored

    def has_all(self, digests: Set[bytes]) -> bool:
        """Return whether chunks are stored, whatever their bytes. Errors: sqlite3.Error."""
        asked = list(digests)
        for start in range(0, len(asked), DIGESTS_ASKED):
            part = tuple(asked[start : start + DIGESTS_ASKED])
            marks = ", ".join("?" * len(part))
            ((stored,),) = self.fetch(f"SELECT count(*) FROM chunks WHERE digest IN ({marks})", part)
            if stored < len(part):
                return False
        return True


def store_chunks(connection: sqlite3.Connection, chunks: Iterable[tuple[bytes, bytes]]) -> None:
    """Store chunks, with their digests, that are not stored yet, in several transactions. Errors: sqlite3.Error."""
    pending = 0
    for row in chunks:
        connection.execute("INSERT OR IGNORE INTO chunks VALUES (?, ?)", row)
        pending += len(row[1])
        if pending >= COMMITTED_BYTES:
            connection.commit()
            pending = 0
    connection.commit()


def delete_chunks(connection: sqlite3.Connection, kept: Set[bytes]) -> None:
    """Delete the chunks that are not among those to keep. Errors: sqlite3.Error."""
    stored = connection.execute("SELECT digest FROM chunks").fetchall()
    connection.executemany("DELETE FROM chunks WHERE digest = ?", [row for row in stored if row[0] not in kept])
