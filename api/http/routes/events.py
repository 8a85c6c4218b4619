"""Routes of events: POST /events, GET /events, GET /streams."""

import asyncio
import re
from collections.abc import AsyncIterator
from urllib.parse import unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api.errors import UnsupportedMedia
from api.http.media import JSON, LINES, MEDIA
from api.http.request import Headers, _receive, headers_of
from api.parameters import POSITION_MAX, integer, known, single
from api.service.ledger import LedgerService, page_json
from api.service.query_params import forwards, query_of
from api.service.store import append_result
from events.decode_errors import UNDECODABLE
from events.envelope import Draft
from events.errors import InvalidEvent, MalformedInput
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger import Page, Query

_JSON, _EVENT, _BATCH, _LINES = (media.encode() for media in MEDIA)


_encode = msgspec.json.Encoder().encode


_integers = frozenset({"expectedversion"})


_number = re.compile("[0-9]{1,16}", re.ASCII)


class PostEvents:
    """Record one event or a batch, all or nothing.

    The busiest route: an ASGI application by itself, that reads its headers once and sends its answer. (Starlette looks
    headers up by one scan each, wraps functions twice against errors, and makes objects of answers.)
    """

    __name__ = "post_events"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ledger: LedgerService = scope["app"].state.ledger
        headers = headers_of(scope)
        authorization = headers.get(b"authorization")
        caller = ledger.tokens.identify(None if authorization is None else authorization.decode("latin-1"))
        drafts, single = decode(headers, await _receive(headers, receive))
        placed = await ledger.record(drafts, caller)
        if single:
            body, status = _encode(placed[0]), 200 if placed[0].duplicate else 201
        else:
            answer = append_result(placed)
            body, status = _encode(answer), 200 if answer.duplicates == answer.count else 201
        told = [(b"content-length", b"%d" % len(body)), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": status, "headers": told})
        await send({"type": "http.response.body", "body": body})


post_events = PostEvents()


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


FEED = "text/event-stream"


HEARTBEAT_S = 15.0
"""How often an idle feed says that it is alive."""


class _Typed(msgspec.Struct):
    type: str


_type_of = msgspec.json.Decoder(_Typed).decode


async def get_events(request: Request) -> Response:
    """A page of events as JSON, all of them as NDJSON, or a feed, as the Accept header asks."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    query = query_of(single(request.query_params.multi_items()))
    accept = request.headers.get("accept", "")
    if FEED in accept:
        return await _feed(request, ledger, query)
    if LINES in accept:
        await ledger.read(Query(after=query.after, limit=1))
        pages = ledger.scan(_unpaged(request, query))
        return StreamingResponse(_lines(pages, query, request), media_type=LINES)
    page = await ledger.read(query)
    return Response(page_json(page, (await ledger.reader.head()).position), media_type="application/json")


async def get_event(request: Request) -> Response:
    """The event at a position, byte for byte as it is stored."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    known(request.query_params.keys(), ())
    position = integer("position", request.path_params["position"], 0, 1)
    return Response(await ledger.event(position), media_type="application/cloudevents+json")


async def get_stream(request: Request) -> Response:
    """A page of the events of one stream."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    parameters = single(request.query_params.multi_items())
    known(parameters.keys(), ("after", "limit"))
    after = integer("after", parameters.get("after"), 0, 0)
    limit = integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX)
    page = await ledger.stream(request.path_params["subject"], after, limit)
    return Response(page_json(page, (await ledger.reader.head()).position), media_type="application/json")


def _unpaged(request: Request, query: Query) -> Query:
    """For a stream of lines: pages of full size, whatever limit is asked for the whole."""
    return msgspec.structs.replace(query, limit=query.limit if "limit" in request.query_params else PAGE_EVENTS_MAX)


async def _lines(pages: AsyncIterator[Page], query: Query, request: Request) -> AsyncIterator[bytes]:
    async for page in pages:
        yield page.ndjson + b"\n"
        if "limit" in request.query_params:
            return


async def _feed(request: Request, ledger: LedgerService, query: Query) -> Response:
    forwards(query)
    last = request.headers.get("last-event-id")
    if last:
        query = msgspec.structs.replace(query, after=integer("Last-Event-ID", last, 0, 0, POSITION_MAX))
    await ledger.read(Query(after=query.after, limit=1))
    pages = ledger.follow(msgspec.structs.replace(query, limit=PAGE_EVENTS_DEFAULT))
    stopping: asyncio.Event = request.app.state.stopping
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_messages(pages, stopping), media_type=FEED, headers=headers)


async def _messages(pages: AsyncIterator[Page], stopping: asyncio.Event) -> AsyncIterator[bytes]:
    """Server-sent events until the server stops or the client goes; the id of each is its position."""
    yield b": tallystick\n\n"
    stop = asyncio.ensure_future(stopping.wait())
    coming = _next(pages)
    try:
        while not stop.done():
            done, _ = await asyncio.wait((coming, stop), timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
            if coming in done:
                page = coming.result()
                yield b"".join(
                    b"id: %d\nevent: %b\ndata: %b\n\n" % (position, _type_of(line).type.encode(), line)
                    for position, line in zip(page.positions, page.lines, strict=True)
                )
                coming = _next(pages)
            elif not done:
                yield b": alive\n\n"
    except StopAsyncIteration:
        return
    finally:
        coming.cancel()
        stop.cancel()


def _next(pages: AsyncIterator[Page]) -> asyncio.Future[Page]:
    return asyncio.ensure_future(anext(pages))
