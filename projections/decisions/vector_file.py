"""Vectors by their keys, in a SQLite file beside the ledger that may be deleted at any time; sqlite-vec compares them.

Each row has an HMAC-SHA256 of model, key and vector. The rows of the model are checked when the file is opened, and a
wrong one is removed, so nothing is lost when a process is killed between two batches. If the file cannot be written,
vectors are kept in memory. Several processes may use one file, because a key means the same vector in each.

The file is opened by apsw, because many Pythons have an sqlite3 that loads no extensions. All methods block, and one
thread at a time calls them.
"""

import hmac
import logging
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ledger.private_file import make_private_file
from projections.snapshots import remove_database

if TYPE_CHECKING:
    import apsw

log = logging.getLogger("tallystick.vectors")

VERSION = 1
LABEL = b"tallystick vector\n"
BUSY_MS = 10_000
DISTANCE_UNIT = 1e-9
NUMBER_BYTES = 4

_CREATE = """
CREATE TABLE vectors (
  id INTEGER PRIMARY KEY, model TEXT NOT NULL, key BLOB NOT NULL, vector BLOB NOT NULL, mac BLOB NOT NULL,
  UNIQUE (model, key)
) STRICT
"""
_PUT = """
INSERT INTO vectors (model, key, vector, mac) VALUES (?, ?, ?, ?)
ON CONFLICT (model, key) DO UPDATE SET vector = excluded.vector, mac = excluded.mac RETURNING id
"""
_DISTANCES = f"""
SELECT coalesce(group_concat(
  printf('%016x%016x', id, CAST(vec_distance_cosine(vector, ?1) / {DISTANCE_UNIT} AS INTEGER)), ''), '')
FROM vectors WHERE model = ?2 AND length(vector) = ?3
"""
"""All distances as one row, in one step, during which Python releases its lock."""


class VectorsUnavailable(Exception):
    """Vectors cannot be searched here; the text says why, and what to install."""


