"""Rebuild a ledger file from its lines: the same bytes, positions, columns, tiles and root.

The file is written as `LEDGER.part`, verified, synced, and renamed last: if the process is killed before, no ledger
appears. The file has the triggers of every ledger, so that it accepts only rows that an append could have written.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

from ledger.atomic_file import PART, sync_folder
from ledger.errors import LedgerFull, LedgerUnusable
from ledger.private_file import make_private_file
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.moved import lift_seal
from ledger.sqlite.schema import APPLICATION_ID, COLUMNS, CREATE, HEAD, INSERT_TILE
from ledger.sqlite.schema_check import check_ledger, distrust_schema
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from ledger.verify import Findings, LineHeaders, TimestampParser, verify_file
from ledger.verify.columns import rows_of

INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


class LedgerRebuild:
    """A ledger file that is being rebuilt. Add every page of its lines, call `verify`, then `open`."""

    def __init__(self, ledger: Path, part: Path, connection: sqlite3.Connection) -> None:
        self._ledger = ledger
        self._part = part
        self._connection = connection
        self._instant = TimestampParser().of
        self._edge = TreeEdge()
        self.failure: LedgerUnusable | LedgerFull | None = None
        """Why the lines cannot be a ledger; `add` then ignores further lines."""

    @classmethod
    @contextmanager
    def begin(cls, ledger: Path) -> Iterator[Self]:
        """Begin to rebuild a ledger that does not exist or is empty, and hold its lock; unfinished files are removed.

        Errors: LedgerLocked; LedgerUnusable, if the ledger has events; LedgerFull.
        """
        ledger = ledger.resolve()
        if not ledger.parent.is_dir():
            raise LedgerUnusable(f"There is no folder {ledger.parent}.", "Make it, or name another with --ledger.")
        lock = WriterLock.acquire(ledger)
        part = ledger.with_name(ledger.name + PART)
        try:
            _check_empty(ledger)
            part.unlink(missing_ok=True)
            make_private_file(part)
            with closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + CREATE)
                yield cls(ledger, part, connection)
        except sqlite3.Error as error:
            raise _rebuild_error(ledger, error) from error
        finally:
            part.unlink(missing_ok=True)
            lock.release()

    def add(self, lines: Sequence[bytes], headers: Sequence[LineHeaders]) -> None:
        """Write the next lines with the columns from their headers; if that fails, set `failure`."""
        if self.failure is not None or len(lines) != len(headers):
            return
        try:
            rows = rows_of(lines, headers, self._instant)
            self._edge, filled = self._edge.grow(leaf_hashes(lines))
            self._connection.execute("BEGIN")
            self._connection.executemany(INSERT, rows)
            self._connection.executemany(INSERT_TILE, filled)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, ValueError, OverflowError) as error:
            self.failure = _rebuild_error(self._ledger, error)

    def discard(self) -> None:
        """Nothing: what was written goes with the end of the block."""

    def verify(self, root: bytes) -> None:
        """Verify the file that was written. Errors: LedgerUnusable, if its root is not `root`."""
        if self.failure is not None:
            raise self.failure
        self._connection.close()
        findings = Findings()
        verified = verify_file(findings, self._part, evidence=False)
        if not findings.right or verified.root != root:
            raise LedgerUnusable(
                f"{self._part} differs from the lines that were written: {findings.first}.", "Check the disk."
            )

    def open(self) -> None:
        """Sync the verified file and rename it: the ledger is there. The seal of one that was there before is removed.

        Errors: OSError, LedgerFull, LedgerUnavailable.
        """
        lift_seal(self._ledger)
        descriptor = os.open(self._part, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._part.replace(self._ledger)
        sync_folder(self._ledger.parent)


def _check_empty(ledger: Path) -> None:
    """Refuse a path with a ledger that has events; prepare an empty one to be replaced. Errors: LedgerUnusable."""
    if not ledger.exists():
        if (wal := ledger.with_name(ledger.name + "-wal")).exists():
            raise LedgerUnusable(f"{wal} exists without its ledger.", "Move it away, or name another file.")
        return
    try:
        with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
            distrust_schema(connection)
            ((application,),) = connection.execute("PRAGMA application_id")
            ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema")
            if tables and application == APPLICATION_ID:
                check_ledger(connection, ledger)
            if tables and (application != APPLICATION_ID or connection.execute(HEAD).fetchone() is not None):
                raise LedgerUnusable(f"{ledger} holds events already.", "Name another file with --ledger.")
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{ledger} is not a ledger: {error}.", "Name another file with --ledger.") from error


def _rebuild_error(ledger: Path, error: Exception) -> LedgerUnusable | LedgerFull:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return LedgerFull(f"The disk is full; {ledger} was not written.", "Free disk space, then retry.")
    return LedgerUnusable(f"{ledger} cannot be made from these events: {error}.", "They do not come from a ledger.")
