"""The writing of a group of appends, over the one connection that writes, on its thread.

A group is looked up, decided and committed in one visit to that thread: each visit costs hand-overs of the
interpreter's lock in which requests wait. A large one is decided between two visits.
"""

import random
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from events.errors import TallystickError
from events.registry import Vocabulary
from ledger.admission import ExistingEvent, GroupAdmission, Lookups, PreparedEvent, StreamHead, name_stream
from ledger.clock import Clock
from ledger.log import AppendedEvent, Head
from ledger.sqlite.connection import SqliteConnection
from ledger.sqlite.schema import COLUMNS, INSERT_TILE, KNOWN, insert_statement, statement_rows
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import WIDTH, Tile, TreeEdge

LINE = COLUMNS.index("line")

LARGE = WIDTH
"""Events of a group whose decision holds the interpreter's lock so long that it is better taken on the event loop's
thread than against it, and that are hashed on a thread while SQLite, which holds no such lock, inserts them."""

Answer = list[AppendedEvent] | TallystickError
"""Where the events of a batch stand, or why they do not."""


class WrittenGroup(NamedTuple):
    """What became of a group: for each batch where its events stand, or why not; and the log's head and edge then."""

    answers: list[Answer]
    head: Head
    edge: TreeEdge


class SqliteWriter:
    """The one who writes: one group at a time."""

    def __init__(self, connection: SqliteConnection, vocabulary: Vocabulary, clock: Clock) -> None:
        self.connection = connection
        self._vocabulary = vocabulary
        self._clock = clock
        self._rng = random.Random()
        self._hashing = ThreadPoolExecutor(1, "ledger-tree")

    async def close(self) -> None:
        """Let go of the file and the threads."""
        await self.connection.close()
        self._hashing.shutdown()

    async def write(self, batches: Sequence[Sequence[PreparedEvent]], head: Head, edge: TreeEdge) -> WrittenGroup:
        """Write what can be admitted of some batches, each whole or not at all, and sync it once (I3, I4).

        Errors: sqlite3.Error; nothing is known to be written then.
        """
        if sum(map(len, batches)) < LARGE:
            return await self.connection.run(self._write, batches, head, edge)
        known, named = await self.connection.run(self._look_up, batches, head)
        group, answers = self._decide(known, named, head)
        return await self.connection.run(self._keep, group, answers, head, edge)

    def _write(
        self, connection: sqlite3.Connection, batches: Sequence[Sequence[PreparedEvent]], head: Head, edge: TreeEdge
    ) -> WrittenGroup:
        known, named = self._look_up(connection, batches, head)
        group, answers = self._decide(known, named, head)
        return self._keep(connection, group, answers, head, edge)

    def _decide(
        self, known: Lookups, batches: Sequence[Sequence[PreparedEvent]], head: Head
    ) -> tuple[GroupAdmission, list[Answer]]:
        group = GroupAdmission(self._vocabulary, head, self._clock(), known, self._rng)
        return group, [_admitted(group, batch) for batch in batches]

    def _keep(
        self, connection: sqlite3.Connection, group: GroupAdmission, answers: list[Answer], head: Head, edge: TreeEdge
    ) -> WrittenGroup:
        if not group.rows:
            return WrittenGroup(answers, head, edge)
        lines: list[bytes] = group.rows[LINE :: len(COLUMNS)]  # type: ignore[assignment]
        if len(lines) < LARGE:
            edge, filled = _grown(edge, lines)
            keep(connection, group.rows, filled)
        else:
            growing = self._hashing.submit(_grown, edge, lines)
            with _transaction(connection):
                _insert(connection, group.rows)
                edge, filled = growing.result()
                connection.executemany(INSERT_TILE, filled)
        return WrittenGroup(answers, Head(group.position, group.recorded_us), edge)

    def _look_up(
        self, connection: sqlite3.Connection, asked: Sequence[Sequence[PreparedEvent]], head: Head
    ) -> tuple[Lookups, list[list[PreparedEvent]]]:
        """Ask the log about every stream and id of the group, and name the streams that have no id yet."""
        batches = [list(batch) for batch in asked]
        keys = {(e.draft.source, e.draft.id) for batch in batches for e in batch if e.draft.id is not None}
        subjects = {e.subject for batch in batches for e in batch if not e.made}
        unnamed = [(batch, index) for batch in batches for index, entry in enumerate(batch) if entry.made]
        while True:
            for offset, (batch, index) in enumerate(unnamed, 1):
                batch[index] = self._name(batch[index], head.position + offset, subjects)
            known = _known(connection, subjects, keys)
            unnamed = [(batch, index) for batch, index in unnamed if batch[index].subject in known.streams]
            if not unnamed:
                return known, batches

    def _name(self, entry: PreparedEvent, position: int, subjects: set[str]) -> PreparedEvent:
        while (named := name_stream(entry, position, self._rng)).subject in subjects:
            pass
        subjects.add(named.subject)
        return named


def keep(connection: sqlite3.Connection, values: list[object], filled: Sequence[Tile]) -> None:
    """Insert events and full tiles in one transaction: that of a single statement, but where a tile is full.

    Shapes: `values` is the columns of the events one after another. Errors: sqlite3.Error.
    """
    if not filled:
        _insert(connection, values)
        return
    with _transaction(connection):
        _insert(connection, values)
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


def _grown(edge: TreeEdge, lines: Sequence[bytes]) -> tuple[TreeEdge, list[Tile]]:
    return edge.grow(leaf_hashes(lines))


def _insert(connection: sqlite3.Connection, values: list[object]) -> None:
    rows = len(values) // len(COLUMNS)
    if rows:
        places = statement_rows(rows)
        connection.execute(insert_statement(places), values + [None] * ((places - rows) * len(COLUMNS)))


def _admitted(group: GroupAdmission, batch: Sequence[PreparedEvent]) -> Answer:
    try:
        return group.admit(batch)
    except TallystickError as error:
        return error


def _known(connection: sqlite3.Connection, subjects: set[str], keys: set[tuple[str | None, str]]) -> Lookups:
    known = Lookups({}, {})
    asked = (msgspec.json.encode(subjects).decode(), msgspec.json.encode(keys).decode())
    for subject, version, kind, source, event_id, position, line in connection.execute(KNOWN, asked).fetchall():
        if line is None:
            known.streams[subject] = StreamHead(version, kind)
        else:
            placed = AppendedEvent(position, event_id, subject, version, duplicate=False)
            known.taken[source, event_id] = ExistingEvent(placed, line)
    return known
