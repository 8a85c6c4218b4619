"""GET /events: pages, NDJSON as it stands in the log, and a feed that follows it."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from api.ingest import LINES
from api.operations import House
from api.parameters import POSITION_MAX, choice, instant, integer, known, several, single
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger import Query, Slice, microseconds
from ledger.errors import InvalidQuery

FEED = "text/event-stream"
HEARTBEAT_S = 15.0
"""How often an idle feed says that it is alive."""

PARAMETERS = ("after", "before", "limit", "order", "type", "subject", "source", "since", "until")

_quote = msgspec.json.Encoder().encode


class _Typed(msgspec.Struct):
    type: str


_type_of = msgspec.json.Decoder(_Typed).decode


def query_of(parameters: Mapping[str, str]) -> Query:
    """The query that parameters ask for. `type` and `subject` may name several, separated by commas.

    Errors: InvalidQuery, naming the parameter.
    """
    known(parameters.keys(), PARAMETERS)
    types = several("type", parameters.get("type"))
    for name in types:
        if name not in VOCABULARY.kinds:
            raise InvalidQuery("type", f"{name!r} is not in the vocabulary.", f"Types: {', '.join(VOCABULARY.types)}.")
    since, until = parameters.get("since"), parameters.get("until")
    source = parameters.get("source")
    if source is not None and not source.startswith("/"):
        source = f"/agents/{source}"
    return Query(
        after=integer("after", parameters.get("after"), 0, 0),
        before=integer("before", parameters["before"], 0, 1) if "before" in parameters else None,
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        order=choice("order", parameters.get("order"), ("asc", "desc"), "asc"),
        types=types,
        subjects=several("subject", parameters.get("subject")),
        source=source,
        since_us=microseconds(instant("since", since)) if since is not None else None,
        until_us=microseconds(instant("until", until, end=True)) if until is not None else None,
    )


def forwards(query: Query) -> None:
    """Errors: InvalidQuery, for a query that cannot be followed."""
    if query.order != "asc" or query.before is not None:
        raise InvalidQuery("order", "a feed runs forwards, without an end.", "Leave out order and before.")


async def get_events(request: Request) -> Response:
    """A page of events as JSON, all of them as NDJSON, or a feed, as the Accept header asks."""
    house: House = request.app.state.house
    house.tokens.identify(request.headers.get("authorization")).require("read")
    query = query_of(single(request.query_params.multi_items()))
    accept = request.headers.get("accept", "")
    if FEED in accept:
        return await _feed(request, house, query)
    if LINES in accept:
        await house.read(Query(after=query.after, limit=1))
        pages = house.scan(_unpaged(request, query))
        return StreamingResponse(_lines(pages, query, request), media_type=LINES)
    page = await house.read(query)
    return Response(page_json(page, (await house.reader.head()).position), media_type="application/json")


async def get_event(request: Request) -> Response:
    """The event at a position, byte for byte as it is stored."""
    house: House = request.app.state.house
    house.tokens.identify(request.headers.get("authorization")).require("read")
    known(request.query_params.keys(), ())
    position = integer("position", request.path_params["position"], 0, 1)
    return Response(await house.event(position), media_type="application/cloudevents+json")


async def get_stream(request: Request) -> Response:
    """A page of the events of one stream."""
    house: House = request.app.state.house
    house.tokens.identify(request.headers.get("authorization")).require("read")
    parameters = single(request.query_params.multi_items())
    known(parameters.keys(), ("after", "limit"))
    after = integer("after", parameters.get("after"), 0, 0)
    limit = integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX)
    page = await house.stream(request.path_params["subject"], after, limit)
    return Response(page_json(page, (await house.reader.head()).position), media_type="application/json")


def page_json(page: Slice, head: int) -> bytes:
    """A page as JSON, around the stored lines as they are: a line holds no line feed, so each one ends a line."""
    following = str(page.positions[-1]).encode() if page.more else b"null"
    lines = page.ndjson.replace(b"\n", b",")
    return b'{"events":[%b],"next":%b,"head":%d}' % (lines, following, head)


def _unpaged(request: Request, query: Query) -> Query:
    """For a stream of lines: pages of full size, whatever limit is asked for the whole."""
    return msgspec.structs.replace(query, limit=query.limit if "limit" in request.query_params else PAGE_EVENTS_MAX)


async def _lines(pages: AsyncIterator[Slice], query: Query, request: Request) -> AsyncIterator[bytes]:
    async for page in pages:
        yield page.ndjson + b"\n"
        if "limit" in request.query_params:
            return


async def _feed(request: Request, house: House, query: Query) -> Response:
    forwards(query)
    last = request.headers.get("last-event-id")
    if last:
        query = msgspec.structs.replace(query, after=integer("Last-Event-ID", last, 0, 0, POSITION_MAX))
    await house.read(Query(after=query.after, limit=1))
    pages = house.follow(msgspec.structs.replace(query, limit=PAGE_EVENTS_DEFAULT))
    stopping: asyncio.Event = request.app.state.stopping
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_messages(pages, stopping), media_type=FEED, headers=headers)


async def _messages(pages: AsyncIterator[Slice], stopping: asyncio.Event) -> AsyncIterator[bytes]:
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


def _next(pages: AsyncIterator[Slice]) -> asyncio.Future[Slice]:
    return asyncio.ensure_future(anext(pages))
