"""Full-text search: an index of words in a file beside the ledger, which may be thrown away at any time.

It is brought up to date from the log when somebody searches. A row is a piece of text (`texts.py`), numbered by the
position of its event, and keeps up to where it stood: nothing is ever taken out, and a search as of a position reads
the texts of then. What the file says is used only if its version is the code's and the ledger's line at its position
is the one it was made from; otherwise it is emptied, or made anew, and filled again. Where it cannot be written, a
private one is made that goes with the process.

Two processes may hold the file: each looks at its state within the transaction in which it reads or writes.
"""

import asyncio
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import aiosqlite
import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import DecisionAmended, DecisionReviewed
from events.envelope import EventFacts
from ledger.errors import LedgerUnavailable
from ledger.sqlite.connection import connect
from projections.decisions.decision_index import Places
from projections.decisions.searchable_text import TextPiece, has_searchable_text, piece_from_event, pieces_from_stream
from projections.engine import Engine

VERSION = 1
"""Raise it whenever the same events give another index."""

BridgeSide = Literal["structure", "function"]

_SIDE_WEIGHT = 4.0
"""How much a word on the side of the bridge that was asked for counts, against one elsewhere."""

_COMMIT_EVENTS = 50_000
"""Events in one transaction: FTS5 writes a segment for each, and merges them."""

_BUSY_S = 10.0
_CACHE_KIB = 32_768
_SCORE_UNIT = 1e-9
_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_SCHEMA)

_CREATE = """
CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, position INTEGER NOT NULL, anchor BLOB NOT NULL
) STRICT;
CREATE TABLE pieces (
  position INTEGER PRIMARY KEY, place INTEGER NOT NULL, review INTEGER NOT NULL, until INTEGER
) STRICT;
CREATE INDEX pieces_of_reviews ON pieces (place) WHERE review = 1;
CREATE VIRTUAL TABLE words USING fts5 (text, structure, function, content = '', tokenize = 'ascii');
"""
_PROBE = "SELECT s.version, p.place, p.review, p.until, w.rowid FROM state s, pieces p, words w LIMIT 0"
_EMPTY = ("DELETE FROM pieces", "INSERT INTO words (words) VALUES ('delete-all')")

_HELD = """
SELECT coalesce(group_concat(printf('%08x0000000000000000', pieces.place), ''), '')
FROM words JOIN pieces ON pieces.position = words.rowid
WHERE words MATCH ?1 AND words.rowid <= ?2 AND (pieces.until IS NULL OR pieces.until > ?2)
"""
"""The pieces that hold a word, joined inside SQLite: one row, one step, and the interpreter's lock given up for it."""

_RANKED = """
WITH found AS MATERIALIZED (
  SELECT rowid AS position, bm25(words, 1.0, {structure}, {function}) AS score
  FROM words WHERE words MATCH ?1 AND rowid <= ?2
)
SELECT coalesce(group_concat(printf('%08x%016x', pieces.place, CAST(-found.score / {unit} AS INTEGER)), ''), '')
FROM found JOIN pieces USING (position) WHERE pieces.until IS NULL OR pieces.until > ?2
"""
"""The same with how well each fits."""

_hit = np.dtype([("place", ">u4"), ("score", ">i8")])


class SearchHits(NamedTuple):
    """Decisions, oldest first, how well each fits (bm25, the more the better), and how many of the words it holds."""

    places: Places
    scores: npt.NDArray[np.float64]
    held: npt.NDArray[np.int64]

    def holding(self, places: Places, least: int) -> Places:
        """Those of some decisions, in their order, that hold at least so many of the words."""
        return places[np.isin(places, self.places[self.held >= least])]

    def ranked(self, places: Places) -> "SearchHits":
        """What is found among some decisions, the best first, and of those alike the newest."""
        among = np.flatnonzero(np.isin(self.places, places))
        best = among[np.lexsort((-self.places[among], -self.scores[among]))]
        return SearchHits(self.places[best], self.scores[best], self.held[best])


