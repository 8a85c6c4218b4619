"""Use case: search the log for a page of events, in bounded time however long the log is.

A filter that matches little may read every event, such as one agent with one type. So the positions are searched in
windows, each up to twice as long as the one before and no longer than the rest of the time allows, until the page is
full, or the time is up; the answer says which positions remain.
"""

from time import monotonic
from typing import NamedTuple

from msgspec import structs

from api.service.ledger import View
from ledger.log import Query

SEARCH_S = 0.1
"""Seconds after which no further window begins."""

FIRST_WINDOW_EVENTS = 5_000


class EventSearch(NamedTuple):
    """The found lines in the order of the query, and their positions.

    `next` is the bound with which the search continues: `before` in descending order, `after` in ascending order; None
    if every event was searched. `more` says whether the page was full before the search ended.
    """

    lines: list[bytes]
    positions: list[int]
    next: int | None
    more: bool


async def search_events(view: View, query: Query, search_s: float = SEARCH_S) -> EventSearch:
    """Find the first `limit` events of a query, or those that are found in the time. Errors: InvalidQuery."""
    end_s = monotonic() + search_s
    head = (await view.reader.head()).position
    low, high = query.after, min(query.before if query.before is not None else head + 1, head + 1)
    descending = query.order == "desc"
    found = EventSearch([], [], None, more=False)
    window = FIRST_WINDOW_EVENTS
    while True:
        first = max(low, high - 1 - window) if descending else low
        last = high if descending else min(high, low + 1 + window)
        limit, window_s = query.limit - len(found.positions), monotonic()
        page = await view.read(structs.replace(query, after=first, before=last, limit=limit))
        found.lines.extend(page.lines)
        found.positions.extend(page.positions)
        if page.more:
            return found._replace(next=found.positions[-1], more=True)
        low, high = (low, first + 1) if descending else (last - 1, high)
        if low >= high - 1:
            return found
        full, now_s = len(found.positions) == query.limit, monotonic()
        if full or now_s >= end_s:
            return found._replace(next=high if descending else low, more=full)
        window = max(1, int(window * min(2, (end_s - now_s) / max(now_s - window_s, 1e-6))))
