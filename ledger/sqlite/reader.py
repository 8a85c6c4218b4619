"""Read a ledger file: pages, followers, positions in time. Connections are read-only and never checkpoint (I8)."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

import msgspec
from msgspec import structs

from ledger.errors import LedgerUnavailable, LedgerUnusable, NotFound
from ledger.log import Head, Page, Query
from ledger.sqlite.connection import SqliteConnection, connect
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema import HEAD, SQLITE_VERSION_MIN, TILES
from ledger.sqlite.schema_check import check_ledger

POSITION_MAX = 2**63 - 1

_JOINED = (
    "SELECT {columns}, CAST(group_concat(line, char(10)) AS BLOB) FROM"
    " (SELECT position, line FROM events WHERE {where} ORDER BY position {order} LIMIT ?)"
)
"""Join a page inside SQLite: one row, one step and one release of the interpreter's lock for the whole page."""

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

    async def read(self, query: Query) -> Page:
        return await (self._read_filtered(query) if _has_filters(query) else self._read_unfiltered(query))

    async def _read_unfiltered(self, query: Query) -> Page:
        """Read consecutive events: by I1 the bounds give every position, their number, and whether more follow."""
        before = query.before if query.before is not None else POSITION_MAX
        statement = _JOINED.format(
            columns="count(*), (SELECT max(position) FROM events)", where=_POSITIONS[query.order], order=query.order
        )
        parameters = (query.after, before, query.limit, query.limit)
        count, head, ndjson = (await self._fetch(statement, parameters))[0]
        matching = range(query.after + 1, min(head or 0, before - 1) + 1)
        positions = (matching if query.order == "asc" else matching[::-1])[: query.limit]
        if count != len(positions):
            detail = f"{self.path} lacks events between positions {min(positions)} and {max(positions)}."
            raise LedgerUnavailable(detail, "The file was altered or damaged; find the place with tallystick verify.")
        return Page(ndjson, positions, more=count < len(matching)) if count else Page(b"", [], more=False)

    async def _read_filtered(self, query: Query) -> Page:
        """Read events that match filters."""
        where, parameters = _where(query)
        statement = _JOINED.format(columns="group_concat(position)", where=where, order=query.order)
        joined, ndjson = (await self._fetch(statement, (*parameters, query.limit)))[0]
        if joined is None:
            return Page(b"", [], more=False)
        positions = [int(position) for position in joined.split(",")]
        assert positions == sorted(positions, reverse=query.order == "desc"), "SQLite joined a page out of order"
        more = len(positions) == query.limit and await self._has_more(query, positions[-1])
        return Page(ndjson, positions, more=more)

    async def follow(self, query: Query) -> AsyncIterator[Page]:
        after = query.after
        try:
            while self._open:
                head = (await self.head()).position
                page = await self.read(structs.replace(query, after=after, before=head + 1, order="asc"))
                if page.positions:
                    after = page.positions[-1]
                    yield page
                else:
                    after = max(after, head)
                    await self._wait_for_events(head)
        except LedgerUnavailable:
            if self._open:
                raise

    async def position_at(self, recorded_us: int) -> int:
        low, high = 0, (await self.head()).position
        while low < high:
            middle = (low + high + 1) // 2
            if await self.recorded_at(middle) <= recorded_us:
                low = middle
            else:
                high = middle - 1
        return low

    async def recorded_at(self, position: int) -> int:
        rows = await self._fetch("SELECT recordedtime FROM events WHERE position = ?", (position,))
        if not rows:
            raise NotFound(f"Position {position} is not in the log.", f"It ends at {(await self.head()).position}.")
        return int(rows[0][0])

    async def counts(self, query: Query) -> dict[str, int]:
        if _has_filters(query):
            where, parameters = _where(query)
            statement = f"SELECT type, count(*) FROM events WHERE {where} GROUP BY type ORDER BY type"
            rows = await self._fetch(statement, parameters)
        else:
            before = query.before if query.before is not None else POSITION_MAX
            rows = await self._fetch(_COUNTS, (query.after, before))
        return {str(name): int(count) for name, count in rows}

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        return [hashes for (hashes,) in await self._fetch(TILES, (level, first, first + count))]

    async def _wait_for_events(self, seen: int) -> None:
        """Wait until there may be events after a position."""
        await asyncio.sleep(POLL_S)

    async def _has_more(self, query: Query, last: int) -> bool:
        where, parameters = _where(_from(query, last))
        return bool(await self._fetch(f"SELECT 1 FROM events WHERE {where} LIMIT 1", parameters))

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


def _from(query: Query, last: int) -> Query:
    """Return the same query, continued after a position."""
    return structs.replace(query, **({"before": last} if query.order == "desc" else {"after": last}))


def _has_filters(query: Query) -> bool:
    """Return whether a query has filters; without, it matches consecutive events."""
    filters = (query.types, query.subjects, query.source, query.since_us, query.until_us, query.correlationid)
    return filters != ((), (), None, None, None, None)


def _where(query: Query) -> tuple[str, tuple[object, ...]]:
    terms: list[tuple[str, tuple[object, ...]]] = [("position > ?", (query.after,))]
    if query.before is not None:
        terms.append(("position < ?", (query.before,)))
    # a plus sign keeps SQLite from using the index of the column
    type_column = "+type" if query.walk and len(query.types) > 1 else "type"
    source_column = "+source" if query.walk else "source"
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