class FullTextSearch:
    """The index of one ledger's words. Any number of searches may be asked at once; they take turns."""

    def __init__(self, path: Path, engine: Engine) -> None:
        self._path = path
        self._engine = engine
        self._connection: aiosqlite.Connection | None = None
        self._private = False
        self._renewed = False
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        async with self._turn:
            await self._let_go()

    async def find(
        self,
        words: Collection[str],
        upto: int,
        places: Mapping[str, int],
        *,
        rank: bool = False,
        side: BridgeSide | None = None,
    ) -> SearchHits:
        """The decisions that held any of some words behind a position; ranked only where it is asked for.

        `places` numbers the streams in the order in which they were opened, and knows all up to the position.
        Errors: LedgerUnavailable.
        """
        statement = _ranked(side) if rank else _HELD
        async with self._turn:
            while True:
                try:
                    connection = self._connection or await self._open()
                    hits = await self._find(connection, statement, sorted(set(words)), upto, places)
                except sqlite3.Error as error:
                    await self._give_up(error)
                else:
                    self._renewed = False
                    return hits

    async def _find(
        self,
        connection: aiosqlite.Connection,
        statement: str,
        words: Sequence[str],
        upto: int,
        places: Mapping[str, int],
    ) -> SearchHits:
        """What the words find, all in one state of the file."""
        while True:
            await connection.rollback()
            await connection.execute("BEGIN")
            try:
                position = await self._position(connection)
                if position >= upto:
                    return await _gather(connection, statement, words, upto, len(places))
            finally:
                await connection.rollback()
            await self._catch_up(connection, upto, places)

    async def _catch_up(self, connection: aiosqlite.Connection, upto: int, places: Mapping[str, int]) -> None:
        """Index what is new, up to a position, a transaction at a time."""
        await connection.execute("BEGIN IMMEDIATE")
        try:
            position = await self._position(connection)
            if position == 0:
                for statement in _EMPTY:
                    await connection.execute(statement)
            begin = min(position, upto)
            end = min(upto, begin + _COMMIT_EVENTS)
            async with aclosing(self._engine.read_slices(begin, end)) as slices:
                async for events in slices:
                    await self._index(connection, events, places)
            if begin < end:
                anchor = await self._engine.line_digest(end)
                await connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?)", (VERSION, end, anchor))
            await connection.commit()
        except BaseException:
            with suppress(sqlite3.Error, ValueError):
                await connection.rollback()
            raise

    async def _position(self, connection: aiosqlite.Connection) -> int:
        """How far the file is to be believed: position 0 where it was made by other code, or from other lines."""
        rows = await _rows(connection, "SELECT position, anchor FROM state WHERE version = ?", (VERSION,))
        position, anchor = rows[0] if rows else (0, b"")
        return position if position and await self._engine.line_digest(position) == anchor else 0

    async def _index(
        self, connection: aiosqlite.Connection, events: Sequence[EventFacts], places: Mapping[str, int]
    ) -> None:
        """Add the pieces of a run of events, and end those that they restate."""
        anew = await self._restating(connection, events, places)
        pieces = [
            (places[event.subject], piece)
            for event in events
            if event.subject not in anew and (piece := piece_from_event(event.position, event.data)) is not None
        ]
        first, last = events[0].position, events[-1].position
        ended: list[tuple[int, int]] = []
        for subject, stream in (await self._engine.read_streams(sorted(anew), last)).items():
            for piece in pieces_from_stream(stream):
                if piece.position >= first:
                    pieces.append((places[subject], piece))
                elif piece.until is not None and piece.until >= first:
                    ended.append((piece.position, piece.until))
        await _insert(connection, sorted(pieces, key=lambda each: each[1].position))
        await connection.execute(
            "UPDATE pieces SET until = json_extract(ended.value, '$[1]') FROM json_each(?) AS ended"
            " WHERE position = json_extract(ended.value, '$[0]')",
            (msgspec.json.encode(ended).decode(),),
        )

    async def _restating(
        self, connection: aiosqlite.Connection, events: Sequence[EventFacts], places: Mapping[str, int]
    ) -> set[str]:
        """The streams of which some events restate what was there, so that their pieces follow from all of it."""
        anew: set[str] = set()
        reviewed: dict[int, str] = {}
        for event in events:
            if not has_searchable_text(event.data):
                continue
            if isinstance(event.data, DecisionAmended) or places[event.subject] in reviewed:
                anew.add(event.subject)
            elif isinstance(event.data, DecisionReviewed):
                reviewed[places[event.subject]] = event.subject
        before = await _rows(
            connection,
            "SELECT DISTINCT pieces.place FROM json_each(?) AS asked JOIN pieces ON pieces.place = asked.value"
            " AND pieces.review = 1",
            (msgspec.json.encode(list(reviewed)).decode(),),
        )
        return anew | {reviewed[place] for (place,) in before}

    async def _open(self) -> aiosqlite.Connection:
        uri = "" if self._private else f"{self._path.absolute().as_uri()}?mode=rwc"
        if not self._private and self._path.exists() != self._path.is_file():
            raise sqlite3.OperationalError(f"{self._path} is no file")
        connection = await connect(uri, uri=not self._private, isolation_level=None, timeout=_BUSY_S)
        try:
            await connection.execute("PRAGMA journal_mode = TRUNCATE")  # two processes may write: no WAL to share
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            if not await _rows(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
                await connection.executescript(_CREATE)
            await _rows(connection, _PROBE)
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return connection

    async def _give_up(self, error: sqlite3.Error) -> None:
        """Leave a file that failed: for a new one in its place where it is damaged, once, and for a private one else.

        Errors: LedgerUnavailable, where the private one failed too.
        """
        await self._let_go()
        if self._private:
            detail = f"The texts cannot be searched: {error}."
            raise LedgerUnavailable(detail, "Make room where temporary files go, then search again.") from error
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED and not self._renewed:
            self._renewed = True
            _remove(self._path)
        else:
            self._private = True

    async def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error, ValueError):
                await connection.close()


