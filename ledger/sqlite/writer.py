"""Write groups of appends on the thread of the writing connection.

Look-ups, admission and commit of a group are one call to that thread: each call passes the interpreter's lock between
threads, and requests wait meanwhile. For a large group, admission is between two calls, on the event loop's thread.
"""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from events.errors import TallystickError
from events.registry import Author, Vocabulary
from ledger.admission import (
    ExistingEvent,
    GroupAdmission,
    Lookups,
    PreparedEvent,
    StreamHead,
    assign_stream_id,
)
from ledger.clock import Clock
from ledger.log import AppendedEvent, Head
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

LINE_COLUMN = COLUMNS.index("line")

LARGE_GROUP_EVENTS = WIDTH
"""Events from which a group is large. Its admission holds the interpreter's lock so long that it runs on the event
loop's thread instead of competing with it. Its lines are hashed on another thread while SQLite inserts them without
that lock."""

Answer = list[AppendedEvent] | TallystickError
"""The appended events of a batch, or the error that refused it."""


class WrittenGroup(NamedTuple):
    """The result of a group: the answer of each batch, and the log's head and edge afterwards."""

    answers: list[Answer]
    head: Head
    edge: TreeEdge


class SqliteWriter:
    """Writes groups of appends, one at a time."""

    def __init__(self, connection: SqliteConnection, vocabulary: Vocabulary, clock: Clock) -> None:
        self.connection = connection
        self._vocabulary = vocabulary
        self._clock = clock
        self._rng = random.Random()
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
            return await self.connection.run(self._write, batches, head, edge)
        lookups, named_batches = await self.connection.run(self._look_up, batches, head)
        group, answers = self._admit(lookups, named_batches, head)
        return await self.connection.run(self._insert, group, answers, head, edge)

    def _write(
        self, connection: sqlite3.Connection, batches: Sequence[Sequence[PreparedEvent]], head: Head, edge: TreeEdge
    ) -> WrittenGroup:
        lookups, named_batches = self._look_up(connection, batches, head)
        group, answers = self._admit(lookups, named_batches, head)
        return self._insert(connection, group, answers, head, edge)

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
        named_batches = [list(batch) for batch in batches]
        keys = {(e.draft.source, e.draft.id) for batch in named_batches for e in batch if e.draft.id is not None}
        subjects = {e.subject for batch in named_batches for e in batch if not e.id_generated}
        unnamed = [(batch, index) for batch in named_batches for index, entry in enumerate(batch) if entry.id_generated]
        while True:
            for offset, (batch, index) in enumerate(unnamed, 1):
                batch[index] = self._name(batch[index], head.position + offset, subjects)
            lookups = _look_up_existing(connection, subjects, keys)
            unnamed = [(batch, index) for batch, index in unnamed if batch[index].subject in lookups.streams]
            if not unnamed:
                return self._look_up_authors(connection, lookups, named_batches), named_batches

    def _look_up_authors(
        self, connection: sqlite3.Connection, lookups: Lookups, batches: Sequence[Sequence[PreparedEvent]]
    ) -> Lookups:
        """Look up who began the streams of events whose author must be checked."""
        checked = [entry for batch in batches for entry in batch if entry.permissions is not None]
        if not checked:
            return lookups
        owned = {name for entry in checked for name in entry.event_type.owned_subjects(entry.subject, entry.data)}
        shared = {entry.subject for entry in checked if entry.event_type.by is Author.FIRST}
        owners = dict(connection.execute(OWNERS, (_json(owned),)).fetchall())
        kinds = self._vocabulary.first_author_types
        firsts = connection.execute(FIRST_AUTHORS, (_json(shared), _json(kinds))).fetchall() if shared else ()
        return lookups._replace(owners=owners, firsts=dict(firsts))

    def _name(self, entry: PreparedEvent, position: int, subjects: set[str]) -> PreparedEvent:
        while (named_entry := assign_stream_id(entry, position, self._rng)).subject in subjects:
            pass
        subjects.add(named_entry.subject)
        return named_entry


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
