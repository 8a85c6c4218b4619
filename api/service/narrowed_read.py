"""Use case: events within a range of time, or with a correlation id, without reading the whole log.

The log has no index of either. The events projection says which positions may have such events, and only these are read
from the log. What is newer than the projection is read as it is. So the events are those of a plain read, and no read
waits for a fold.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from msgspec import structs

from ledger.errors import ViewDamaged
from ledger.log import LogPage, LogReader, Query
from ledger.threads import run_on_thread
from projections.engine import Engine

if TYPE_CHECKING:
    from projections.event_index import EventIndex, Span

CANDIDATES_MAX = 2_000
"""Positions of a correlation id that are looked for at once."""


async def read_narrowed(log: LogReader, engine: Engine, query: Query) -> LogPage:
    """Return the page that the log has for a query. Errors: LedgerUnavailable."""
    if not _can_be_narrowed(query):
        return await log.read(query)
    try:
        async with aclosing(_narrowed(engine, query, (await log.head()).position)) as parts:
            return await _read_parts(log, query, parts)
    except ViewDamaged:
        return await log.read(query)


async def scan_narrowed(log: LogReader, engine: Engine, query: Query, head: int) -> AsyncGenerator[LogPage, None]:
    """Yield the pages that the log has for a query up to a position. Errors: LedgerUnavailable."""
    query = structs.replace(query, before=query.end(head))
    if _can_be_narrowed(query):
        with suppress(ViewDamaged):
            async with aclosing(_narrowed(engine, query, head)) as parts:
                async for part in parts:
                    async for page in _pages(log, part):
                        yield page
                        query = _continued(query, page)
                return
    async for page in _pages(log, query):
        yield page


async def _pages(log: LogReader, query: Query) -> AsyncGenerator[LogPage, None]:
    while True:
        page = await log.read(query)
        if page.positions:
            yield page
        if not page.more:
            return
        query = _continued(query, page)


def _continued(query: Query, page: LogPage) -> Query:
    """Return the query for what follows a page."""
    edge = {"before" if query.order == "desc" else "after": page.positions[-1]}
    return structs.replace(query, **edge)


def _can_be_narrowed(query: Query) -> bool:
    """Return whether a query has a filter for which the log has no index. A stream has few events."""
    return not query.subjects and (query.correlationid, query.since_us, query.until_us) != (None, None, None)


async def _read_parts(log: LogReader, query: Query, parts: AsyncGenerator[Query, None]) -> LogPage:
    """Return one page of several queries, whose events follow each other in the order of the page."""
    pages: list[bytes] = []
    positions: list[int] = []
    firsts: list[int] = []
    async for part in parts:
        left = query.limit - len(positions)
        page = await log.read(structs.replace(part, limit=max(1, left)))
        if page.positions and not left:
            return LogPage(b"\n".join(pages), positions, more=True, firsts=firsts)
        if page.positions:
            pages.append(page.ndjson)
            positions += page.positions
            firsts += page.firsts
        if page.more:
            return LogPage(b"\n".join(pages), positions, more=True, firsts=firsts)
    return LogPage(b"\n".join(pages), positions, more=False, firsts=firsts)


async def _narrowed(engine: Engine, query: Query, head: int) -> AsyncGenerator[Query, None]:
    """Yield queries that together match what a query matches, and read less, in the order of its page."""
    from projections.event_index import EventIndex, Span  # noqa: PLC0415 - it loads numpy; most reads do not need it

    index, position = await engine.newest(EventIndex, head)
    after, before = query.after, query.end(head)
    known, rest = Span(after, min(before, position + 1)), Span(max(after, position), before)
    parts = _known_parts(index, query, known)
    if query.order == "asc":
        async for part in parts:
            yield part
    if rest.after + 1 < rest.before:
        yield structs.replace(query, after=rest.after, before=rest.before)
    if query.order == "desc":
        async for part in parts:
            yield part


async def _known_parts(index: "EventIndex", query: Query, known: "Span") -> AsyncGenerator[Query, None]:
    """Yield the queries for the positions that the projection has."""
    if known.after + 1 >= known.before:
        return
    if query.correlationid is None:
        spans = index.spans(query.since_us, query.until_us)
        for span in spans if query.order == "asc" else reversed(spans):
            after, before = max(span.after, known.after), min(span.before, known.before)
            if after + 1 < before:
                yield structs.replace(query, after=after, before=before)
        return
    marks, found = index.marks(), [0] * CANDIDATES_MAX
    while len(found) == CANDIDATES_MAX:
        found = await run_on_thread(
            marks.find, query.correlationid, known, CANDIDATES_MAX, newest_first=query.order == "desc"
        )
        if found:
            yield structs.replace(query, positions=tuple(found))
            known = known._replace(**({"after": found[-1]} if query.order == "asc" else {"before": found[-1]}))