def _ranked(side: BridgeSide | None) -> str:
    weights = {name: _SIDE_WEIGHT if side == name else 1.0 for name in ("structure", "function")}
    return _RANKED.format(unit=_SCORE_UNIT, **weights)


async def _gather(
    connection: aiosqlite.Connection, statement: str, words: Sequence[str], upto: int, size: int
) -> SearchHits:
    """What is found for each word, added up decision by decision."""
    scores, held = np.zeros(size), np.zeros(size, np.int64)
    for word in words:
        ((joined,),) = await _rows(connection, statement, (f'"{word}"', upto))
        found = np.frombuffer(bytes.fromhex(joined), dtype=_hit)
        at = found["place"].astype(np.intp)
        scores += np.bincount(at, found["score"] * _SCORE_UNIT, size)
        held += np.bincount(at, minlength=size) > 0
    places = np.flatnonzero(held)
    return SearchHits(places, scores[places], held[places])


async def _insert(connection: aiosqlite.Connection, pieces: Sequence[tuple[int, TextPiece]]) -> None:
    """One statement a table and run, so that SQLite works without the interpreter's lock."""
    if not pieces:
        return
    size = 1 << (len(pieces) - 1).bit_length()
    rows = ([piece.position, place, int(piece.review), piece.until] for place, piece in pieces)
    texts = ([piece.position, piece.text, piece.structure, piece.function] for _, piece in pieces)
    await connection.execute(_insert_statement("pieces", size), _filled(rows, size))
    await connection.execute(_insert_statement("words (rowid, text, structure, function)", size), _filled(texts, size))


@cache
def _insert_statement(table: str, rows: int) -> str:
    places = ", ".join(["(?, ?, ?, ?)"] * rows)
    return f"INSERT INTO {table} SELECT * FROM (VALUES {places}) WHERE column1 IS NOT NULL"


def _filled(rows: Iterable[Sequence[object]], size: int) -> list[object]:
    """The rows one after another, and nothing for those that are missing."""
    values = [value for row in rows for value in row]
    return values + [None] * (4 * size - len(values))


async def _rows(
    connection: aiosqlite.Connection, statement: str, parameters: Sequence[object] = ()
) -> list[sqlite3.Row]:
    return list(await connection.execute_fetchall(statement, parameters))


def _remove(path: Path) -> None:
    for suffix in ("", "-journal"):
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()
