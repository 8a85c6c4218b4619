"""Routes of events: append, read, follow."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs, unquote

import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from api.errors import UnsupportedMedia
from api.http.limits import RunningRequests
from api.http.media_types import (
    EVENT,
    EVENT_MEDIA_TYPES,
    FEED,
    JSON,
    LINES,
)
from api.http.operation import TEXT, Answer, HttpOperation, json_answer, reference
from api.http.path_parameters import POSITION
from api.http.request import Call, Headers, headers_of, read_body, requests_of
from api.parameters import (
    JsonSchema,
    flag_parameter,
    parse_integer,
    text_parameter,
)
from api.service.batch_evaluation import remarks_on_batch, with_remarks
from api.service.event_params import AFTER, EVENT_PARAMETERS, LIMIT, check_followable, parse_event_query
from api.service.ledger import LedgerService, page_json
from api.service.operation import Link
from api.service.store import append_result
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft
from events.errors import InvalidEvent, MalformedInput
from events.extensions import is_json_media_type
from events.limits import (
    BATCH_EVENTS_MAX,
    PAGE_EVENTS_DEFAULT,
    PAGE_EVENTS_MAX,
)
from events.registry import VOCABULARY
from ledger.log import LogPage, Query
from tallystick.shapes.appended import AppendedEvent, AppendResult, RemarkedEvent, RemarkedResult

HEARTBEAT_S = 15.0
"""Seconds between two comments of an idle feed."""

SUBJECT = text_parameter(
    "subject",
    "The stream's name, KIND/ID. Its slash needs no escape.",
    {"type": "string", "pattern": r"^[a-z]+/[A-Za-z0-9._-]+$", "examples": ["decision/3f2a9c1e"]},
)

GUARDRAILS = flag_parameter(
    "guardrails",
    "Whether to evaluate each decision that this records against the guardrails in force, as POST /decisions does, and"
    " to count the pending thoughts of its agent.",
)

_encode = msgspec.json.Encoder().encode
_JSON, _EVENT, _BATCH, _LINES = (media.encode() for media in EVENT_MEDIA_TYPES)
_integer_attributes = frozenset({"expectedversion", "position", "streamversion"})
_integer = re.compile("[0-9]{1,16}", re.ASCII)


class _EventType(msgspec.Struct):
    type: str


_type_of = msgspec.json.Decoder(_EventType).decode


def _body_shape() -> JsonSchema:
    """Return the schema of the body of POST /events.

    The other media types and binary mode are only in the description. OpenAPI cannot state which headers make a body a
    payload; and of several bodies, one of which is an array, openapi-python-client makes code that fails.
    """
    draft = reference("Draft")
    return {"anyOf": [draft, {"type": "array", "items": draft, "minItems": 1, "maxItems": BATCH_EVENTS_MAX}]}


class PostEvents:
    """Append one event or a batch, all or nothing.

    The body is one event or an array of events. The content-type may be application/cloudevents+json for one event,
    application/cloudevents-batch+json for an array, and application/x-ndjson for one event on each line. In CloudEvents
    binary mode, which a ce-type or ce-specversion header selects, the body is only the payload, and ce- headers contain
    the attributes, percent-encoded. The answer contains the position of each event. With `guardrails=true` it also
    lists the guardrails that fired on the decisions, which refuse nothing, and says in `thoughts_pending` how many
    thoughts of their agents wait: POST /decisions adopts them. Other query parameters are ignored.
    """

    # This is the busiest route, so it is an ASGI application. For a function, Starlette scans all headers to find one,
    # adds two error handlers, and makes an object of the answer.

    __name__ = "post_events"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state, headers = scope["app"].state, headers_of(scope)
        ledger: LedgerService = state.ledger
        authorization = headers.get(b"authorization")
        requests: RunningRequests = state.requests
        caller = requests.authenticate(scope, None if authorization is None else authorization.decode("latin-1"))
        evaluated = _reads_guardrails(scope["query_string"])
        drafts, single = _decode_body(headers, await read_body(scope, receive))
        appended = await ledger.record(drafts, caller)
        status = 200 if all(event.duplicate for event in appended) else 201
        answer = appended[0] if single else append_result(appended)
        if evaluated:
            answer = with_remarks(answer, await remarks_on_batch(ledger, caller, drafts, appended))
        body = _encode(answer)
        answer_headers = [(b"content-length", b"%d" % len(body)), (b"content-type", _JSON)]
        await send({"type": "http.response.start", "status": status, "headers": answer_headers})
        await send({"type": "http.response.body", "body": body})


_ANSWERS = (AppendedEvent, AppendResult, RemarkedEvent, RemarkedResult)

post_events = HttpOperation(
    "POST",
    "/events",
    scopes=("append",),
    query=(GUARDRAILS,),
    body={JSON: _body_shape()},
    answers={
        200: json_answer("A retry: the events were appended before; nothing was written.", _ANSWERS),
        201: json_answer("Appended, committed and synced.", _ANSWERS),
    },
    errors=(409, 422, 507),
    links={
        "event": Link("get_event", "position", "$response.body#/position"),
        "receipt": Link("get_receipt", "position", "$response.body#/position"),
        "stream": Link("get_stream", "subject", "$response.body#/subject"),
        "first": Link("get_event", "position", "$response.body#/first"),
    },
).raw(PostEvents())


def _reads_guardrails(query: bytes) -> bool:
    """Return whether the query asks for guardrails. Errors: InvalidQuery."""
    values = parse_qs(query.decode("latin-1"), keep_blank_values=True).get(GUARDRAILS.name) if query else None
    return values is not None and GUARDRAILS.parse(values[-1])


def _decode_body(headers: Headers, body: bytes) -> tuple[list[Draft], bool]:
    """Return the drafts in a body, and whether it is a single event. Errors: InvalidEvent, UnsupportedMedia."""
    media = headers.get(b"content-type", _JSON).partition(b";")[0].strip().lower()
    if media == _EVENT:
        return [VOCABULARY.draft(body)], True
    if media == _BATCH:
        return VOCABULARY.drafts(body), False
    if b"ce-type" in headers or b"ce-specversion" in headers:
        return [_decode_binary_mode(headers, body, media)], True
    if media == _LINES:
        return VOCABULARY.draft_lines(body), False
    if media == _JSON:
        if body.lstrip()[:1] == b"[":
            return VOCABULARY.drafts(body), False
        return [VOCABULARY.draft(body)], True
    raise UnsupportedMedia(
        f"content-type {media.decode('latin-1')!r} is not supported.", f"Send one of: {', '.join(EVENT_MEDIA_TYPES)}."
    )


def _decode_binary_mode(headers: Headers, body: bytes, media: bytes) -> Draft:
    """Decode CloudEvents binary mode: attributes in ce- headers, the payload in the body."""
    if not is_json_media_type(media.decode("latin-1")):
        raise UnsupportedMedia(
            f"content-type {media.decode('latin-1')!r} is not supported for a payload.", f"Send {JSON}."
        )
    attributes: dict[str, object] = {}
    for name, value in headers.items():
        if name.startswith(b"ce-"):
            attribute = name.removeprefix(b"ce-").decode("latin-1")
            text = unquote(value.decode("latin-1"))
            attributes[attribute] = int(text) if attribute in _integer_attributes and _integer.fullmatch(text) else text
    if not attributes.keys().isdisjoint(("data", "data_base64")):
        raise InvalidEvent("ce-data is not an attribute.", "Send the payload as the body.", field="data")
    try:
        attributes["data"] = msgspec.json.decode(body, type=msgspec.Raw)
    except DECODE_ERRORS as error:
        raise MalformedInput(f"The body is not well-formed JSON: {error}.", "Send UTF-8 JSON.", field="data") from None
    return VOCABULARY.draft(_encode(attributes))


@HttpOperation(
    "GET",
    "/events",
    query=EVENT_PARAMETERS,
    answers={
        200: Answer(
            "Events, in the requested order.",
            {
                JSON: reference("EventPage"),
                LINES: {**TEXT, "description": "Every selected event as it is stored, one on each line."},
                FEED: {**TEXT, "description": "Events when they are committed, without end; `id` is the position."},
            },
        )
    },
    links={
        "event": Link("get_event", "position", "$response.body#/events/0/position"),
        "stream": Link("get_stream", "subject", "$response.body#/events/0/subject"),
    },
)
async def get_events(call: Call) -> Response:
    """Return a page of events, or all of them, or a feed that follows the log.

    `Accept: application/x-ndjson` selects all events as lines. `Accept: text/event-stream` selects a feed, which
    Last-Event-ID resumes.
    """
    query = parse_event_query(call.parameters)
    accept = call.request.headers.get("accept", "")
    if FEED in accept:
        return await _feed(call, query)
    if LINES in accept:
        await call.ledger.read(Query(after=query.after, limit=1))
        return StreamingResponse(_lines(call, query), media_type=LINES)
    return await _page(call.ledger, await call.ledger.read(query))


@HttpOperation(
    "GET",
    "/events/{position}",
    path_parameters=(POSITION,),
    answers={200: Answer("The event.", {EVENT: reference("Event")})},
    errors=(404,),
)
async def get_event(call: Call) -> Response:
    """Return the event at a position, byte for byte as it is stored."""
    return Response(await call.ledger.event(call.path(POSITION)), media_type=EVENT)


@HttpOperation(
    "GET",
    "/streams/{subject:path}",
    path_parameters=(SUBJECT,),
    query=(AFTER, LIMIT),
    answers={200: json_answer("Events of the stream.", reference("EventPage"))},
    errors=(404,),
)
async def get_stream(call: Call) -> Response:
    """Return a page of the events of one stream, oldest first."""
    after, limit = AFTER.read(call.parameters), LIMIT.read(call.parameters)
    return await _page(call.ledger, await call.ledger.stream(call.path(SUBJECT), after, limit))


async def _page(ledger: LedgerService, page: LogPage) -> Response:
    # an event can be read a moment before the log notes that it is the newest one
    head = max([(await ledger.reader.head()).position, *page.positions])
    return Response(page_json(page, head), media_type=JSON)


async def _lines(call: Call, query: Query) -> AsyncIterator[bytes]:
    """Yield lines: up to `limit` if the query has one, otherwise all, in pages of the largest size."""
    limited = LIMIT.name in call.parameters
    async for page in call.ledger.scan(query if limited else msgspec.structs.replace(query, limit=PAGE_EVENTS_MAX)):
        yield page.ndjson + b"\n"
        if limited:
            return


async def _feed(call: Call, query: Query) -> Response:
    check_followable(query)
    last_event_id = call.request.headers.get("last-event-id")
    if last_event_id:
        query = msgspec.structs.replace(query, after=parse_integer("Last-Event-ID", last_event_id, 0))
    await call.ledger.read(Query(after=query.after, limit=1))
    pages = call.ledger.follow(msgspec.structs.replace(query, limit=PAGE_EVENTS_DEFAULT))
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    requests = requests_of(call.request.scope)
    requests.open_feed(call.request.scope, end)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    messages = _messages(pages, ended, partial(requests.pauses.await_page, call.caller.use))
    return StreamingResponse(messages, media_type=FEED, headers=headers)


async def _messages(
    pages: AsyncIterator[LogPage], ended: asyncio.Future[None], await_turn: Callable[[], Awaitable[None]]
) -> AsyncIterator[bytes]:
    """Yield server-sent events, each with its position as id, until `ended` is done or the client disconnects.

    The server ends a feed when it stops, and when the feed's token is revoked or expires.
    """
    yield b": tallystick\n\n"
    next_page = _next(pages)
    try:
        while not ended.done():
            done, _ = await asyncio.wait((next_page, ended), timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
            if next_page in done:
                page = next_page.result()
                yield b"".join(
                    b"id: %d\nevent: %b\ndata: %b\n\n" % (position, _type_of(line).type.encode(), line)
                    for position, line in zip(page.positions, page.lines, strict=True)
                )
                await await_turn()
                next_page = _next(pages)
            elif not done:
                yield b": alive\n\n"
    except StopAsyncIteration:
        return
    finally:
        next_page.cancel()


def _next(pages: AsyncIterator[LogPage]) -> asyncio.Future[LogPage]:
    return asyncio.ensure_future(anext(pages))
