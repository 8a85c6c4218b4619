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
from ledger.private_file import make_private_file
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.schema_check import has_schema
from projections.arrays import RowNumbers
from projections.decisions.index_seal import IndexSeal
from projections.decisions.searchable_text import TextPiece, has_searchable_text, piece_from_event, pieces_from_stream
from projections.engine import Engine
from projections.snapshots import primary_code

VERSION = 2
"""Increase it when the same events give another index."""

BridgeSide = Literal["structure", "function"]

_SIDE_WEIGHT = 4.0
"""The weight of a word on the requested side of the bridge. A word anywhere else has weight 1."""

_COMMIT_EVENTS = 50_000
"""Most events in one transaction. Larger ones give fewer segments, because FTS5 writes one for each transaction."""

SEAL_INTERVAL_S = 30.0
"""Least seconds between two seals of a file that grows by fewer events. Sealing reads the whole file."""

_BUSY_S = 10.0
_CACHE_KIB = 32_768
_SCORE_UNIT = 1e-9
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

_MATCHES = """
SELECT coalesce(group_concat(printf('%08x0000000000000000', pieces.place), ''), '')
FROM words JOIN pieces ON pieces.position = words.rowid
WHERE words MATCH ?1 AND words.rowid <= ?2 AND (pieces.until IS NULL OR pieces.until > ?2)
"""
"""Selects the pieces with a word. SQLite joins them to one row in one step, during which Python releases its lock."""

_RANKED_MATCHES = """
WITH found AS MATERIALIZED (
  SELECT rowid AS position, bm25(words, 1.0, {structure}, {function}) AS score
  FROM words WHERE words MATCH ?1 AND rowid <= ?2
)
SELECT coalesce(group_concat(printf('%08x%016x', pieces.place, CAST(-found.score / {unit} AS INTEGER)), ''), '')
FROM found JOIN pieces USING (position) WHERE pieces.until IS NULL OR pieces.until > ?2
"""
"""Selects the same pieces with their bm25 scores."""

_COLUMNS = 4
"""Columns of each of the two tables of pieces."""

_hit = np.dtype([("place", ">u4"), ("score", ">i8")])


