"""Read the events of an export page by page, the next page while the last one is written."""

import asyncio
from collections.abc import AsyncGenerator

from msgspec import structs

from ledger.log import LogPage, LogReader, Query

PAGE_BYTES = 8 << 20
"""Approximate size of a page: large enough that the cost of each query does not matter."""

EVENTS_MIN, EVENTS_MAX = 64, 16_384
"""The least and the most events of a page; the first page has the least."""


async def scan(reader: LogReader, query: Query, size: int) -> AsyncGenerator[LogPage, None]:
    """Yield every event up to a position that matches a query. Errors: LedgerUnavailable."""
    query = structs.replace(query, before=size + 1, limit=EVENTS_MIN, walk=True)
    next_page = asyncio.ensure_future(reader.read(query))
    try:
        while True:
            page = await next_page
            if page.more:
                query = structs.replace(query, after=page.positions[-1], limit=_limit(page))
                next_page = asyncio.ensure_future(reader.read(query))
            if page.positions:
                yield page
            if not page.more:
                return
    finally:
        next_page.cancel()


def _limit(page: LogPage) -> int:
    """Estimate how many events fit into PAGE_BYTES, from the last page."""
    fitting = PAGE_BYTES * len(page.positions) // max(1, len(page.ndjson))
    return max(EVENTS_MIN, min(EVENTS_MAX, fitting))
