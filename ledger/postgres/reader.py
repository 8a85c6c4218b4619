"""Read a ledger in PostgreSQL: pages, followers, positions in time."""

import asyncio
import re
import time
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Self, TypeVar

import msgspec
from msgspec import structs

from ledger.errors import LedgerUnavailable, LedgerUnusable, NotFound
from ledger.log import Head, LogPage, Query
from ledger.log_queries import find_position, follow_log, has_filters
from ledger.place import DatabasePlace
from ledger.postgres.connection import (
    LOST,
    SILENT_S,
    UNREADABLE,
    LedgerConnection,
    UnknownOutcomeError,
    connect_durably,
    unavailable,
    unusable,
)
from ledger.postgres.replaced import unless_replaced
from ledger.postgres.schema import HEAD

CONNECTIONS = 4
"""Connections of a reader at most: as many reads run side by side."""

BARRIER_S = 10.0
"""Seconds that a new connection waits for its barrier, before the read fails."""

RETRY_S = 12.0
"""Seconds for which a read is tried again after its connection was lost: as long as a failover usually takes."""

PAUSE_S = 0.1
"""Seconds between two tries."""

POLL_S = 0.025
"""Seconds between two checks for new events of other nodes, while a caller waits for one."""

_Result = TypeVar("_Result")

_FIRST = """
CASE WHEN starts_with(e.subject, '{kind}/') THEN CASE WHEN e.streamversion = 1 THEN e.position ELSE coalesce(
  (SELECT f.position FROM events AS f WHERE f.subject = e.subject AND f.streamversion = 1), 0) END ELSE 0 END
"""

_COUNTS = """
WITH RECURSIVE named (type) AS (
  (SELECT type FROM events ORDER BY type LIMIT 1)
  UNION ALL SELECT (SELECT type FROM events WHERE type > named.type ORDER BY type LIMIT 1)
    FROM named WHERE named.type IS NOT NULL
)
SELECT * FROM (
  SELECT type, (SELECT count(*) FROM events WHERE events.type = named.type AND position > $1 AND position < $2) AS count
    FROM named WHERE type IS NOT NULL
) AS counted WHERE count > 0 ORDER BY type
"""
"""Count the events of each type between two positions: one index range for each type."""

_SUBJECTS = """
SELECT e.subject FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (position, place)
  JOIN events AS e ON e.position = asked.position ORDER BY asked.place
"""

_FIRST_POSITIONS = """
SELECT e.subject, e.position FROM unnest($1::text[]) AS asked (subject)
  JOIN events AS e ON e.subject = asked.subject AND e.streamversion = 1
"""

_POSITIONS_IN_STREAM = """
SELECT streamversion, position FROM events WHERE subject = $1 AND streamversion = ANY ($2::int[])
"""

_POSITIONS_OF_ID = """
WITH RECURSIVE named (source) AS (
  (SELECT source FROM events ORDER BY source LIMIT 1)
  UNION ALL SELECT (SELECT source FROM events WHERE source > named.source ORDER BY source LIMIT 1)
    FROM named WHERE named.source IS NOT NULL
)
SELECT e.position FROM named JOIN events AS e ON e.source = named.source AND e.id = $1 ORDER BY e.position LIMIT $2
"""
"""The index has the source before the id: one look-up for each source."""

_STREAMS_WITHIN = """
SELECT subject FROM events
 WHERE subject >= $1 AND subject < $2 AND streamversion = 1 AND position <= $3 ORDER BY subject LIMIT $4
"""

_LAST_CHARACTER = "\U0010ffff"
"""Sorts after every character of a stream's name."""

_TILES = "SELECT hashes FROM tiles WHERE level = $1 AND number >= $2 AND number < $3 ORDER BY number"