class VectorFile:
    """The vectors of one model. Without `secret` they are in memory. Errors of `open`: VectorsUnavailable."""

    def __init__(self, path: Path, model: str, secret: bytes | None) -> None:
        self._path = path
        self._model = model
        self._secret = secret
        self._connection: apsw.Connection | None = None
        self.ids: dict[bytes, int] = {}
        """The row of each key whose vector is right."""
        self.size = 0
        """Numbers of a vector; 0 while there is none."""

    def open(self) -> None:
        """Open the file, and check its rows; replace a file that is damaged or is something else."""
        check_installed()
        import apsw  # noqa: PLC0415 - an extra

        if self._secret is None:
            self._open(":memory:")
            return
        try:
            self._prepare_file()
            self._open(str(self._path.absolute()))
        except (apsw.NotADBError, apsw.CorruptError, apsw.SchemaChangeError, _ForeignFile):
            log.warning("%s was not made by Tallystick, or is damaged: it was replaced.", self._path)
            self.close()
            remove_database(self._path)
            self._open_new()
        except (apsw.Error, OSError):
            self._open_in_memory()

    def _open_new(self) -> None:
        import apsw  # noqa: PLC0415 - an extra

        try:
            self._prepare_file()
            self._open(str(self._path.absolute()))
        except (apsw.Error, OSError, _ForeignFile):
            self._open_in_memory()

    def _open_in_memory(self) -> None:
        self.close()
        self._open(":memory:")

    def _prepare_file(self) -> None:
        if self._path.is_symlink() or self._path.exists() != self._path.is_file():
            raise _ForeignFile
        make_private_file(self._path)

    def _open(self, name: str) -> None:
        import apsw  # noqa: PLC0415 - an extra
        import sqlite_vec  # noqa: PLC0415 - an extra

        connection = self._connection = apsw.Connection(name)
        connection.set_busy_timeout(BUSY_MS)
        connection.execute("PRAGMA trusted_schema = OFF")
        schema = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")]
        ((version,),) = connection.execute("PRAGMA user_version")
        if schema and (schema != [_CREATE.strip()] or version != VERSION):
            raise _ForeignFile
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if not schema:
            with connection:
                connection.execute(_CREATE.strip())
                connection.execute(f"PRAGMA user_version = {VERSION}")
        self._check_rows(connection)

    def _check_rows(self, connection: "apsw.Connection") -> None:
        """Read the rows of the model, and remove those that this ledger's owner did not write."""
        self.ids.clear()
        self.size = 0
        wrong: list[tuple[int]] = []
        rows = connection.execute(
            "SELECT id, key, vector, mac FROM vectors WHERE model = ? ORDER BY id", (self._model,)
        )
        for row, key, vector, mac in rows:
            if not hmac.compare_digest(self._mac(key, vector), mac):
                wrong.append((row,))
                continue
            self.ids[key] = row
            self.size = self.size or len(vector) // NUMBER_BYTES
        if wrong:
            log.warning("%s had %d vectors that this ledger's owner did not write: removed.", self._path, len(wrong))
            with connection:
                connection.executemany("DELETE FROM vectors WHERE id = ?", wrong)

    def close(self) -> None:
        """Close the file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def put(self, vectors: "Mapping[bytes, Sequence[float]]") -> None:
        """Store vectors in one transaction. If the file fails (a full disk), they are kept in memory from then on."""
        import apsw  # noqa: PLC0415 - an extra

        rows = [(key, array("f", numbers).tobytes()) for key, numbers in vectors.items()]
        try:
            self._write(rows)
        except apsw.Error as error:
            log.warning("%s cannot be written (%s): vectors are kept in memory.", self._path, error)
            kept = list(self._rows())
            self._open_in_memory()
            self._write([*kept, *rows])

    def _write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        connection = self._connection
        assert connection is not None, "the file is open"
        ids: dict[bytes, int] = {}
        with connection:
            for key, vector in rows:
                ((ids[key],),) = connection.execute(_PUT, (self._model, key, vector, self._mac(key, vector)))
                self.size = self.size or len(vector) // NUMBER_BYTES
        self.ids.update(ids)

    def _rows(self) -> Iterable[tuple[bytes, bytes]]:
        """Return what can still be read of the vectors."""
        import apsw  # noqa: PLC0415 - an extra

        assert self._connection is not None, "the file is open"
        with suppress(apsw.Error):
            known = self._connection.execute("SELECT key, vector FROM vectors WHERE model = ?", (self._model,))
            yield from ((key, vector) for key, vector in known if key in self.ids)

    def distances(self, numbers: Sequence[float]) -> dict[int, float]:
        """Return the cosine distance of each row to a vector, 0..2, in steps of DISTANCE_UNIT."""
        assert self._connection is not None, "the file is open"
        vector = array("f", numbers).tobytes()
        ((joined,),) = self._connection.execute(_DISTANCES, (vector, self._model, len(vector)))
        pairs = np.frombuffer(bytes.fromhex(joined), dtype=">i8").reshape(-1, 2)
        return dict(zip(pairs[:, 0].tolist(), (pairs[:, 1] * DISTANCE_UNIT).tolist(), strict=True))

    def _mac(self, key: bytes, vector: bytes) -> bytes:
        secret = self._secret or b""
        return hmac.digest(secret, LABEL + self._model.encode() + b"\n" + key + vector, "sha256")


class _ForeignFile(Exception):
    """The file has another schema or version, or is a link."""


def check_installed() -> None:
    """Check that the packages of the extra are installed. Errors: VectorsUnavailable."""
    try:
        import apsw  # noqa: F401, PLC0415 - an extra
        import sqlite_vec  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise VectorsUnavailable(
            f"vectors need {error.name}, which is not installed: pip install 'tallystick[vectors]'"
        ) from None
