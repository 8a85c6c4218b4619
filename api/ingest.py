"""POST /events: bytes to drafts, for every way CloudEvents come over HTTP."""

from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from api.access import Speaker
from api.operations import House
from api.problems import BodyTooLarge, UnsupportedMedia
from events.envelope import Draft
from events.errors import InvalidEvent, MalformedInput
from events.limits import BODY_BYTES_MAX
from events.registry import VOCABULARY
from ledger import Placed

JSON = "application/json"
EVENT = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
LINES = "application/x-ndjson"
MEDIA = (JSON, EVENT, BATCH, LINES)

_encode = msgspec.json.Encoder().encode
_integers = frozenset({"expectedversion"})


class Appended(msgspec.Struct, frozen=True):
    """The answer to a batch: the lowest and highest position of its events, how many, how many were retries."""

    first: int
    last: int
    count: int
    duplicates: int
    events: list[Placed]


async def read_body(request: Request) -> bytes:
    """The request's body. Errors: BodyTooLarge."""
    chunks: list[bytes] = []
    size = 0
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > BODY_BYTES_MAX:
        raise _too_large()
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_BYTES_MAX:
            raise _too_large()
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def post_events(request: Request) -> Response:
    """Record one event or a batch, all or nothing."""
    house: House = request.app.state.house
    speaker: Speaker = house.tokens.identify(request.headers.get("authorization"))
    drafts, single = decode(request, await read_body(request))
    placed = await house.record(drafts, speaker)
    if single:
        status = 200 if placed[0].duplicate else 201
        return Response(_encode(placed[0]), status, media_type=JSON)
    answer = appended(placed)
    return Response(_encode(answer), 200 if answer.duplicates == answer.count else 201, media_type=JSON)


def appended(placed: list[Placed]) -> Appended:
    """The answer to a batch."""
    positions = [event.position for event in placed]
    duplicates = sum(event.duplicate for event in placed)
    return Appended(min(positions), max(positions), len(placed), duplicates, placed)


def decode(request: Request, body: bytes) -> tuple[list[Draft], bool]:
    """The drafts in a body, and whether it holds a single event. Errors: InvalidEvent, UnsupportedMedia."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if "ce-type" in request.headers or "ce-specversion" in request.headers:
        return [_binary(request, body, media)], True
    if media == EVENT or (media == JSON and body.lstrip()[:1] != b"["):
        return [VOCABULARY.draft(body)], True
    if media == LINES:
        return VOCABULARY.draft_lines(body), False
    if media in (BATCH, JSON):
        return VOCABULARY.drafts(body), False
    raise UnsupportedMedia(
        f"content-type {media!r} is not spoken here; nothing was written.",
        f"Send one of: {', '.join(MEDIA)}.",
    )


def _binary(request: Request, body: bytes, media: str) -> Draft:
    """CloudEvents binary mode: attributes in ce- headers, the payload in the body."""
    if media != JSON:
        raise UnsupportedMedia(f"content-type {media!r} cannot carry a payload here.", f"Send {JSON}.")
    attributes: dict[str, object] = {}
    for name, value in request.headers.items():
        if name.startswith("ce-"):
            attribute = name.removeprefix("ce-")
            text = unquote(value)
            attributes[attribute] = int(text) if attribute in _integers and text.isdigit() else text
    if "data" in attributes:
        raise InvalidEvent("ce-data is not an attribute.", "Send the payload as the body.", field="data")
    try:
        attributes["data"] = msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedInput(
            f"The body is not well-formed JSON: {error}.", "Send UTF-8 JSON. Nothing was written.", field="data"
        ) from None
    return VOCABULARY.draft(_encode(attributes))


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {BODY_BYTES_MAX:,} bytes; nothing was written.", "Send the events in several requests."
    )
