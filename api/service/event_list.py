"""Use case: a page of the log, newest first, with the pages before and after it."""

import msgspec
from msgspec import structs

from api.service.event_search import search_events
from api.service.ledger import LedgerService
from events.envelope import agent_of
from ledger.log import Query


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


async def newest_events(ledger: LedgerService, query: Query, events_max: int) -> EventList:
    """List the newest events that match a query, at most `events_max`, below `before` if it has that.

    Errors: InvalidQuery.
    """
    found = await search_events(ledger, structs.replace(query, order="desc", limit=events_max))
    return EventList(
        events=[attributes_of(line) for line in found.lines],
        older=found.next,
        full=found.more,
        newer=None if query.before is None else await _newer(ledger, query, events_max),
    )


async def _newer(ledger: LedgerService, query: Query, events_max: int) -> int:
    """Return the position before which the list of the next newer events begins; 0 for the newest list."""
    assert query.before is not None
    above = structs.replace(query, after=query.before - 1, before=None, order="asc", limit=events_max)
    if above.after > (await ledger.reader.head()).position:
        return 0
    found = await search_events(ledger, above)
    return 0 if found.next is None else found.next + 1