_POSITION_MAX = 2**63 - 1

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""On Linux, a clock that goes on while the machine is suspended."""


def elapsed_s() -> float:
    """Return the seconds since a moment in the past, with those for which this process, or its machine, was stopped."""
    return time.clock_gettime(_CLOCK)


class PostgresReader:
    """A view of a ledger in PostgreSQL, over a few connections. It sees what every node has committed."""

    retried: tuple[type[Exception], ...] = (*LOST, UnknownOutcomeError)
    """Errors after which a read is tried again on a new connection."""

    def __init__(self, place: DatabasePlace) -> None:
        self.place = place
        self._open = True
        self._idle: list[LedgerConnection] = []
        self._generation = 0
        """Counts the calls of `disconnect`: what was being read then may be older than what was read since."""
        self._awake_s: float | None = None
        """When this process was last seen to run, if a task watches that."""
        self._allowed = asyncio.Semaphore(CONNECTIONS)
        self._newest = Head(0, 0)
        self._grown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, place: DatabasePlace) -> Self:
        """Open a ledger for reading. Errors: LedgerUnusable."""
        reader = cls(place)
        try:
            await reader.connect()
        except (*UNREADABLE, UnknownOutcomeError) as error:
            raise unusable(place, error) from error
        return reader

    async def connect(self) -> None:
        """Make the first connection. Errors: LedgerUnusable, if there is no such ledger; UNREADABLE."""
        self._idle.append(await self._connect())

    async def _connect(self) -> LedgerConnection:
        return await connect_durably(self.place, BARRIER_S)

    async def close(self) -> None:
        """Close the connections. Reads that are running fail, and followers end."""
        self._open = False
        if self._watch is not None:
            self._watch.cancel()
        self._wake()
        self.disconnect()

    def disconnect(self) -> None:
        """Have reads connect again, behind a barrier, and repeat those that run: the primary may be another one."""
        self._generation += 1
        while self._idle:
            self._idle.pop().abort()

    def note_awake(self) -> None:
        """Note that this process runs. After a long stop reads connect again: the primary may be another one."""
        if self._awake_s is not None:
            now_s = elapsed_s()
            if now_s - self._awake_s > SILENT_S:
                self.disconnect()
            self._awake_s = now_s

    @property
    def newest(self) -> Head:
        """Return the newest event that this process has seen, without waiting."""
        return self._newest

    async def head(self) -> Head:
        ((position, recorded_us),) = await self._fetch(HEAD)
        self.note_head(Head(position, recorded_us))
        return Head(position, recorded_us)

    def note_head(self, head: Head) -> None:
        """Wake those who wait for events, if the log has grown."""
        if head.position > self._newest.position:
            self._newest = head
            self._wake()

    async def read(self, query: Query) -> LogPage:
        counted, count = _counted(query)
        where, parameters = _where(counted)
        first = f", {_FIRST.format(kind=query.firsts)} AS first" if query.firsts else ""
        assert not query.firsts or query.firsts.isalpha(), "a kind of streams, which is put into the statement"
        statement = f"SELECT e.position, e.line{first} FROM events AS e WHERE {where} ORDER BY e.position {query.order}"
        rows = await self._fetch(f"{statement} LIMIT ${len(parameters) + 1}", *parameters, count)
        more, rows = len(rows) > query.limit, rows[: query.limit]
        positions = array("q", [row[0] for row in rows])
        if rows and not has_filters(query) and not _is_contiguous(query, positions):
            raise LedgerUnavailable(
                f"{self.place} lacks events between positions {min(positions)} and {max(positions)}.",
                "The table was altered or is damaged: restore a backup.",
            )
        firsts = array("q", [row[2] for row in rows]) if first else ()
        return LogPage(b"\n".join([row[1] for row in rows]), positions, more=more, firsts=firsts)

    def follow(self, query: Query) -> AsyncIterator[LogPage]:
        return follow_log(self, query, lambda: self._open)

    async def wait_for_events(self, seen: int) -> None:
        """Wait until there may be events after a position."""
        if self._newest.position > seen or not self._open:
            return
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watch_head(), name="ledger-head")
        await asyncio.wait([self._grown])

    async def position_at(self, recorded_us: int) -> int:
        return await find_position(self, recorded_us)

    async def recorded_at(self, position: int) -> int:
        rows = await self._fetch("SELECT recordedtime FROM events WHERE position = $1", position)
        if not rows:
            raise NotFound(f"Position {position} is not in the log.", f"It ends at {(await self.head()).position}.")
        return int(rows[0][0])

    async def counts(self, query: Query) -> dict[str, int]:
        if has_filters(query):
            where, parameters = _where(query)
            statement = f"SELECT type, count(*) FROM events AS e WHERE {where} GROUP BY type ORDER BY type"
            rows = await self._fetch(statement, *parameters)
        else:
            rows = await self._fetch(_COUNTS, query.after, _POSITION_MAX if query.before is None else query.before)
        return {str(name): int(count) for name, count in rows}

    async def subjects(self, positions: Sequence[int]) -> list[str]:
        rows = await self._fetch(_SUBJECTS, list(positions))
        if len(rows) != len(positions):
            detail = f"{self.place} lacks events between positions {min(positions)} and {max(positions)}."
            raise LedgerUnavailable(detail, "The table was altered or is damaged: restore a backup.")
        return [str(subject) for (subject,) in rows]

    async def first_positions(self, subjects: Sequence[str]) -> dict[str, int]:
        rows = await self._fetch(_FIRST_POSITIONS, _storable(subjects))
        return {str(subject): int(position) for subject, position in rows}

    async def positions_in_stream(self, subject: str, versions: Sequence[int]) -> dict[int, int]:
        known = [version for version in versions if 0 < version < 2**31]
        rows = await self._fetch(_POSITIONS_IN_STREAM, subject, known) if _storable([subject]) else []
        return {int(version): int(position) for version, position in rows}

    async def positions_of_id(self, event_id: str, limit: int) -> list[int]:
        rows = await self._fetch(_POSITIONS_OF_ID, event_id, limit) if _storable([event_id]) else []
        return [int(position) for (position,) in rows]

    async def streams_starting_with(self, beginning: str, upto: int, limit: int) -> list[str]:
        if not _storable([beginning]):
            return []
        rows = await self._fetch(_STREAMS_WITHIN, beginning, beginning + _LAST_CHARACTER, upto, limit)
        return [str(subject) for (subject,) in rows]

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        return [hashes for (hashes,) in await self._fetch(_TILES, level, first, first + count)]

    async def _watch_head(self) -> None:
        """Ask for the head again and again, while a caller waits for it to grow."""
        while self._open:
            try:
                await self.head()
            except LedgerUnavailable:  # the readers get the error themselves, when they read
                self._wake()
            await asyncio.sleep(POLL_S)

    def _wake(self) -> None:
        if not self._grown.done():
            self._grown.set_result(None)
        self._grown = asyncio.get_running_loop().create_future()

    async def _fetch(self, statement: str, *parameters: object) -> list[Any]:
        """Run a statement that only reads. Errors: LedgerUnavailable, also if the ledger is not there any more."""
        try:
            return await self.run(lambda connection: connection.fetch(statement, *parameters))
        except LedgerUnusable as error:
            raise LedgerUnavailable(error.detail, error.advice) from error

    async def run(self, work: Callable[[LedgerConnection], Awaitable[_Result]], *, commits: bool = False) -> _Result:
        """Run a function that may be run twice on a connection; again on a new one, if that is lost.

        The new one has passed its barrier: it shows nothing that an unconfirmed commit left on the primary alone.
        `commits`: the result rests on a confirmed commit, so it holds although the primary may have been replaced
        meanwhile; what was only read is then read again. Errors: LedgerUnavailable.
        """
        deadline_s = asyncio.get_running_loop().time() + RETRY_S
        fresh = False
        while True:
            try:
                return await self._try(work, fresh=fresh, commits=commits)
            except ValueError as error:  # a parameter that asyncpg cannot encode
                raise unavailable(self.place, error) from error
            except self.retried as error:
                if not self._open or asyncio.get_running_loop().time() > deadline_s:
                    raise unavailable(self.place, error) from error
            except UNREADABLE as error:
                raise unavailable(self.place, error) from error
            fresh = True
            await asyncio.sleep(PAUSE_S)

    async def _try(
        self, work: Callable[[LedgerConnection], Awaitable[_Result]], *, fresh: bool, commits: bool
    ) -> _Result:
        async with self._allowed:
            if not self._open:
                raise LedgerUnavailable(f"{self.place} is closed.", "Open it again.")
            self.note_awake()
            while self._idle and self._idle[-1].is_closed():
                self._idle.pop()
            known = bool(self._idle) and not fresh
            generation = self._generation
            connection = self._idle.pop() if known else await self._connect()
            try:
                result = await unless_replaced(self.place, connection, work(connection))
            except BaseException as error:
                connection.abort()
                if isinstance(error, LOST) and not isinstance(error, ValueError):  # a parameter that is not encoded
                    self.disconnect()
                raise
            if not self._release(connection, generation) and not commits:
                raise ConnectionError("the primary server may have been replaced during the read")
            return result

    def _release(self, connection: LedgerConnection, generation: int) -> bool:
        """Keep a connection that may be used again; return whether what was read through it may be returned."""
        current = generation == self._generation
        if self._open and current:
            self._idle.append(connection)
        else:
            connection.abort()
        return current or not self._open


def _counted(query: Query) -> tuple[Query, int]:
    """Return a query and how many events to ask for: one more than its page has, to see whether more follow.

    Without filters the number states where the page ends (I1), so that the query needs no second bound. Between two
    bounds PostgreSQL expects few events of a table without statistics, and sorts all that there are.
    """
    count = query.limit + 1
    if query.before is None or query.order == "desc" or has_filters(query):
        return query, count
    return structs.replace(query, before=None), max(0, min(count, query.before - query.after - 1))


def _is_contiguous(query: Query, positions: Sequence[int]) -> bool:
    """Return whether no event is missing in a page without filters (I1)."""
    begins = query.order == "desc" or positions[0] == query.after + 1
    return begins and abs(positions[-1] - positions[0]) + 1 == len(positions)


def _storable(texts: Sequence[str]) -> list[str]:
    """Return the texts that PostgreSQL can store; no event has another one."""
    return [text for text in texts if not _UNSTORABLE.search(text)]


def _where(query: Query) -> tuple[str, tuple[object, ...]]:
    """Return the condition of a query, and its parameters."""
    parameters: list[object] = []
    terms: list[str] = []

    def add(term: str, value: object) -> None:
        parameters.append(value)
        terms.append(term.format(f"${len(parameters)}"))

    add("e.position > {}", query.after)
    if query.before is not None:
        add("e.position < {}", query.before)
    if query.positions:
        add("e.position = ANY ({}::bigint[])", list(query.positions))
    if query.types:
        add("e.type = ANY ({}::text[])", _storable(query.types))
    if query.subjects:
        add("e.subject = ANY ({}::text[])", _storable(query.subjects))
    if query.source is not None:
        add("e.source = ANY ({}::text[])", _storable([query.source]))
    if query.since_us is not None:
        add("e.time >= {}", query.since_us)
    if query.until_us is not None:
        add("e.time <= {}", query.until_us)
    if query.correlationid is not None:
        # the search in the bytes finds few lines, of which the second term decodes each
        add("position({} IN e.line) > 0", b'"correlationid":' + msgspec.json.encode(query.correlationid))
        add(
            "convert_from(e.line, 'UTF8')::json ->> 'correlationid' = ANY ({}::text[])",
            _storable([query.correlationid]),
        )
    return " AND ".join(terms), tuple(parameters)
