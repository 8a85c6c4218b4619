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
from typing import NamedTuple, Self

from events.envelope import Draft
from events.errors import InvalidEvent, TallystickError
from events.limits import BATCH_EVENTS_MAX, GROUP_EVENTS_MAX, QUEUE_EVENTS_MAX
from events.registry import VOCABULARY, Vocabulary
from ledger.admission import PreparedEvent, prepare
from ledger.clock import Clock, system_clock
from ledger.errors import LedgerBusy, LedgerFull, LedgerUnavailable, LedgerUnusable
from ledger.log import UNRESTRICTED, AppendedEvent, Head, Permissions, Progress
from ledger.private_file import follow_typed_link, make_private_file, refuse_link
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.reader import SqliteReader, connect_reader
from ledger.sqlite.schema import CREATE, CREATE_TILES, HEAD, SCHEMA_VERSION, TILE_COUNT, UNTILED_VERSION
from ledger.sqlite.schema_check import check_ledger, distrust_schema
from ledger.sqlite.wal_check import require_undamaged
from ledger.sqlite.wal_flush import MOVE_WAL, WalGauge, flush_wal
from ledger.sqlite.writer import SqliteWriter, insert_events
from ledger.transparency.tiles import WIDTH, TreeEdge
from ledger.transparency.tree import LogTree

CACHE_KIB = 65_536
"""Page cache of the writer: holds the right edge of each index, and the streams in use."""

CHECKPOINT_PAGES = 16_000
"""Length of the write-ahead log (64 MB) at which it is moved into the file: rarely, because pages change again."""