class SearchHits(NamedTuple):
    """Row numbers of decisions, oldest first, and for each its score and the number of words that it has.

    Scores are bm25, higher is better. `words_found` counts different words of the query.
    """

    places: RowNumbers
    scores: npt.NDArray[np.float64]
    words_found: npt.NDArray[np.int64]

    def filter_places(self, places: RowNumbers, words_min: int) -> RowNumbers:
        """Return those of `places`, in their order, that have at least `words_min` of the words."""
        return places[np.isin(places, self.places[self.words_found >= words_min])]

    def ranked(self, places: RowNumbers) -> "SearchHits":
        """Return the hits in `places`, the highest score first; of equal scores, the newest first."""
        selected = np.flatnonzero(np.isin(self.places, places))
        ranked = selected[np.lexsort((-self.places[selected], -self.scores[selected]))]
        return SearchHits(self.places[ranked], self.scores[ranked], self.words_found[ranked])


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
        self._turn = asyncio.Lock()

    async def close(self) -> None:
        """Seal the file if it has changed, and close it."""
        async with self._turn:
            await self._disconnect()

    async def find(
        self,
        words: Collection[str],
        upto: int,
        places: Mapping[str, int],
        *,
        rank: bool = False,
        side: BridgeSide | None = None,
    ) -> SearchHits:
        """Find the decisions that had at least one of the words as of position `upto`.

        `places` maps each stream up to that position to its row number. Scores are 0 without `rank`. `side` gives more
        weight to words on that side of a bridge.
        Errors: LedgerUnavailable.
        """
        statement = _ranked_statement(side) if rank else _MATCHES
        async with self._turn:
            if len(self._engine.left_out) != self._left_out:
                self._left_out = len(self._engine.left_out)
                await self._disconnect()
            while True:
                try:
                    connection = self._connection or await self._open()
                    hits = await self._find(connection, statement, sorted(set(words)), upto, places)
                except sqlite3.Error as error:
                    await self._recover(error)
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
        """Search for the words in one consistent state of the file."""
        while True:
            await connection.rollback()
            await connection.execute("BEGIN")
            try:
                position = await self._position(connection)
                if position >= upto:
                    return await _collect_hits(connection, statement, words, upto, len(places))
            finally:
                await connection.rollback()
            await self._catch_up(connection, upto, places)

    async def _catch_up(self, connection: aiosqlite.Connection, upto: int, places: Mapping[str, int]) -> None:
        """Index the next events up to a position, in one transaction of at most _COMMIT_EVENTS events."""
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
                root = await self._engine.root(end)
                await connection.execute("INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?)", (VERSION, end, root))
            self._unsealed += end - begin
            await connection.commit()
        except BaseException:
            with suppress(sqlite3.Error, ValueError):
                await connection.rollback()
            raise
        if self._unsealed >= _COMMIT_EVENTS or time.monotonic() - self._sealed_s > SEAL_INTERVAL_S:
            await self._write_seal()

    async def _write_seal(self) -> None:
        if self._owner and self._unsealed and self._seal is not None:
            await asyncio.to_thread(self._seal.write)
            self._unsealed, self._sealed_s = 0, time.monotonic()

    async def _position(self, connection: aiosqlite.Connection) -> int:
        """Return the position up to which the file is valid: 0 if it is of another version or another log."""
        rows = await _rows(connection, "SELECT position, root FROM state WHERE version = ?", (VERSION,))
        position, root = rows[0] if rows else (0, b"")
        if not position or position > (await self._engine.head()):
            return 0
        return position if await self._engine.root(position) == root else 0

    async def _index(
        self, connection: aiosqlite.Connection, events: Sequence[EventFacts], places: Mapping[str, int]
    ) -> None:
        """Add the pieces of a batch of events, and set the end of the pieces that they replace."""
        rebuilt = await self._streams_to_rebuild(connection, events, places)
        pieces = [
            (places[event.subject], piece)
            for event in events
            if event.subject not in rebuilt and (piece := piece_from_event(event.position, event.data)) is not None
        ]
        first, last = events[0].position, events[-1].position
        replaced: list[tuple[int, int]] = []
        for subject, stream in (await self._engine.read_streams(sorted(rebuilt), last)).items():
            for piece in pieces_from_stream(stream):
                if piece.position >= first:
                    pieces.append((places[subject], piece))
                elif piece.until is not None and piece.until >= first:
                    replaced.append((piece.position, piece.until))
        await _insert(connection, sorted(pieces, key=lambda item: item[1].position))
        await connection.execute(
            "UPDATE pieces SET until = json_extract(ended.value, '$[1]') FROM json_each(?) AS ended"
            " WHERE position = json_extract(ended.value, '$[0]')",
            (msgspec.json.encode(replaced).decode(),),
        )

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
        rows_with_review = await _rows(
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
                await connection.run(_deserialize, copy)
            if self._owner:
                await connection.execute("PRAGMA journal_mode = TRUNCATE")
            await connection.execute("PRAGMA synchronous = NORMAL")
            await connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            if not await connection.run(has_schema, self._path, _CREATE):
                raise _foreign_file(self._path)
            if not await _rows(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
                await connection.executescript(_CREATE)
            await _rows(connection, _PROBE)
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
        if not self._owner and not self._hindered and await asyncio.to_thread(seal.acquire):
            self._owner = True
        if self._owner:
            await asyncio.to_thread(seal.remove_unsealed)
            if self._path.exists() != self._path.is_file():
                raise sqlite3.OperationalError(f"{self._path} is not a file")
            if self._path.is_symlink():
                raise _foreign_file(self._path)
            with suppress(OSError):  # a folder that cannot be written: SQLite says so
                make_private_file(self._path)
            return None
        return None if self._hindered else await asyncio.to_thread(seal.sealed_bytes)

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
            await asyncio.to_thread(self._seal.remove)
        else:
            self._hindered = True

    async def _disconnect(self) -> None:
        """Close the connection, seal the file, and stop owning it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error, ValueError):
                await connection.close()
            await self._write_seal()
        if self._owner and self._seal is not None:
            self._seal.release()
        self._owner, self._unsealed = False, 0


def _deserialize(connection: sqlite3.Connection, data: bytes) -> None:
    connection.deserialize(data)


def _foreign_file(path: Path) -> sqlite3.DatabaseError:
    """Return the error for a file that is not an index, which is then replaced."""
    error = sqlite3.DatabaseError(f"{path} is not an index that Tallystick made")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _ranked_statement(side: BridgeSide | None) -> str:
    weights = {name: _SIDE_WEIGHT if side == name else 1.0 for name in ("structure", "function")}
    return _RANKED_MATCHES.format(unit=_SCORE_UNIT, **weights)


async def _collect_hits(
    connection: aiosqlite.Connection, statement: str, words: Sequence[str], upto: int, size: int
) -> SearchHits:
    """Search for each word, and add up scores and numbers of words by decision."""
    scores, words_found = np.zeros(size), np.zeros(size, np.int64)
    for word in words:
        ((joined,),) = await _rows(connection, statement, (f'"{word}"', upto))
        hits = np.frombuffer(bytes.fromhex(joined), dtype=_hit)
        rows = hits["place"].astype(np.intp)
        scores += np.bincount(rows, hits["score"] * _SCORE_UNIT, size)
        words_found += np.bincount(rows, minlength=size) > 0
    places = np.flatnonzero(words_found)
    return SearchHits(places, scores[places], words_found[places])


async def _insert(connection: aiosqlite.Connection, pieces: Sequence[tuple[int, TextPiece]]) -> None:
    """Insert a batch with one statement for each table, so that SQLite runs while Python releases its lock."""
    if not pieces:
        return
    size = 1 << (len(pieces) - 1).bit_length()
    rows = ([piece.position, place, int(piece.review), piece.until] for place, piece in pieces)
    texts = ([piece.position, piece.text, piece.structure, piece.function] for _, piece in pieces)
    await connection.execute(_insert_statement("pieces", size), _padded_values(rows, size))
    await connection.execute(
        _insert_statement("words (rowid, text, structure, function)", size), _padded_values(texts, size)
    )


@cache
def _insert_statement(table: str, rows: int) -> str:
    row = f"({', '.join('?' * _COLUMNS)})"
    values = ", ".join([row] * rows)
    return f"INSERT INTO {table} SELECT * FROM (VALUES {values}) WHERE column1 IS NOT NULL"


def _padded_values(rows: Iterable[Sequence[object]], size: int) -> list[object]:
    """Return the values of all rows of _COLUMNS values, padded with None to `size` rows."""
    values = [value for row in rows for value in row]
    return values + [None] * (_COLUMNS * size - len(values))


async def _rows(
    connection: aiosqlite.Connection, statement: str, parameters: Sequence[object] = ()
) -> list[sqlite3.Row]:
    return list(await connection.execute_fetchall(statement, parameters))
