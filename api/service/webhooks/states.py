"""How the events of a webhook ended, read beside a running server."""

from api.service.ledger import open_for_reading
from api.service.webhooks.endpoint_store import Endpoint
from api.service.webhooks.event_kinds import types_of
from api.service.webhooks.message import messages_of
from events.limits import PAGE_EVENTS_MAX
from ledger.log import Query
from ledger.place import Place
from projections.webhook_index import EndpointState, WebhookIndex


async def head_position(place: Place) -> int:
    """Return the newest position of a ledger; 0 if there is none yet. Errors: LedgerUnusable."""
    if not place.may_exist():
        return 0
    async with open_for_reading(place) as service:
        return await service.head_position()


async def read_state(place: Place, endpoint: Endpoint) -> tuple[EndpointState | None, int]:
    """Return the state of an endpoint, if a server has started it, and how many events wait for their delivery.

    Errors: LedgerUnusable.
    """
    if not place.may_exist():
        return None, 0
    async with open_for_reading(place) as service:
        index, _ = await service.at(WebhookIndex)
        state = index.endpoint(endpoint.id)
        if state is not None and state.ended is not None:
            return state, 0
        after = endpoint.after if state is None else state.position
        query = Query(types=types_of(endpoint.kinds), after=after, limit=PAGE_EVENTS_MAX)
        return state, sum([1 async for page in service.scan(query) for _ in messages_of(page)])
