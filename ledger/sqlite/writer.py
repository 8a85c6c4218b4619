"""Write groups of appends: on the event loop's thread while the disk is quick, else on the connection's own thread.

A call to another thread passes the interpreter's lock twice, which takes longer than a quick commit: without it, a
server commits 1.1 to 1.5 times as many single appends a second. On a slow disk a commit on the event loop's thread
would stop every read meanwhile. So the time that SQLite takes is measured, and decides where the next group is written.

Look-ups, admission and commit of a group are one call. For a large group, admission is between two calls, on the event
loop's thread.
"""

import random
import sqlite3
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from events.errors import TallystickError
from events.vocabulary import Vocabulary
from ledger.admission import (
    ExistingEvent,
    GroupAdmission,
    Lookups,
    PreparedEvent,
    StreamHead,
)
from ledger.append_queue import Answer
from ledger.clock import Clock
from ledger.log import Head
from ledger.lookup_keys import AuthorKeys, LookupKeys
from ledger.sqlite.connection import SqliteConnection
from ledger.sqlite.schema import (
    COLUMNS,
    FIRST_AUTHORS,
    INSERT_TILE,
    LOOK_UP,
    OWNERS,
    insert_statement,
    statement_rows,
)
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import WIDTH, Tile, TreeEdge
from tallystick.shapes.appended import AppendedEvent

LINE_COLUMN = COLUMNS.index("line")

LARGE_GROUP_EVENTS = WIDTH
"""Events from which a group is large. Its admission holds the interpreter's lock so long that it runs on the event
loop's thread instead of competing with it. Its lines are hashed on another thread while SQLite inserts them without
that lock."""

INLINE_S = 0.003
"""Average seconds that SQLite takes for a group, up to which the next one is written on the event loop's thread."""

AVERAGED_COMMITS = 16
"""Groups over which their time is averaged, with exponentially decreasing weights."""

STALL_S = 0.05
"""Seconds from which a group has stalled, however quick the others are."""

STALL_FACTOR = 100
"""Times as long as a stalled group took, no group is written on the event loop's thread. So reads wait for stalls of
the disk for at most a hundredth of the time, which their 99th percentile does not show."""


class WrittenGroup(NamedTuple):
    """The result of a group: the answer of each batch, and the log's head and edge afterwards."""

    answers: list[Answer]
    head: Head
    edge: TreeEdge


class DiskTimes:
    """Decides by the time of earlier groups whether the next one may be written on the event loop's thread."""

    def __init__(self) -> None:
        self._average_s = 1.0  # slow, until groups were measured
        self._stalled_until_s = 0.0

    def add(self, seconds: float, now_s: float) -> None:
        """Add the time that SQLite took for a group that ended now."""
        self._average_s += (seconds - self._average_s) / AVERAGED_COMMITS
        if seconds >= STALL_S:
            self._stalled_until_s = max(self._stalled_until_s, now_s + seconds * STALL_FACTOR)

    def is_quick(self, now_s: float) -> bool:
        """Return whether the disk is quick enough for the event loop's thread."""
        return self._average_s <= INLINE_S and now_s >= self._stalled_until_s


