"""Read a ledger file: pages, followers, positions in time. Connections are read-only and never checkpoint (I8)."""

import asyncio
import sqlite3
from array import array
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec import structs

from ledger.errors import LedgerUnavailable, LedgerUnusable, NotFound
from ledger.log import Head, LogPage, Query
from ledger.log_queries import find_position, follow_log, has_filters
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema import HEAD, SQLITE_VERSION_MIN, TILES
from ledger.sqlite.schema_check import check_ledger

POSITION_MAX = 2**63 - 1

_JOINED = (
    "SELECT {columns}, CAST(group_concat(line, char(10)) AS BLOB), group_concat(first) FROM"
    " (SELECT position, line, {first} AS first FROM events AS e WHERE {where} ORDER BY position {order} LIMIT ?)"
)
"""Join a page inside SQLite: one row, one step and one release of the interpreter's lock for the whole page."""

_FIRST = (
    "CASE WHEN e.subject < '{kind}/' OR e.subject >= '{kind}0' THEN 0 WHEN e.streamversion = 1 THEN e.position"
    " ELSE coalesce((SELECT position FROM events WHERE subject = e.subject AND streamversion = 1), 0) END"
)
"""The position of the first event of an event's stream: one look-up in the index, 0.5 us. `0` follows `/` in ASCII."""

_POSITIONS = {
    "asc": "position > ?1 AND position < min(?2, ?1 + ?3 + 1)",
    "desc": "position < ?2 AND position > max(?1, min(?2, (SELECT max(position) FROM events) + 1) - ?3 - 1)",
}
"""The positions of a page without filters, from its bounds and limit alone: by I1, each has an event."""

_COUNTS = """
WITH RECURSIVE named (type) AS (
  SELECT min(type) FROM events
  UNION ALL SELECT (SELECT min(type) FROM events WHERE type > named.type) FROM named WHERE named.type IS NOT NULL
), counted (type, count) AS MATERIALIZED (
  SELECT type, (SELECT count(*) FROM events WHERE type = named.type AND position > ? AND position < ?) FROM named
)
SELECT type, count FROM counted WHERE count > 0 ORDER BY type
"""
"""Count the events of each type between two positions: one index range for each type, faster than GROUP BY."""

_SUBJECTS = """
SELECT e.subject FROM json_each(?1) AS asked JOIN events AS e ON e.position = asked.value ORDER BY asked.key
"""

_FIRST_POSITIONS = """
SELECT e.subject, e.position FROM json_each(?1) AS asked
  JOIN events AS e ON e.subject = asked.value AND e.streamversion = 1
"""

_POSITIONS_IN_STREAM = """
SELECT e.streamversion, e.position FROM json_each(?2) AS asked
  JOIN events AS e ON e.subject = ?1 AND e.streamversion = asked.value
"""

_POSITIONS_OF_ID = """
WITH RECURSIVE named (source) AS (
  SELECT min(source) FROM events
  UNION ALL SELECT (SELECT min(source) FROM events WHERE source > named.source) FROM named
   WHERE named.source IS NOT NULL
)
SELECT e.position FROM named JOIN events AS e ON e.source = named.source AND e.id = ?1 ORDER BY e.position LIMIT ?2
"""
"""The index has the source before the id: one look-up for each source."""

_STREAMS_WITHIN = """
SELECT subject FROM events
 WHERE subject >= ?1 AND subject < ?2 AND streamversion = 1 AND position <= ?3 ORDER BY subject LIMIT ?4
"""
"""A range of the index of streams, which has all four columns."""

_LAST_CHARACTER = "\U0010ffff"
"""Sorts after every character of a stream's name."""

_MANY_EVENTS = "SELECT 1 FROM events WHERE source = ? LIMIT 1 OFFSET ?"

SORTED_EVENTS_MAX = 20_000
"""Events of one source that are found by the index of sources, which is in the order of ids, and sorted: 50 ms."""

POLL_S = 0.05
"""Seconds between two checks for new events, in a process that does not write."""


