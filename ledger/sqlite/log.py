"""The log on SQLite: one writer, group commit, followers woken as events are committed.

I1 Positions are contiguous from 1; stream versions are contiguous from 1.
I2 Stored bytes never change.
I3 An append of many events is atomic across streams.
I4 An acknowledged event survives power loss: WAL, synchronous=FULL, and the answer follows the sync.
I5 Retrying an append never duplicates it.
I6 recordedtime never decreases.
I7 The Merkle tree is a function of the lines alone: the transaction of a group also stores the tiles that it fills.
I8 One writer at a time, by `lock.WriterLock`; readers are read-only connections and never checkpoint.

Each invariant has a test of its name in `tests/ledger/contract/`.
"""

import asyncio
import os
import sqlite3
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from events.envelope import Draft
from events.errors import TallystickError
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary
from ledger.append_queue import AppendQueue, Group, answer_group
from ledger.clock import Clock, system_clock
from ledger.errors import Forked, LedgerFull, LedgerUnavailable, LedgerUnusable
from ledger.log import UNRESTRICTED, Head, Permissions
from ledger.private_file import follow_typed_link, make_private_file, refuse_link
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.moved import require_unmoved
from ledger.sqlite.reader import SqliteReader, connect_reader
from ledger.sqlite.schema import CREATE, HEAD
from ledger.sqlite.schema_check import check_ledger, distrust_schema
from ledger.sqlite.wal_check import require_undamaged
from ledger.sqlite.wal_flush import MOVE_WAL, WalGauge, flush_wal
from ledger.sqlite.writer import SqliteWriter
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree
from tallystick.shapes.appended import AppendedEvent

CACHE_KIB = 65_536
"""Page cache of the writer: holds the right edge of each index, and the streams in use."""

CHECKPOINT_PAGES = 16_000
"""Length of the write-ahead log (64 MB) at which it is moved into the file: rarely, because pages change again."""

COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite makes beside the ledger, with the permissions of the ledger."""

RECENT_GROUPS = 64
"""Groups of which a writer remembers the time, for answers as of a position that was just committed."""

_NO_INDEX = "The disk was full when this append was in the write-ahead log, but not yet in the log's index."
"""The event is not in the ledger, and the next append overwrites it; but if the process ends before that, it stays."""


class SqliteLog(SqliteReader):
    """The log with its writer; at any time, at most one process has it for a file."""

    def __init__(
        self,
        reader: SqliteConnection,
        writer: SqliteWriter,
        lock: WriterLock,
        gauge: WalGauge,
        path: Path,
        *,
        head: Head,
        edge: TreeEdge,
        vocabulary: Vocabulary,
    ) -> None:
        super().__init__(reader, path)
        self._writer = writer
        self._lock = lock
        self._gauge = gauge
        self._head = head
        self._recent: deque[Head] = deque([head], maxlen=RECENT_GROUPS)
        """The heads after the last groups."""
        self._edge = edge
        self._loop = asyncio.get_running_loop()
        self._committed = self._loop.create_future()
        self._queue = AppendQueue(vocabulary, self._commit, self._explain)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        vocabulary: Vocabulary = VOCABULARY,
        clock: Clock = system_clock,
        address: str | None = None,
    ) -> Self:
        """Acquire the lock of a ledger file and open the file; create it if it does not exist.

        `address` is the address of this process's server, for the error message to a second writer.
        Errors: LedgerLocked, LedgerUnusable; LedgerDamaged, if SQLite would drop committed events.
        """
        if not path.parent.is_dir():
            raise LedgerUnusable(f"There is no folder {path.parent}.", "Make it, or choose another with --ledger.")
        if path.exists() and not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
            raise LedgerUnusable(f"{path} is not a file that can be written.", "Choose another with --ledger.")
        path = follow_typed_link(path)
        for suffix in COMPANION_SUFFIXES:
            refuse_link(path.with_name(path.name + suffix))
        lock = WriterLock.acquire(path, address)
        opened: list[SqliteConnection] = []
        try:
            require_unmoved(path)
            # before SQLite opens the file, which would drop the frames after a damaged one
            await asyncio.to_thread(require_undamaged, path)
            opened.append(writer := await _connect_writer(path))
            opened.append(reader := await connect_reader(path))
            heads = list(await writer.execute_fetchall(HEAD))
            head = Head(*heads[0]) if heads else Head(0, 0)
            edge = await LogTree(SqliteReader(reader, path)).edge(head.position)
            await flush_wal(writer, path)
            gauge = WalGauge(path)
        except BaseException as error:
            for connection in reversed(opened):
                await connection.close()
            lock.release()
            if isinstance(error, sqlite3.Error | OSError):
                raise LedgerUnusable(f"{path} cannot be used: {error}.", "Check the file and its disk.") from error
            raise
        group_writer = SqliteWriter(writer, vocabulary, clock)
        return cls(reader, group_writer, lock, gauge, path, head=head, edge=edge, vocabulary=vocabulary)

    async def close(self) -> None:
        await self._queue.close()
        self._open = False
        self._committed.cancel()
        # the reader first: the last connection moves the write-ahead log into the file, and a reader may not (I8)
        await self._connection.close()
        await self._writer.close()
        self._gauge.close()
        self._lock.release()

    async def head(self) -> Head:
        return self._head

    @property
    def newest(self) -> Head:
        """Return the newest committed event, without waiting."""
        return self._head

    async def recorded_at(self, position: int) -> int:
        """Return when a position was recorded. The events of the last groups need no query: a group has one time."""
        if self._recent[0].position < position:
            for head in self._recent:
                if position <= head.position:
                    return head.recorded_us
        return await super().recorded_at(position)

    @property
    def edge(self) -> TreeEdge:
        """Return the right edge of the Merkle tree over the committed lines, without waiting."""
        return self._edge

    async def wait_for_tree(self, size: int) -> TreeEdge:
        """Return the right edge at once: a group is committed with its tiles (I7)."""
        assert size <= self._edge.size, (size, self._edge.size)
        return self._edge

    @property
    def waiting_events(self) -> int:
        """Return the number of events that are accepted and not yet committed."""
        return self._queue.waiting_events

    @property
    def instance(self) -> str | None:
        """Return the random name of this server, which the lock file has too; None without a server."""
        return self._lock.instance

    @property
    def broken(self) -> LedgerUnavailable | None:
        """Return why the writer refuses all appends; None while it accepts them."""
        return self._queue.broken

    def refuse_appends(self, reason: Forked) -> None:
        """Refuse every append until the file is opened again."""
        self._queue.broken = LedgerUnavailable(reason.detail, reason.advice)

    async def append(self, batch: Sequence[Draft], permissions: Permissions = UNRESTRICTED) -> list[AppendedEvent]:
        return await self._queue.append(batch, permissions)

    async def wait_for_events(self, seen: int) -> None:
        if self._head.position == seen and self._open:
            # not awaited directly: the cancellation of one follower would cancel the future of all
            await asyncio.wait([self._committed])

    async def _commit(self, group: Group) -> None:
        written = await self._writer.write([waiting.batch for waiting in group], self._head, self._edge)
        grown = written.head != self._head
        # before the answers: their callers may read at once what was appended
        self._head, self._edge = written.head, written.edge
        self._recent.append(written.head)
        answer_group(group, written.answers)
        if grown:
            self._committed.set_result(None)
            self._committed = self._loop.create_future()
            await self._move_wal()

    async def _move_wal(self) -> None:
        """Move a long write-ahead log into the file; a sync that fails there stops the writer, too."""
        try:
            if self._gauge.reaches(CHECKPOINT_PAGES):
                await self._writer.connection.execute_fetchall(MOVE_WAL)
        except (sqlite3.Error, OSError) as error:
            # on a full disk the log only stays as long as it is, until a later group moves it
            if not _is_full(error):
                self._queue.broken = LedgerUnavailable(
                    f"The ledger failed to move its write-ahead log into the file: {error}. Nothing was lost.",
                    "Check the disk, restart the server, then retry with the same ids.",
                )

    def _explain(self, error: Exception) -> TallystickError:
        """Return the answer to a group whose transaction failed.

        After any error but a full disk the writer refuses all further appends: a failed sync may have dropped pages,
        and only reopening the file shows its content.
        """
        if isinstance(error, LedgerUnavailable):
            return error
        if _is_full(error):
            return LedgerFull("The disk is full.", "Free disk space, then retry.", written=False)
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
            return LedgerUnavailable(_NO_INDEX, "Free disk space, then retry with the same ids.")
        self._queue.broken = LedgerUnavailable(
            f"The ledger failed to write: {error}. Whether this append is in it is unknown.",
            "Restart the server, then retry with the same ids.",
        )
        return self._queue.broken


def _is_full(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


async def _connect_writer(path: Path) -> SqliteConnection:
    """Open the connection that writes and checkpoints. Errors: LedgerUnusable."""
    try:
        make_private_file(path)
        connection = await connect(path, isolation_level=None, cached_statements=64, check_same_thread=False)
    except (sqlite3.Error, OSError) as error:
        raise LedgerUnusable(f"{path} cannot be opened: {error}.", "Check its permissions.") from error
    try:
        await _prepare_file(connection, path)
    except sqlite3.Error as error:
        await connection.close()
        raise LedgerUnusable(f"{path} cannot be used: {error}.", "Check the file and its disk.") from error
    except BaseException:
        await connection.close()
        raise
    return connection


async def _prepare_file(connection: SqliteConnection, path: Path) -> None:
    ((tables,),) = await connection.execute_fetchall("SELECT count(*) FROM sqlite_master")
    await connection.run(distrust_schema)
    if tables:
        await connection.run(check_ledger, path, writing=True)
    ((mode,),) = await connection.execute_fetchall("PRAGMA journal_mode = WAL")
    if mode != "wal":
        raise LedgerUnusable(f"{path} cannot keep a write-ahead log (it stays {mode}).", "Use a local file system.")
    await connection.execute("PRAGMA synchronous = FULL")
    await connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    await connection.execute("PRAGMA wal_autocheckpoint = 0")
    if not tables:
        await connection.executescript(f"BEGIN IMMEDIATE; {CREATE} COMMIT;")
