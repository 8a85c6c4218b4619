"""A message of a webhook: one stored event as it is, signed by Standard Webhooks 1.0."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

import msgspec

from api.service.webhooks.server_events import SOURCE
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import timestamp
from ledger.log import LogPage
from ledger.transparency.merkle import leaf_hash

CONTENT_TYPE = "application/cloudevents+json"
"""CloudEvents in structured mode."""

TEST_TYPE = "tallystick.webhook.test"
"""The type of a test message; no event of the log has it."""


_EVALUATED = "guardrail.evaluated.v1"


class Message(NamedTuple):
    """A message: the header `webhook-id`, the line of its event, and the event's position, id and time of recording.

    A test message has position 0: its event is not in the log.
    """

    id: str
    body: bytes
    position: int = 0
    event_id: str = ""
    recordedtime: str = ""


class _Result(msgspec.Struct, frozen=True):
    outcome: str


class _Data(msgspec.Struct, frozen=True):
    results: tuple[_Result, ...] = ()


class _EventHead(msgspec.Struct, frozen=True):
    id: str
    recordedtime: str
    type: str
    data: msgspec.Raw


def messages_of(page: LogPage) -> Iterator[Message]:
    """Yield the message of each event of a page that is sent.

    Lines that no append wrote are left out, since tallystick verify names those; so are evaluations of guardrails in
    which no rule fired.
    """
    for position, line in zip(page.positions, page.lines, strict=True):
        try:
            event = msgspec.json.decode(line, type=_EventHead)
            sent = event.type != _EVALUATED or _has_fired(event.data)
        except DECODE_ERRORS:
            continue
        if sent:
            yield Message(message_id(line), line, position, event.id, event.recordedtime)


def _has_fired(data: msgspec.Raw) -> bool:
    """Return whether a rule fired in an evaluation of guardrails. Errors: DECODE_ERRORS."""
    return any(result.outcome == "fired" for result in msgspec.json.decode(data, type=_Data).results)


def message_id(line: bytes) -> str:
    """Return the header `webhook-id` of a line: its hash in the Merkle tree, the same at each attempt."""
    return f"msg_{leaf_hash(line).hex()}"


def build_test_message(endpoint_id: str, now: datetime) -> Message:
    """Return a message that tests an endpoint. Its event is not in the log, and has no position."""
    event = {
        "specversion": "1.0",
        "id": str(uuid4()),
        "source": SOURCE,
        "type": TEST_TYPE,
        "subject": f"webhook/{endpoint_id}",
        "time": timestamp(now),
        "data": {"endpoint_id": endpoint_id},
    }
    line = msgspec.json.encode(event)
    return Message(message_id(line), line)


def sign(secret: str, message: Message, timestamp_s: int) -> dict[str, str]:
    """Return the headers of a message: id, time of the attempt, and the HMAC-SHA256 of both and the body."""
    signed = f"{message.id}.{timestamp_s}.".encode() + message.body
    digest = hmac.digest(b64decode(secret.removeprefix("whsec_")), signed, "sha256")
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": f"v1,{b64encode(digest).decode()}",
    }