class SqliteReader:
    """A read-only view of a ledger file, beside its writer or without one."""

    def __init__(self, connection: SqliteConnection, path: Path) -> None:
        self._connection = connection
        self._open = True
        self.path = path

    @classmethod
    async def open(cls, path: Path) -> Self:
        """Open a ledger file for reading. Errors: LedgerUnusable."""
        return cls(await connect_reader(path), path)

    async def close(self) -> None:
        self._open = False
        await self._connection.close()

    async def head(self) -> Head:
        rows = await self._fetch(HEAD, ())
        return Head(*rows[0]) if rows else Head(0, 0)

    async def read(self, query: Query) -> LogPage:
        return await (self._read_filtered(query) if has_filters(query) else self._read_unfiltered(query))

    async def _read_unfiltered(self, query: Query) -> LogPage:
        """Read consecutive events: by I1 the bounds give every position, their number, and whether more follow."""
        before = query.before if query.before is not None else POSITION_MAX
        statement = _JOINED.format(
            columns="count(*), (SELECT max(position) FROM events)",
            where=_POSITIONS[query.order],
            order=query.order,
            first=_first(query),
        )
        parameters = (query.after, before, query.limit, query.limit)
        count, head, ndjson, firsts = (await self._fetch(statement, parameters))[0]
        matching = range(query.after + 1, min(head or 0, before - 1) + 1)
        positions = (matching if query.order == "asc" else matching[::-1])[: query.limit]
        if count != len(positions):
            raise self._lacks_events(min(positions), max(positions))
        if not count:
            return LogPage(b"", [], more=False)
        return LogPage(ndjson, positions, more=count < len(matching), firsts=_integers(firsts))

    async def _read_filtered(self, query: Query) -> LogPage:
        """Read events that match filters."""
        if query.source is not None and not query.walk and not query.subjects:
            query = structs.replace(query, walk=await self._has_many_events(query.source))
        where, parameters = _where(query)
        statement = _JOINED.format(
            columns="group_concat(position)", where=where, order=query.order, first=_first(query)
        )
        joined, ndjson, firsts = (await self._fetch(statement, (*parameters, query.limit)))[0]
        if joined is None:
            return LogPage(b"", [], more=False)
        positions = _integers(joined)
        assert list(positions) == sorted(positions, reverse=query.order == "desc"), "SQLite joined a page out of order"
        more = len(positions) == query.limit and await self._has_more(query, positions[-1])
        return LogPage(ndjson, positions, more=more, firsts=_integers(firsts))

    def follow(self, query: Query) -> AsyncIterator[LogPage]:
        return follow_log(self, query, lambda: self._open)

    async def position_at(self, recorded_us: int) -> int:
        return await find_position(self, recorded_us)

    async def recorded_at(self, position: int) -> int:
        rows = await self._fetch("SELECT recordedtime FROM events WHERE position = ?", (position,))
        if not rows:
            raise NotFound(f"Position {position} is not in the log.", f"It ends at {(await self.head()).position}.")
        return int(rows[0][0])

    async def counts(self, query: Query) -> dict[str, int]:
        if has_filters(query):
            where, parameters = _where(query)
            statement = f"SELECT type, count(*) FROM events WHERE {where} GROUP BY type ORDER BY type"
            rows = await self._fetch(statement, parameters)
        else:
            before = query.before if query.before is not None else POSITION_MAX
            rows = await self._fetch(_COUNTS, (query.after, before))
        return {str(name): int(count) for name, count in rows}

    async def subjects(self, positions: Sequence[int]) -> list[str]:
        rows = await self._fetch(_SUBJECTS, (msgspec.json.encode(list(positions)).decode(),))
        if len(rows) != len(positions):
            raise self._lacks_events(min(positions), max(positions))
        return [str(subject) for (subject,) in rows]

    async def first_positions(self, subjects: Sequence[str]) -> dict[str, int]:
        rows = await self._fetch(_FIRST_POSITIONS, (msgspec.json.encode(list(subjects)).decode(),))
        return {str(subject): int(position) for subject, position in rows}

    async def positions_in_stream(self, subject: str, versions: Sequence[int]) -> dict[int, int]:
        rows = await self._fetch(_POSITIONS_IN_STREAM, (subject, msgspec.json.encode(list(versions)).decode()))
        return {int(version): int(position) for version, position in rows}

    async def positions_of_id(self, event_id: str, limit: int) -> list[int]:
        return [int(position) for (position,) in await self._fetch(_POSITIONS_OF_ID, (event_id, limit))]

    async def streams_starting_with(self, beginning: str, upto: int, limit: int) -> list[str]:
        rows = await self._fetch(_STREAMS_WITHIN, (beginning, beginning + _LAST_CHARACTER, upto, limit))
        return [str(subject) for (subject,) in rows]

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        return [hashes for (hashes,) in await self._fetch(TILES, (level, first, first + count))]

    async def wait_for_events(self, seen: int) -> None:
        """Wait until there may be events after a position."""
        await asyncio.sleep(POLL_S)

    def _lacks_events(self, first: int, last: int) -> LedgerUnavailable:
        detail = f"{self.path} lacks events between positions {first} and {last}."
        return LedgerUnavailable(detail, "The file was altered or damaged; find the place with tallystick verify.")

    async def _has_more(self, query: Query, last: int) -> bool:
        where, parameters = _where(_from(query, last))
        return bool(await self._fetch(f"SELECT 1 FROM events WHERE {where} LIMIT 1", parameters))

    async def _has_many_events(self, source: str) -> bool:
        """Return whether sorting the events of a source takes longer than reading the log until a page is full."""
        rows = await self._fetch(_MANY_EVENTS, (source, SORTED_EVENTS_MAX))
        return bool(rows)

    async def _fetch(self, statement: str, parameters: tuple[object, ...]) -> list[sqlite3.Row]:
        try:
            return list(await self._connection.execute_fetchall(statement, parameters))
        except (sqlite3.Error, ValueError) as error:
            raise LedgerUnavailable(f"{self.path} cannot be read: {error}.", "Check the disk, then retry.") from error


