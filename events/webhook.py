"""The webhook stream: how the delivery of each event to a receiver ended.

Only a server appends these events. The stream of an endpoint says which events it got, in their order: the position of
the newest event that was delivered or given up is where a server continues after a restart. Addresses and secrets are
in the file of the webhooks alone.
"""

from typing import Annotated, Literal

import msgspec

from events.payload import Count, Label, Labels, Payload, StreamId

WebhookEnding = Literal["gone", "removed"]

Attempts = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
HttpStatus = Annotated[int, msgspec.Meta(ge=100, le=999)]


class WebhookStarted(Payload, frozen=True, kw_only=True):
    """A server has begun to deliver events to an endpoint."""

    endpoint_id: StreamId
    """Names the stream `webhook/ENDPOINT_ID`. Source: the file of the webhooks."""
    after: Count
    """The endpoint gets events after this position. Source: the file of the webhooks."""
    kinds: Labels
    """The kinds of events that it gets. Source: the file of the webhooks."""


class WebhookDelivered(Payload, frozen=True, kw_only=True):
    """The receiver has accepted an event: it answered with a status of 200 to 299."""

    endpoint_id: StreamId
    """The endpoint. Source: the server."""
    event_position: Count
    """The position of the event that was delivered. Source: the server."""
    message_id: Label
    """The header `webhook-id`, the same at each attempt. Source: the server."""
    attempts: Attempts
    """Attempts at this event by the server process that ended it. Source: counted."""
    status: HttpStatus
    """The status of the answer. Source: the receiver."""


class WebhookAbandoned(Payload, frozen=True, kw_only=True):
    """The server has given up an event, and continues with the next one."""

    endpoint_id: StreamId
    """The endpoint. Source: the server."""
    event_position: Count
    """The position of the event that was given up. Source: the server."""
    message_id: Label
    """The header `webhook-id`. Source: the server."""
    attempts: Count
    """Attempts at this event by the server process that gave it up; 0: an earlier event had failed. Source: counted."""
    reason: Label
    """Why the last attempt failed. Source: the server."""


class WebhookEnded(Payload, frozen=True, kw_only=True):
    """Nothing more is delivered to the endpoint; events that it did not get until then are given up."""

    endpoint_id: StreamId
    """The endpoint. Source: the server."""
    reason: WebhookEnding
    """`gone`: the receiver answered 410. `removed`: the operator removed the endpoint. Source: the server."""
    last_position: Count
    """The newest position when it ended: events up to it that were not delivered are given up. Source: the server."""
