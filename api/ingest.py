"""POST /events: bytes to drafts, for every way CloudEvents come over HTTP."""

import re
from urllib.parse import unquote

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from api.operations import House
from api.problems import BodyTooLarge, UnsupportedMedia
from events.envelope import Draft
from events.errors import InvalidEvent, MalformedInput
from events.limits import BODY_BYTES_MAX
from events.refusal import UNDECODABLE
from events.registry import VOCABULARY
from ledger import Placed

JSON = "application/json"
EVENT = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
LINES = "application/x-ndjson"
MEDIA = (JSON, EVENT, BATCH, LINES)

_JSON, _EVENT, _BATCH, _LINES = (media.encode() for media in MEDIA)

Headers = dict[bytes, bytes]

_encode = msgspec.json.Encoder().encode
_integers = frozenset({"expectedversion"})
_number = re.compile("[0-9]{1,16}", re.ASCII)


class Appended(msgspec.Struct, frozen=True):
    """The answer to a batch: the lowest and highest position of its events, how many, how many were retries."""

    first: int
    last: int
    count: int
    duplicates: int
    events: list[Placed]


async def read_body(request: Request) -> bytes:
    """The request's body. Errors: BodyTooLarge, UnsupportedMedia."""
    return await _receive(headers_of(request.scope), request.receive)


async def _receive(headers: Headers, receive: Receive) -> bytes:
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding.lower() != b"identity":
        raise UnsupportedMedia(
            f"content-encoding {encoding.decode('latin-1')!r} is not undone here; nothing was written.",
            "Send the bytes themselves.",
        )
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise _too_large()
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message["body"])
        size += len(chunks[-1])
        if size > BODY_BYTES_MAX:
            raise _too_large()
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def headers_of(scope: Scope) -> Headers:
    """The headers by lower-case name; of one sent twice, the last."""
    headers: Headers = scope["named_headers"]
    return headers


class PostEvents:
    """Record one event or a batch, all or nothing.

    The busiest route: an ASGI application by itself, that reads its headers once and sends its answer. (Starlette looks
    headers up by one scan each, wraps functions twice against errors, and makes objects of answers.)
    """

    __name__ = "post_events"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        house: House = scope["app"].state.house
        headers = headers_of(scope)
        authorization = headers.get(b"authorization")
        speaker = house.tokens.identify(None if authorization is None else authorization.decode("latin-1"))
        drafts, single = decode(headers, await _receive(headers, receive))
        placed = await house.record(drafts, speaker)
        if single:
            body, status = _encode(placed[0]), 200 if placed[0].duplicate else 201
        else:
            answer = appended(placed)
            body, status = _encode(answer), 200 if answer.duplicates == answer.count else 201
        told = [(b"content-length", b"%d" % len(body)), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": body})


post_events = PostEvents()


def appended(placed: list[Placed]) -> Appended:
    """The answer to a batch."""
    positions = [event.position for event in placed]
    duplicates = sum(event.duplicate for event in placed)
    return Appended(min(positions), max(positions), len(placed), duplicates, placed)


def decode(headers: Headers, body: bytes) -> tuple[list[Draft], bool]:
    """The drafts in a body, and whether it holds a single event. Errors: InvalidEvent, UnsupportedMedia."""
    media = headers.get(b"content-type", _JSON).partition(b";")[0].strip().lower()
    if b"ce-type" in headers or b"ce-specversion" in headers:
        return [_binary(headers, body, media)], True
    if media == _EVENT or (media == _JSON and body.lstrip()[:1] != b"["):
        return [VOCABULARY.draft(body)], True
    if media == _LINES:
        return VOCABULARY.draft_lines(body), False
    if media in (_BATCH, _JSON):
        return VOCABULARY.drafts(body), False
    raise UnsupportedMedia(
        f"content-type {media.decode('latin-1')!r} is not spoken here; nothing was written.",
        f"Send one of: {', '.join(MEDIA)}.",
    )


def _binary(headers: Headers, body: bytes, media: bytes) -> Draft:
    """CloudEvents binary mode: attributes in ce- headers, the payload in the body."""
    if media != _JSON:
        raise UnsupportedMedia(
            f"content-type {media.decode('latin-1')!r} cannot carry a payload here.", f"Send {JSON}."
        )
    attributes: dict[str, object] = {}
    for name, value in headers.items():
        if name.startswith(b"ce-"):
            attribute = name.removeprefix(b"ce-").decode("latin-1")
            text = unquote(value.decode("latin-1"))
            attributes[attribute] = int(text) if attribute in _integers and _number.fullmatch(text) else text
    if "data" in attributes:
        raise InvalidEvent("ce-data is not an attribute.", "Send the payload as the body.", field="data")
    try:
        attributes["data"] = msgspec.json.decode(body, type=msgspec.Raw)
    except UNDECODABLE as error:
        raise MalformedInput(
            f"The body is not well-formed JSON: {error}.", "Send UTF-8 JSON. Nothing was written.", field="data"
        ) from None
    return VOCABULARY.draft(_encode(attributes))


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {BODY_BYTES_MAX:,} bytes; nothing was written.", "Send it in several requests."
    )
