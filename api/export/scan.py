"""The events that an export selects, page by page, the next one read while the last is written."""

import asyncio
from collections.abc import AsyncGenerator

from msgspec import structs

from ledger import LogReader, Page, Query

PAGE_BYTES = 8 << 20
"""About how large a page is: enough that what a page costs is nothing beside its events."""

EVENTS_MIN, EVENTS_MAX = 64, 16_384
"""Bounds of how many events are asked for at once; the first page asks for the fewest."""


async def scan(reader: LogReader, query: Query, size: int) -> AsyncGenerator[Page, None]:
    """Every event up to a position that fits a query. Errors: LedgerUnavailable."""
    query = structs.replace(query, before=size + 1, limit=EVENTS_MIN, walk=True)
    coming = asyncio.ensure_future(reader.read(query))
    try:
        while True:
            page = await coming
            if page.more:
                query = structs.replace(query, after=page.positions[-1], limit=_limit(page))
                coming = asyncio.ensure_future(reader.read(query))
            if page.positions:
                yield page
            if not page.more:
                return
    finally:
        coming.cancel()


def _limit(page: Page) -> int:
    """How many events a page of PAGE_BYTES holds, judged by the last one."""
    fitting = PAGE_BYTES * len(page.positions) // max(1, len(page.ndjson))
    return max(EVENTS_MIN, min(EVENTS_MAX, fitting))