async def connect_reader(path: Path) -> SqliteConnection:
    """Open a read-only connection to a ledger file. Errors: LedgerUnusable."""
    if sqlite3.sqlite_version_info < SQLITE_VERSION_MIN:
        raise LedgerUnusable(f"SQLite {sqlite3.sqlite_version} is older than 3.37.", "Use a newer Python or SQLite.")
    if not path.is_file():
        raise LedgerUnusable(f"There is no ledger at {path}.", "Name one with --ledger, or begin it: tallystick serve.")
    try:
        connection = await connect(read_only_uri(path), uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{path} cannot be opened: {error}.", "Check its permissions.") from error
    try:
        await connection.run(check_ledger, path)
    except BaseException:
        await connection.close()
        raise
    return connection


def _first(query: Query) -> str:
    """Return the expression of the column `first` of a page."""
    assert not query.firsts or query.firsts.isalpha(), "a kind of streams, which is put into the statement"
    return _FIRST.format(kind=query.firsts) if query.firsts else "NULL"


def _integers(joined: str | None) -> "array[int]":
    """Return the integers that SQLite joined with commas."""
    return array("q", msgspec.json.decode(f"[{joined or ''}]", type=list[int]))


def _from(query: Query, last: int) -> Query:
    """Return the same query, continued after a position."""
    return structs.replace(query, **({"before": last} if query.order == "desc" else {"after": last}))


def _where(query: Query) -> tuple[str, tuple[object, ...]]:
    # a plus sign keeps SQLite from using the index of the column: a stream has few events, a type or an agent many, and
    # for a few hundred streams SQLite would read the whole log
    position = "+position" if query.subjects else "position"
    terms: list[tuple[str, tuple[object, ...]]] = [(f"{position} > ?", (query.after,))]
    if query.before is not None:
        terms.append((f"{position} < ?", (query.before,)))
    few = query.subjects or query.positions
    type_column = "+type" if few or (query.walk and len(query.types) > 1) else "type"
    source_column = "+source" if few or query.walk else "source"
    if query.positions:
        terms.append(("position IN (SELECT value FROM json_each(?))", (msgspec.json.encode(query.positions).decode(),)))
    if query.types:
        terms.append((f"{type_column} IN ({', '.join('?' * len(query.types))})", query.types))
    if query.subjects:
        terms.append((f"subject IN ({', '.join('?' * len(query.subjects))})", query.subjects))
    if query.source is not None:
        terms.append((f"{source_column} = ?", (query.source,)))
    if query.since_us is not None:
        terms.append(("time >= ?", (query.since_us,)))
    if query.until_us is not None:
        terms.append(("time <= ?", (query.until_us,)))
    if query.correlationid is not None:
        # the search in the bytes finds few lines, of which the second term decodes each
        stored = b'"correlationid":' + msgspec.json.encode(query.correlationid)
        terms.append(("instr(line, ?)", (stored,)))
        terms.append(("json_extract(CAST(line AS TEXT), '$.correlationid') = ?", (query.correlationid,)))
    return " AND ".join(term for term, _ in terms), tuple(value for _, values in terms for value in values)
