"""Use case: search the log for a page of events, in bounded time however long the log is.

A filter that matches little may read every event, such as one agent with one type. So the positions are searched in
windows, each up to twice as long as the one before and no longer than the rest of the time allows, until the page is
full, or the time is up; the answer says which positions remain.
"""

from time import monotonic
from typing import NamedTuple

import msgspec
from msgspec import structs

from api.service.ledger import View
from events.envelope import agent_of
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
    low, high = query.after, query.end(head)
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


class StoredAttributes(msgspec.Struct, frozen=True, kw_only=True):
    """The attributes of a stored event that lists show. Lines that the vocabulary refuses have them, too."""

    position: int
    id: str
    type: str
    subject: str
    source: str
    time: str
    recordedtime: str
    streamversion: int
    correlationid: str | None = None
    causationid: str | None = None

    @property
    def agent(self) -> str:
        """The agent's name."""
        return agent_of(self.source)


class EventList(msgspec.Struct, frozen=True, kw_only=True):
    """Events, newest first.

    `older` is the position before which the search continues, None at the beginning of the log; `full` says whether
    the list ended because it is full. `newer` is the position before which the list of newer events begins, 0 if that
    is the newest list; None if this is the newest list.
    """

    events: list[StoredAttributes]
    older: int | None
    full: bool
    newer: int | None


attributes_of = msgspec.json.Decoder(StoredAttributes).decode


async def newest_events(view: View, query: Query, events_max: int) -> EventList:
    """List the newest events that match a query, at most `events_max`, below `before` if it has that.

    Errors: InvalidQuery.
    """
    found = await search_events(view, structs.replace(query, order="desc", limit=events_max))
    return EventList(
        events=[attributes_of(line) for line in found.lines],
        older=found.next,
        full=found.more,
        newer=None if query.before is None else await _newer(view, query, events_max),
    )


async def _newer(view: View, query: Query, events_max: int) -> int:
    """Return the position before which the list of the next newer events begins; 0 for the newest list."""
    assert query.before is not None
    above = structs.replace(query, after=query.before - 1, before=None, order="asc", limit=events_max)
    if above.after > (await view.reader.head()).position:
        return 0
    found = await search_events(view, above)
    return 0 if found.next is None else found.next + 1