COMPANION_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite makes beside the ledger, with the permissions of the ledger."""

TILES_STEP = 8 * WIDTH
"""Events per transaction, when tiles are made for a file that has none."""

_NO_INDEX = "The disk was full when this append was in the write-ahead log, but not yet in the log's index."
"""The event is not in the ledger, and the next append overwrites it; but if the process ends before that, it stays."""


class WaitingAppend(NamedTuple):
    """An append in the queue."""

    batch: list[PreparedEvent]
    answer: asyncio.Future[list[AppendedEvent]]


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
        self._edge = edge
        self._vocabulary = vocabulary
        self._queue: deque[WaitingAppend] = deque()
        self._waiting_events = 0
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._committed = self._loop.create_future()
        self._closing = False
        self._broken: LedgerUnavailable | None = None
        self._task = asyncio.create_task(self._run(), name="ledger-writer")

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        vocabulary: Vocabulary = VOCABULARY,
        clock: Clock = system_clock,
        address: str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Acquire the lock of a ledger file and open the file; create it if it does not exist.

        `address` is the address of this process's server, for the error message to a second writer. `progress` counts
        the events whose tiles are made, when a file of version 1 is opened.
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
            await asyncio.to_thread(require_undamaged, path)
            opened.append(writer := await _connect_writer(path))
            opened.append(reader := await connect_reader(path))
            heads = list(await writer.execute_fetchall(HEAD))
            head = Head(*heads[0]) if heads else Head(0, 0)
            edge = await _complete_tiles(writer, LogTree(SqliteReader(reader, path)), head.position, progress)
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
        self._closing = True
        self._wake.set()
        await self._task
        self._open = False
        self._committed.cancel()
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

    @property
    def edge(self) -> TreeEdge:
        """Return the right edge of the Merkle tree over the committed lines, without waiting."""
        return self._edge

    @property
    def waiting_events(self) -> int:
        """Return the number of events that are accepted and not yet committed."""
        return self._waiting_events

    @property
    def instance(self) -> str | None:
        """Return the random name of this server, which the lock file has too; None without a server."""
        return self._lock.instance

    @property
    def broken(self) -> LedgerUnavailable | None:
        """Return why the writer refuses all appends; None while it accepts them."""
        return self._broken

    async def append(self, batch: Sequence[Draft], permissions: Permissions = UNRESTRICTED) -> list[AppendedEvent]:
        if not 1 <= len(batch) <= BATCH_EVENTS_MAX:
            raise InvalidEvent(
                f"A batch holds 1..{BATCH_EVENTS_MAX} events; this one has {len(batch)}.",
                "Send at least one event." if not batch else "Split it.",
            )
        entries = [prepare(self._vocabulary, draft, index, permissions) for index, draft in enumerate(batch)]
        if self._broken is not None:
            raise self._broken
        if self._closing:
            raise LedgerUnavailable("The ledger is closing; nothing was written.", "Retry when it is back.")
        if self._waiting_events + len(entries) > QUEUE_EVENTS_MAX:
            raise LedgerBusy(self._waiting_events)
        answer: asyncio.Future[list[AppendedEvent]] = self._loop.create_future()
        self._queue.append(WaitingAppend(entries, answer))
        self._waiting_events += len(entries)
        self._wake.set()
        return await answer

    async def _wait_for_events(self, seen: int) -> None:
        if self._head.position == seen and self._open:
            await asyncio.wait([self._committed])

    async def _run(self) -> None:
        """Write the waiting appends in groups: one transaction, one sync, then the answers; repeat."""
        while not (self._closing and not self._queue):
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                group = self._take_group()
                try:
                    if self._broken is not None:
                        raise self._broken
                    await self._commit(group)
                except Exception as error:  # noqa: BLE001 - after any error the group must get an answer
                    self._fail(group, error)
                self._waiting_events -= sum(len(waiting.batch) for waiting in group)

    def _take_group(self) -> list[WaitingAppend]:
        group: list[WaitingAppend] = []
        events = 0
        while self._queue and events + len(self._queue[0].batch) <= GROUP_EVENTS_MAX:
            group.append(self._queue.popleft())
            events += len(group[-1].batch)
        return group

    async def _commit(self, group: list[WaitingAppend]) -> None:
        written = await self._writer.write([waiting.batch for waiting in group], self._head, self._edge)
        grown = written.head != self._head
        self._head, self._edge = written.head, written.edge
        for waiting, answer in zip(group, written.answers, strict=True):
            if isinstance(answer, TallystickError):
                _refuse(waiting.answer, answer)
            elif not waiting.answer.done():
                waiting.answer.set_result(answer)
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
            if not _is_full(error):
                self._broken = LedgerUnavailable(
                    f"The ledger failed to move its write-ahead log into the file: {error}. Nothing was lost.",
                    "Check the disk, restart the server, then retry with the same ids.",
                )

    def _fail(self, group: list[WaitingAppend], error: Exception) -> None:
        """Answer a group whose transaction failed.

        After any error but a full disk the writer refuses all further appends: a failed sync may have dropped pages,
        and only reopening the file shows its content.
        """
        failure: TallystickError
        if isinstance(error, LedgerUnavailable):
            failure = error
        elif _is_full(error):
            failure = LedgerFull("The disk is full; nothing was written.", "Free disk space, then retry.")
        elif getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
            failure = LedgerUnavailable(_NO_INDEX, "Free disk space, then retry with the same ids.")
        else:
            failure = self._broken = LedgerUnavailable(
                f"The ledger failed to write: {error}. Whether this append is in it is unknown.",
                "Restart the server, then retry with the same ids.",
            )
        for waiting in group:
            _refuse(waiting.answer, failure)


def _is_full(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def _refuse(answer: asyncio.Future[list[AppendedEvent]], error: TallystickError) -> None:
    if not answer.done():
        answer.set_exception(error)


async def _connect_writer(path: Path) -> SqliteConnection:
    """Open the connection that writes and checkpoints. Errors: LedgerUnusable."""
    try:
        make_private_file(path)
        connection = await connect(path, isolation_level=None, cached_statements=64)
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
    version = await connection.run(check_ledger, path, writing=True) if tables else SCHEMA_VERSION
    ((mode,),) = await connection.execute_fetchall("PRAGMA journal_mode = WAL")
    if mode != "wal":
        raise LedgerUnusable(f"{path} cannot keep a write-ahead log (it stays {mode}).", "Use a local file system.")
    await connection.execute("PRAGMA synchronous = FULL")
    await connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    await connection.execute("PRAGMA wal_autocheckpoint = 0")
    if not tables:
        await connection.executescript(f"BEGIN IMMEDIATE; {CREATE} COMMIT;")
    elif version == UNTILED_VERSION:
        await connection.executescript(f"BEGIN IMMEDIATE; {CREATE_TILES} COMMIT;")


async def _complete_tiles(writer: SqliteConnection, tree: LogTree, size: int, progress: Progress | None) -> TreeEdge:
    """Store the tiles of lines that an older version appended without tiles; return the edge of the whole tree."""
    ((tiles,),) = await writer.execute_fetchall(TILE_COUNT)
    edge = await tree.edge(tiles * WIDTH)
    while size - edge.size >= WIDTH:
        leaves = await tree.leaves(edge.size, min(size - size % WIDTH, edge.size + TILES_STEP))
        edge, filled = edge.grow(leaves)
        await writer.run(insert_events, [], filled)
        if progress is not None:
            progress(edge.size, size)
    return await tree.edge(size)
