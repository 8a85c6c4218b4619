"""The webhooks projection: how far the deliveries to each endpoint have come."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import structs

from events.envelope import EventFacts
from events.payload import Payload
from events.webhook import WebhookAbandoned, WebhookDelivered, WebhookEnded, WebhookEnding, WebhookStarted
from projections.projection import Projection
from projections.saved_state import Part, keyed


class EndpointState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An endpoint: since when, and up to which position, events were delivered to it or given up.

    `last_delivered` is the time of the newest delivery, `last_reason` why the newest event was given up.
    """

    endpoint_id: str
    kinds: tuple[str, ...]
    started: str
    position: int
    delivered: int = 0
    abandoned: int = 0
    last_delivered: str | None = None
    last_reason: str | None = None
    ended: WebhookEnding | None = None


class WebhookIndex(Projection):
    """Every endpoint that a server has delivered to, in the order of the log."""

    name: ClassVar[str] = "webhooks"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (WebhookStarted, WebhookDelivered, WebhookAbandoned, WebhookEnded)

    parts: ClassVar[Mapping[str, Part]] = {
        "endpoints": keyed("_endpoints", EndpointState, "endpoint_id"),
    }

    def __init__(self) -> None:
        self._endpoints: dict[str, EndpointState] = {}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if isinstance(data, WebhookStarted):
                self._endpoints[data.endpoint_id] = EndpointState(
                    endpoint_id=data.endpoint_id, kinds=data.kinds, started=event.time, position=data.after
                )
            elif isinstance(data, WebhookDelivered | WebhookAbandoned | WebhookEnded):
                state = self._endpoints[data.endpoint_id]
                self._endpoints[data.endpoint_id] = _continue(state, data, event.time)

    def endpoints(self) -> Sequence[EndpointState]:
        """Return every endpoint."""
        return list(self._endpoints.values())

    def endpoint(self, endpoint_id: str) -> EndpointState | None:
        """Return one endpoint; None if no server has delivered to it yet."""
        return self._endpoints.get(endpoint_id)

    def summary(self) -> Mapping[str, object]:
        return {"endpoints": [structs.asdict(endpoint) for endpoint in self._endpoints.values()]}


def _continue(
    state: EndpointState, data: WebhookDelivered | WebhookAbandoned | WebhookEnded, time: str
) -> EndpointState:
    if isinstance(data, WebhookEnded):
        return structs.replace(state, ended=data.reason, position=max(state.position, data.last_position))
    position = max(state.position, data.event_position)
    if isinstance(data, WebhookDelivered):
        return structs.replace(state, position=position, delivered=state.delivered + 1, last_delivered=time)
    return structs.replace(state, position=position, abandoned=state.abandoned + 1, last_reason=data.reason)
