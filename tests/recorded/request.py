"""A request of the recorded session, as data."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

JSON = "application/json"
BATCH = "application/cloudevents-batch+json"
STRUCTURED = "application/cloudevents+json"
LINES = "application/x-ndjson"
FEED = "text/event-stream"

Json = dict[str, object]


class Request(NamedTuple):
    """One request, and how the recorder sends it.

    The recorder replaces `{{NAME}}` in the target and the body with an id that the server made earlier in the scene.
    """

    method: str
    target: str
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    keeps: tuple[tuple[str, str], ...] = ()
    """Names for ids in the answer, each with its dotted path."""
    later_s: int = 0
    """Seconds to move the clock before this request, besides the usual one."""
    feed_events: int = 0
    """Events to read from a feed before closing the connection."""
    signed: bool = False
    """Whether to wait until the newest checkpoint covers the head."""
    disk_fails: bool = False
    """Whether every sync of a file fails from this request on."""
    named: bool = True
    """Whether to send an `x-request-id`. Otherwise the server makes one."""


def get(path: str, *, accept: str = "", token: str = "", **parameters: object) -> Request:
    """Build a GET. A trailing `_` of a parameter is dropped: `from_` is the parameter `from`."""
    query = urlencode({name.rstrip("_"): str(value) for name, value in parameters.items()}, safe=":,/")
    headers = (("accept", accept),) if accept else ()
    return Request("GET", f"{path}?{query}" if query else path, headers=headers + bearer(token))


def post(path: str, body: object, media: str = JSON, *, token: str = "", **headers: str) -> Request:
    """Build a POST of bytes, or of any other value as JSON. `ce_type` is the header `ce-type`."""
    sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    media_type = (("content-type", media),) if media else ()
    return Request("POST", path, encoded(body), (*media_type, *sent, *bearer(token)))


def call(method: str, params: object = None, *, token: str = "", call_id: object = 1, later_s: int = 0) -> Request:
    """Build a call of a CSTP method."""
    frame: Json = {"jsonrpc": "2.0", "id": call_id, "method": f"cstp.{method}"}
    if params is not None:
        frame["params"] = params
    return post("/cstp", frame, token=token)._replace(later_s=later_s)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Return the header for a token."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def encoded(body: object) -> bytes:
    """Return bytes as they are, and any other value as JSON."""
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


def ndjson(events: list[Json]) -> bytes:
    """Encode events as lines."""
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def event(type_: str, event_id: str, data: Mapping[str, object], **attributes: object) -> Json:
    """Return an event as a client posts it, with an id and a time."""
    return {"type": type_, "id": event_id, "time": "2026-11-20T09:30:00Z", **attributes, "data": dict(data)}
