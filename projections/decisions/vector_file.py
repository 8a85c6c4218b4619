"""Vectors by their keys, in memory, and in a SQLite file beside the ledger that may be deleted at any time.

Each row of the file has an HMAC-SHA256 of model, key and vector. The rows of the model are checked and read when the
file is opened, and a wrong one is removed, so nothing is lost when a process is killed between two batches. If the file
cannot be written, vectors are only in memory. Several processes may use one file, because a key means the same vector
in each.

All methods block, and one thread at a time calls them.
"""

import hmac
import logging
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ledger.errors import LedgerUnusable
from ledger.private_file import make_private_file
from ledger.sqlite.schema_check import has_schema
from projections.arrays import Floats
from projections.snapshots import DAMAGED, foreign_file, primary_code, remove_database

log = logging.getLogger("tallystick.vectors")

LABEL = b"tallystick vector\n"
BUSY_S = 10.0
DISTANCE_UNIT = 1e-9
NUMBER_BYTES = 4

_CHUNK_ROWS = 1_024
"""Vectors that are compared at once, as 64-bit floats."""

_CREATE = """
CREATE TABLE vectors (
  id INTEGER PRIMARY KEY, model TEXT NOT NULL, key BLOB NOT NULL, vector BLOB NOT NULL, mac BLOB NOT NULL,
  UNIQUE (model, key)
) STRICT
"""
_MARK_VERSION = "PRAGMA user_version = 1"
_PUT = """
INSERT INTO vectors (model, key, vector, mac) VALUES (?, ?, ?, ?)
ON CONFLICT (model, key) DO UPDATE SET vector = excluded.vector, mac = excluded.mac
"""


class VectorFile:
    """The vectors of one model. Without `secret` they are only in memory."""

    def __init__(self, path: Path, model: str, secret: bytes | None) -> None:
        self._path = path
        self._model = model
        self._secret = secret
        self._connection: sqlite3.Connection | None = None
        self.ids: dict[bytes, int] = {}
        """The number of each key whose vector is right, from 0."""
        self.size = 0
        """Numbers of a vector; 0 while there is none."""
        self._joined: dict[int, bytearray] = defaultdict(bytearray)
        """The vectors of each size, as 32-bit floats."""
        self._numbers: dict[int, list[int]] = defaultdict(list)
        """The number of the key of each of them."""

    def open(self) -> None:
        """Open the file, and check its rows; replace a file that is damaged or is something else."""
        if self._secret is None:
            return
        try:
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if primary_code(error) not in DAMAGED:
                    raise
                log.warning("%s was not made by Tallystick, or is damaged: it was replaced.", self._path)
                self.close()
                remove_database(self._path)
                self._open()
        except (sqlite3.Error, OSError, LedgerUnusable):
            self.close()

    def _open(self) -> None:
        if self._path.is_symlink() or self._path.exists() != self._path.is_file():
            raise foreign_file(self._path)
        make_private_file(self._path)
        connection = sqlite3.connect(self._path, timeout=BUSY_S, check_same_thread=False)
        self._connection = connection
        if not has_schema(connection, self._path, _CREATE):
            raise foreign_file(self._path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not list(connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1")):
            connection.execute(_CREATE)
            connection.execute(_MARK_VERSION)
        self._read(connection)

    def _read(self, connection: sqlite3.Connection) -> None:
        """Read the rows of the model, and remove those that this ledger's owner did not write."""
        self.ids.clear()
        self._joined.clear()
        self._numbers.clear()
        wrong: list[tuple[int]] = []
        rows = connection.execute(
            "SELECT id, key, vector, mac FROM vectors WHERE model = ? ORDER BY id", (self._model,)
        )
        for row, key, vector, mac in rows:
            if hmac.compare_digest(self._mac(key, vector), mac):
                self._keep(key, vector)
            else:
                wrong.append((row,))
        if wrong:
            log.warning("%s had %d vectors that this ledger's owner did not write: removed.", self._path, len(wrong))
            with connection:
                connection.executemany("DELETE FROM vectors WHERE id = ?", wrong)

    def _keep(self, key: bytes, vector: bytes) -> None:
        size = len(vector) // NUMBER_BYTES
        self.size = self.size or size
        if key not in self.ids:
            self.ids[key] = len(self.ids)
            self._joined[size] += vector
            self._numbers[size].append(self.ids[key])

    def close(self) -> None:
        """Close the file. What was read of it stays in memory."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def put(self, vectors: Mapping[bytes, Sequence[float]]) -> None:
        """Store vectors in one transaction. If the file fails (a full disk), they are only in memory from then on."""
        rows = [(key, array("f", numbers).tobytes()) for key, numbers in vectors.items()]
        if self._connection is not None:
            try:
                with self._connection as connection:
                    connection.executemany(_PUT, [(self._model, *row, self._mac(*row)) for row in rows])
            except sqlite3.Error as error:
                log.warning("%s cannot be written (%s): vectors are kept in memory.", self._path, error)
                self.close()
        for key, vector in rows:
            self._keep(key, vector)

    def distances(self, numbers: Sequence[float]) -> Floats:
        """Return the cosine distance of each key to a vector, 0..2, in steps of DISTANCE_UNIT.

        It is infinite for a vector of another size, and at one place more, which stands for a key without a vector.
        """
        size, found = len(numbers), np.full(len(self.ids) + 1, np.inf)
        vectors = np.frombuffer(self._joined[size], np.float32).reshape(-1, size)
        places = np.array(self._numbers[size], np.intp)
        sought = np.array(numbers, np.float32).astype(np.float64)
        sought /= max(float(np.linalg.norm(sought)), DISTANCE_UNIT)
        for at in range(0, len(vectors), _CHUNK_ROWS):
            chunk = vectors[at : at + _CHUNK_ROWS].astype(np.float64)
            # Of a matrix product, equal rows may differ in the last digit.
            norms = np.sqrt(np.einsum("ij,ij->i", chunk, chunk))
            cosines = np.einsum("ij,j->i", chunk, sought) / np.maximum(norms, DISTANCE_UNIT)
            found[places[at : at + _CHUNK_ROWS]] = np.trunc((1 - cosines) / DISTANCE_UNIT) * DISTANCE_UNIT
        return found

    def _mac(self, key: bytes, vector: bytes) -> bytes:
        assert self._secret is not None, "without it, there is no file"
        return hmac.digest(self._secret, LABEL + self._model.encode() + b"\n" + key + vector, "sha256")