class SqliteWriter:
    """Writes groups of appends, one at a time."""

    def __init__(self, connection: SqliteConnection, vocabulary: Vocabulary, clock: Clock) -> None:
        self.connection = connection
        self._vocabulary = vocabulary
        self._clock = clock
        self._rng = random.Random()
        self._times = DiskTimes()
        self._hashing = ThreadPoolExecutor(1, "ledger-tree")

    async def close(self) -> None:
        """Close the connection and end the threads."""
        await self.connection.close()
        self._hashing.shutdown()

    async def write(self, batches: Sequence[Sequence[PreparedEvent]], head: Head, edge: TreeEdge) -> WrittenGroup:
        """Write the batches that the log admits, each whole or not at all, and sync once (I3, I4).

        Errors: sqlite3.Error; the outcome is then unknown.
        """
        if sum(map(len, batches)) < LARGE_GROUP_EVENTS:
            if self._times.is_quick(time.perf_counter()):
                return self.connection.run_inline(self._write, batches, head, edge)
            return await self.connection.run(self._write, batches, head, edge)
        lookups, named_batches = await self.connection.run(self._look_up, batches, head)
        group, answers = self._admit(lookups, named_batches, head)
        return await self.connection.run(self._insert, group, answers, head, edge)

    def _write(
        self, connection: sqlite3.Connection, batches: Sequence[Sequence[PreparedEvent]], head: Head, edge: TreeEdge
    ) -> WrittenGroup:
        start_s = time.perf_counter()
        lookups, named_batches = self._look_up(connection, batches, head)
        # without the admission: it is Python, and as slow on either thread
        look_up_s = time.perf_counter() - start_s
        group, answers = self._admit(lookups, named_batches, head)
        start_s = time.perf_counter()
        written = self._insert(connection, group, answers, head, edge)
        if group.rows:  # a group that was refused says nothing about syncs
            now_s = time.perf_counter()
            self._times.add(look_up_s + now_s - start_s, now_s)
        return written

    def _admit(
        self, lookups: Lookups, batches: Sequence[Sequence[PreparedEvent]], head: Head
    ) -> tuple[GroupAdmission, list[Answer]]:
        group = GroupAdmission(self._vocabulary, head, self._clock(), lookups, self._rng)
        return group, [_admit_batch(group, batch) for batch in batches]

    def _insert(
        self, connection: sqlite3.Connection, group: GroupAdmission, answers: list[Answer], head: Head, edge: TreeEdge
    ) -> WrittenGroup:
        if not group.rows:
            return WrittenGroup(answers, head, edge)
        lines: list[bytes] = group.rows[LINE_COLUMN :: len(COLUMNS)]  # type: ignore[assignment]
        if len(lines) < LARGE_GROUP_EVENTS:
            edge, filled = _grow_tree(edge, lines)
            insert_events(connection, group.rows, filled)
        else:
            growth = self._hashing.submit(_grow_tree, edge, lines)
            with _transaction(connection):
                _insert_rows(connection, group.rows)
                edge, filled = growth.result()
                connection.executemany(INSERT_TILE, filled)
        return WrittenGroup(answers, Head(group.position, group.recorded_us), edge)

    def _look_up(
        self, connection: sqlite3.Connection, batches: Sequence[Sequence[PreparedEvent]], head: Head
    ) -> tuple[Lookups, list[list[PreparedEvent]]]:
        """Look up every stream and id of the group, and give an id to each stream without one."""
        keys = LookupKeys(batches, self._rng)
        while True:
            keys.name_streams(head.position)
            lookups = _look_up_existing(connection, keys.subjects, keys.ids)
            if not keys.find_taken(lookups.streams):
                return self._look_up_authors(connection, lookups, keys.authors()), keys.batches

    def _look_up_authors(self, connection: sqlite3.Connection, lookups: Lookups, keys: AuthorKeys | None) -> Lookups:
        """Look up who began the streams of events whose author must be checked."""
        if keys is None:
            return lookups
        owners = dict(connection.execute(OWNERS, (_json(keys.owned),)).fetchall())
        kinds = self._vocabulary.first_author_types
        firsts = connection.execute(FIRST_AUTHORS, (_json(keys.shared), _json(kinds))).fetchall() if keys.shared else ()
        return lookups._replace(owners=owners, firsts=dict(firsts))


def insert_events(connection: sqlite3.Connection, values: list[object], filled: Sequence[Tile]) -> None:
    """Insert events and full tiles in one transaction; without tiles, a single statement is the transaction.

    Shapes: `values` has the columns of the events, one event after another. Errors: sqlite3.Error.
    """
    if not filled:
        _insert_rows(connection, values)
        return
    with _transaction(connection):
        _insert_rows(connection, values)
        connection.executemany(INSERT_TILE, filled)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _grow_tree(edge: TreeEdge, lines: Sequence[bytes]) -> tuple[TreeEdge, list[Tile]]:
    return edge.grow(leaf_hashes(lines))


def _insert_rows(connection: sqlite3.Connection, values: list[object]) -> None:
    rows = len(values) // len(COLUMNS)
    if rows:
        capacity = statement_rows(rows)
        connection.execute(insert_statement(capacity), values + [None] * ((capacity - rows) * len(COLUMNS)))


def _admit_batch(group: GroupAdmission, batch: Sequence[PreparedEvent]) -> Answer:
    try:
        return group.admit(batch)
    except TallystickError as error:
        return error


def _look_up_existing(connection: sqlite3.Connection, subjects: set[str], keys: set[tuple[str | None, str]]) -> Lookups:
    lookups = Lookups({}, {})
    parameters = (_json(subjects), _json(keys))
    for subject, version, type_, source, event_id, position, line in connection.execute(LOOK_UP, parameters).fetchall():
        if line is None:
            lookups.streams[subject] = StreamHead(version, type_)
        else:
            appended = AppendedEvent(position, event_id, subject, version, duplicate=False)
            lookups.taken[source, event_id] = ExistingEvent(appended, line)
    return lookups


def _json(values: object) -> str:
    return msgspec.json.encode(values).decode()
