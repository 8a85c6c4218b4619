"""What every log does in the same way with its own reads: follow, and find the position of a moment."""

from collections.abc import AsyncIterator, Callable

from msgspec import structs

from ledger.errors import LedgerUnavailable
from ledger.log import LogPage, LogReader, Query


async def follow_log(reader: LogReader, query: Query, is_open: Callable[[], bool]) -> AsyncIterator[LogPage]:
    """Yield every matching event after `query.after`, in order, until the reader is closed."""
    after = query.after
    try:
        while is_open():
            head = (await reader.head()).position
            page = await reader.read(structs.replace(query, after=after, before=head + 1, order="asc"))
            if page.positions:
                after = page.positions[-1]
                yield page
            else:
                after = max(after, head)
                await reader.wait_for_events(head)
    except LedgerUnavailable:
        if is_open():
            raise


async def find_position(reader: LogReader, recorded_us: int) -> int:
    """Return the last position recorded at or before a moment: by I6, a binary search finds it."""
    low, high = 0, (await reader.head()).position
    while low < high:
        middle = (low + high + 1) // 2
        if await reader.recorded_at(middle) <= recorded_us:
            low = middle
        else:
            high = middle - 1
    return low


def has_filters(query: Query) -> bool:
    """Return whether a query has filters; without, it matches consecutive events."""
    lists = query.types or query.subjects or query.positions
    return bool(lists) or (query.source, query.since_us, query.until_us, query.correlationid) != (None,) * 4
