"""Full-text search of decisions, with an FTS5 index in a file beside the ledger that may be deleted at any time.

A search first indexes the new events of the log. A row of `pieces` is a piece of text (`searchable_text.py`). Its
number is the position of its event, and another piece replaces it from the position `until` on. Rows are never deleted,
so a search as of a position finds the texts of that time. The file is used only if its seal is right
(`index_seal.py`), its version is the version of the code, and the log has the same root at its position as when it was
written. Otherwise it is emptied, or replaced, and filled again.

If the file cannot be written, or another process owns it, a private index is used until the process ends. It begins as
a copy of the sealed file.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import aiosqlite
import msgspec

from events.decision import DecisionAmended, DecisionReviewed
from events.envelope import EventFacts
from ledger.errors import LedgerUnavailable
from ledger.private_file import make_private_file
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.schema_check import has_schema
from ledger.threads import run_on_thread
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_numbers import DecisionNumbers
from projections.decisions.index_rows import insert_pieces, read_word, rows_of
from projections.decisions.index_seal import IndexSeal
from projections.decisions.kept_hits import KeptHits
from projections.decisions.search_hits import BridgeSide, SearchHits, collect_hits, hits_statement
from projections.decisions.searchable_text import (
    has_searchable_text,
    piece_from_event,
    pieces_from_stream,
    whole_text,
)
from projections.decisions.word_rows import KeptWords, RowsWithWords, WordRows, may_keep
from projections.engine import Engine
from projections.event_slice import EventSlice
from projections.snapshots import foreign_file, primary_code

VERSION = 2
"""Increase it when the same events give another index."""

_COMMIT_EVENTS = 50_000
"""Most events in one transaction. Larger ones give fewer segments, because FTS5 writes one for each transaction."""

SEAL_INTERVAL_S = 30.0
"""Least seconds between two seals of a file that grows by fewer events. Sealing reads the whole file."""

_TURN_S = 0.1
"""About how long a search for all decisions with some words reads before it lets other searches go first."""

_BUSY_S = 10.0
_CACHE_KIB = 16_384
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA)

_CREATE = """
CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, position INTEGER NOT NULL, root BLOB NOT NULL
) STRICT;
CREATE TABLE pieces (
  position INTEGER PRIMARY KEY, place INTEGER NOT NULL, review INTEGER NOT NULL, until INTEGER
) STRICT;
CREATE INDEX pieces_of_reviews ON pieces (place) WHERE review = 1;
CREATE VIRTUAL TABLE words USING fts5 (text, structure, function, content = '', tokenize = 'ascii');
"""
_PROBE = "SELECT s.version, s.root, p.place, p.review, p.until, w.rowid FROM state s, pieces p, words w LIMIT 0"
_EMPTY = ("DELETE FROM pieces", "INSERT INTO words (words) VALUES ('delete-all')")

_Result = TypeVar("_Result")


class FullTextSearch:
    """The full-text index of one ledger. Concurrent searches run one after another. Without `secret` it is private."""

    def __init__(self, path: Path, engine: Engine, secret: bytes | None) -> None:
        self._path = path
        self._engine = engine
        self._connection: SqliteConnection | None = None
        self._seal = None if secret is None else IndexSeal(path, secret)
        self._owner = False
        self._hindered = False
        """Whether the file could not be used: then the index is private."""
        self._unsealed = 0
        self._sealed_s = float("-inf")
        self._left_out = 0
        self._renewed = False
        self._kept = KeptWords()
        self._hits = KeptHits()
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        """Seal the file if it has changed, and close it."""
        async with self._turn:
            await self._disconnect()

    async def find(
        self,
        words: Collection[str],
        upto: int,
        numbers: DecisionNumbers,
        *,
        rank: bool = False,
        side: BridgeSide | None = None,
    ) -> SearchHits:
        """Find the decisions that had at least one of the words as of position `upto`.

        `numbers` has the row number of every decision up to that position. Scores are 0 without `rank`. `side` gives
        more weight to words on that side of a bridge.
        Errors: LedgerUnavailable.
        """
        statement = hits_statement(side, rank=rank)
        asked = sorted(set(words))

        async def collect(connection: aiosqlite.Connection) -> SearchHits:
            self._hits.follow(self._kept.position)
            return await collect_hits(connection, statement, asked, upto, len(numbers), self._hits)

        async with self._turn:
            await self._notice_left_out()
            return await self._read(collect, upto, numbers)

    async def find_rows(
        self, words: frozenset[str], at: Callable[[], Awaitable[tuple[DecisionIndex, int]]]
    ) -> tuple[DecisionIndex, int, RowsWithWords]:
        """Find the decisions that have all words; return them with the index that `at` returned, and its position.

        `at` is asked in turn with other searches, so that the index never has events of later positions than a live
        view has. It may be asked several times: a long search pauses for others. What it returns must not change.
        Errors: LedgerUnavailable, and those of `at`.
        """
        if not may_keep(words):
            index, upto = await at()
            hits = await self.find(words, upto, index.numbers)
            rows = WordRows(index.numbers.table.group_rows)
            rows.put(hits.with_words(len(words)), having=True)
            return index, upto, RowsWithWords(words, [rows])
        while True:
            async with self._turn:
                index, upto = await at()
                await self._notice_left_out()
                if self._kept.have(words, upto) or await self._read(
                    partial(self._read_words, words, upto, index.numbers), upto, index.numbers
                ):
                    kept = [self._kept.rows(word, upto, index.numbers.table.group_rows) for word in sorted(words)]
                    self._kept.trim()
                    return index, upto, RowsWithWords(words, kept)

    async def _read_words(
        self, words: frozenset[str], upto: int, numbers: DecisionNumbers, connection: aiosqlite.Connection
    ) -> bool:
        """Bring the rows of words up to a position, for about _TURN_S; return whether all of them are."""
        started = time.monotonic()
        for word in sorted(words):
            known = self._kept.rows(word, upto, numbers.table.group_rows)
            while not await read_word(connection, word, known, upto):
                if time.monotonic() - started > _TURN_S:
                    return False
        return True

    async def _read(
        self, read: Callable[[aiosqlite.Connection], Awaitable[_Result]], upto: int, numbers: DecisionNumbers
    ) -> _Result:
        """Read the index, which has the events up to a position then. The caller has the turn."""
        while True:
            try:
                connection = self._connection or await self._open()
                result = await self._read_consistently(connection, read, upto, numbers)
            except sqlite3.Error as error:
                await self._recover(error)
            else:
                self._renewed = False
                return result

    async def _notice_left_out(self) -> None:
        """Close the index if more events are left out than when it was filled: then a private one is filled."""
        if len(self._engine.left_out) != self._left_out:
            self._left_out = len(self._engine.left_out)
            await self._disconnect()

    async def _read_consistently(
        self,
        connection: aiosqlite.Connection,
        read: Callable[[aiosqlite.Connection], Awaitable[_Result]],
        upto: int,
        numbers: DecisionNumbers,
    ) -> _Result:
        """Read one consistent state of the file."""
        while True:
            await connection.rollback()
            await connection.execute("BEGIN")
            try:
                position = await self._position(connection)
                if position >= upto:
                    self._kept.follow(position)
                    return await read(connection)
            finally:
                await connection.rollback()
            await self._catch_up(connection, upto, numbers)

    async def _catch_up(self, connection: aiosqlite.Connection, upto: int, numbers: DecisionNumbers) -> None:
        """Index the next events up to a position, in one transaction of at most _COMMIT_EVENTS events."""
        await connection.execute("BEGIN IMMEDIATE")
        restated: dict[int, str] = {}
        try:
            position = await self._position(connection)
            self._kept.follow(position)
            if position == 0:
                for statement in _EMPTY:
                    await connection.execute(statement)
            begin = min(position, upto)
            end = min(upto, begin + _COMMIT_EVENTS)
            async with aclosing(self._engine.events.read_slices(begin, end)) as slices:
                async for events in slices:
                    restated |= await self._index(connection, events, numbers)
            if begin < end:
                root = await self._engine.root(end)
                await connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?)", (VERSION, end, root))
            self._unsealed += end - begin
            await connection.commit()
            self._kept.restate(end, restated)
        except BaseException:
            with suppress(sqlite3.Error, ValueError):
                await connection.rollback()
            raise
        if self._unsealed >= _COMMIT_EVENTS or time.monotonic() - self._sealed_s > SEAL_INTERVAL_S:
            await self._write_seal()

    async def _write_seal(self) -> None:
        if self._owner and self._unsealed and self._seal is not None:
            await run_on_thread(self._seal.write)
            self._unsealed, self._sealed_s = 0, time.monotonic()

    async def _position(self, connection: aiosqlite.Connection) -> int:
        """Return the position up to which the file is valid: 0 if it is of another version or another log."""
        rows = await rows_of(connection, "SELECT position, root FROM state WHERE version = ?", (VERSION,))
        position, root = rows[0] if rows else (0, b"")
        if not position or position > (await self._engine.head()):
            return 0
        return position if await self._engine.root(position) == root else 0

    async def _index(
        self, connection: aiosqlite.Connection, events: EventSlice, numbers: DecisionNumbers
    ) -> dict[int, str]:
        """Add the pieces of a batch of events, and set the end of the pieces that they replace.

        Return the whole text of each decision that had pieces replaced.
        """
        places = numbers.places(events)
        rebuilt = await self._streams_to_rebuild(connection, events, places)
        pieces = [
            (places[event.subject], piece)
            for event in events
            if event.subject not in rebuilt and (piece := piece_from_event(event.position, event.data)) is not None
        ]
        first, last = events[0].position, events[-1].position
        replaced: list[tuple[int, int]] = []
        restated: dict[int, str] = {}
        for subject, stream in (await self._engine.events.read_streams(sorted(rebuilt), last)).items():
            rebuilt_pieces = pieces_from_stream(stream)
            restated[places[subject]] = whole_text(rebuilt_pieces)
            for piece in rebuilt_pieces:
                if piece.position >= first:
                    pieces.append((places[subject], piece))
                elif piece.until is not None and piece.until >= first:
                    replaced.append((piece.position, piece.until))
        await insert_pieces(connection, sorted(pieces, key=lambda item: item[1].position))
        await connection.execute(
            "UPDATE pieces SET until = json_extract(ended.value, '$[1]') FROM json_each(?) AS ended"
            " WHERE position = json_extract(ended.value, '$[0]')",
            (msgspec.json.encode(replaced).decode(),),
        )
        return restated

    async def _streams_to_rebuild(
        self, connection: aiosqlite.Connection, events: Sequence[EventFacts], places: Mapping[str, int]
    ) -> set[str]:
        """Return the streams whose events replace earlier text. Their pieces are built again from all their events."""
        rebuilt: set[str] = set()
        reviewed: dict[int, str] = {}
        for event in events:
            if not has_searchable_text(event.data):
                continue
            if isinstance(event.data, DecisionAmended) or places[event.subject] in reviewed:
                rebuilt.add(event.subject)
            elif isinstance(event.data, DecisionReviewed):
                reviewed[places[event.subject]] = event.subject
        rows_with_review = await rows_of(
            connection,
            "SELECT DISTINCT pieces.place FROM json_each(?) AS asked JOIN pieces ON pieces.place = asked.value"
            " AND pieces.review = 1",
            (msgspec.json.encode(list(reviewed)).decode(),),
        )
        return rebuilt | {reviewed[place] for (place,) in rows_with_review}

    async def _open(self) -> SqliteConnection:
        copy = await self._choose_file()
        uri = f"{self._path.absolute().as_uri()}?mode=rwc" if self._owner else ""
        connection = await connect(uri, uri=self._owner, isolation_level=None, timeout=_BUSY_S)
        try:
            if copy is not None:
                await connection.run(sqlite3.Connection.deserialize, copy)
            if self._owner:
                await connection.execute("PRAGMA journal_mode = TRUNCATE")
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            if not await connection.run(has_schema, self._path, _CREATE):
                raise foreign_file(self._path)
            if not await rows_of(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
                await connection.executescript(_CREATE)
            await rows_of(connection, _PROBE)
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return connection

    async def _choose_file(self) -> bytes | None:
        """Become the owner of the file if possible. If not, return the bytes that a private index begins with."""
        seal = self._seal
        if seal is None or self._left_out:
            return None
        if not self._owner and not self._hindered and await run_on_thread(seal.acquire):
            self._owner = True
        if self._owner:
            await run_on_thread(seal.remove_unsealed)
            if self._path.exists() != self._path.is_file():
                raise sqlite3.OperationalError(f"{self._path} is not a file")
            if self._path.is_symlink():
                raise foreign_file(self._path)
            with suppress(OSError):  # a folder that cannot be written: SQLite says so
                make_private_file(self._path)
            return None
        return None if self._hindered else await run_on_thread(seal.sealed_bytes)

    async def _recover(self, error: sqlite3.Error) -> None:
        """Prepare another file after a failure: delete a damaged one, but only once; otherwise use a private one.

        Errors: LedgerUnavailable, if the private one failed too.
        """
        owner = self._owner
        await self._disconnect()
        if self._hindered or self._seal is None or self._left_out:
            detail = f"The texts cannot be searched: {error}."
            raise LedgerUnavailable(detail, "Free some space for temporary files, then search again.") from error
        if owner and primary_code(error) in _DAMAGED and not self._renewed:
            self._renewed = True
            await run_on_thread(self._seal.remove)
        else:
            self._hindered = True

    async def _disconnect(self) -> None:
        """Close the connection, seal the file, and stop owning it."""
        self._kept.clear()
        self._hits.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error, ValueError):
                await connection.close()
            await self._write_seal()
        if self._owner and self._seal is not None:
            self._seal.release()
        self._owner, self._unsealed = False, 0
