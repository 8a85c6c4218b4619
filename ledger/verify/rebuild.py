"""A ledger file made again of its lines: the same bytes, positions, columns, tiles and root.

It is written to `LEDGER.part`, read again, synced, and given its name last: until then nothing stands there, whenever
this is killed. The triggers are those of every ledger, so that nothing gets in that an append would not have written.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self

from ledger.atomic_file import PART, sync_folder
from ledger.errors import LedgerFull, LedgerUnusable
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.schema import APPLICATION_ID, COLUMNS, CREATE, INSERT_TILE
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from ledger.verify import Findings, LineHeaders, TimestampParser, verify_file

INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


class LedgerRebuild:
    """A ledger being made again. Take every page of its lines, then `place` it."""

    def __init__(self, ledger: Path, part: Path, connection: sqlite3.Connection) -> None:
        self._ledger = ledger
        self._part = part
        self._connection = connection
        self._instant = TimestampParser().of
        self._edge = TreeEdge()
        self.failure: LedgerUnusable | LedgerFull | None = None
        """Why the lines cannot be a ledger; nothing more is taken then."""

    @classmethod
    @contextmanager
    def begin(cls, ledger: Path) -> Iterator[Self]:
        """Begin one where there is none, or an empty one, with its lock held; what is not placed leaves nothing.

        Errors: LedgerLocked; LedgerUnusable, for a ledger that holds events; LedgerFull.
        """
        ledger = ledger.resolve()
        if not ledger.parent.is_dir():
            raise LedgerUnusable(f"There is no folder {ledger.parent}.", "Make it, or name another with --ledger.")
        lock = WriterLock.acquire(ledger)
        part = ledger.with_name(ledger.name + PART)
        try:
            _check_empty(ledger)
            part.unlink(missing_ok=True)
            with closing(sqlite3.connect(part, isolation_level=None)) as connection:
                connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + CREATE)
                yield cls(ledger, part, connection)
        except sqlite3.Error as error:
            raise _failed(ledger, error) from error
        finally:
            part.unlink(missing_ok=True)
            lock.release()

    def take(self, lines: Sequence[bytes], found: Sequence[LineHeaders]) -> None:
        """The lines that follow, and what they say. What cannot be written is told by `failure`."""
        if self.failure is not None or len(lines) != len(found):
            return
        instant = self._instant
        try:
            rows = [
                (
                    one.position, one.source, one.id, one.subject, one.streamversion, one.type, instant(one.time),
                    instant(one.recordedtime), line,
                )
                for one, line in zip(found, lines, strict=True)
            ]  # fmt: skip
            self._edge, filled = self._edge.grow(leaf_hashes(lines))
            self._connection.execute("BEGIN")
            self._connection.executemany(INSERT, rows)
            self._connection.executemany(INSERT_TILE, filled)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, ValueError, OverflowError) as error:
            self.failure = _failed(self._ledger, error)

    def place(self, root: bytes) -> None:
        """Read it again, sync it, and give it its name. Errors: LedgerUnusable, where its root is not the one."""
        if self.failure is not None:
            raise self.failure
        self._connection.close()
        account = Findings()
        found = verify_file(account, self._part, evidence=False)
        if not account.right or found.root != root:
            raise LedgerUnusable(
                f"What was written to {self._part} is not what was read: {account.first}.", "Check the disk."
            )
        descriptor = os.open(self._part, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        self._part.replace(self._ledger)
        sync_folder(self._ledger.parent)


def _check_empty(ledger: Path) -> None:
    """Whether a ledger may stand at a place; an empty one is made ready to be replaced. Errors: LedgerUnusable."""
    if not ledger.exists():
        if (stray := ledger.with_name(ledger.name + "-wal")).exists():
            raise LedgerUnusable(f"{stray} is there, and its ledger is not.", "Move it away, or name another place.")
        return
    try:
        with closing(sqlite3.connect(ledger, isolation_level=None)) as connection:
            ((application,),) = connection.execute("PRAGMA application_id")
            ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema")
            events = tables and connection.execute("SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1)").fetchone()[0]
            if events or (tables and application != APPLICATION_ID):
                raise LedgerUnusable(
                    f"{ledger} holds events already.", "Name a place where there is no ledger, with --ledger."
                )
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{ledger} is not a ledger: {error}.", "Name another place with --ledger.") from error


def _failed(ledger: Path, error: Exception) -> LedgerUnusable | LedgerFull:
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return LedgerFull(f"The disk is full; nothing stands at {ledger}.", "Make room, then retry.")
    return LedgerUnusable(f"{ledger} cannot be made of these events: {error}.", "They were never those of a ledger.")
