"""Authenticate the caller of a request, parse the query, read the body; and answer JSON."""

import asyncio
from base64 import b64encode
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256, sha512
from typing import Any, TypeVar

import msgspec
from msgspec import structs
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from api.errors import BodyTooLarge, UnsupportedMedia
from api.http.limits import RunningRequests
from api.http.media_types import JSON
from api.parameters import Parameter, check_parameter_names, parameters_by_name, parse_params
from api.principal import Principal
from api.principal import Scope as TokenScope
from api.service.ledger import LedgerService, View
from api.service.view_queries import QueryTurns
from api.text_format import to_json
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.errors import MalformedInput
from events.json_check import check_json
from events.limits import BODY_BYTES_FREE, BODY_BYTES_MAX
from events.whole_numbers import may_lack_whole_numbers, write_whole_numbers
from ledger.threads import run_on_thread
from projections.engine import require_position

Headers = dict[bytes, bytes]

_DIGESTS = {"sha-256": sha256, "sha-512": sha512}

_Shape = TypeVar("_Shape", bound=msgspec.Struct)
_Value = TypeVar("_Value")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Call:
    """An authenticated request: the ledger, the caller, and the text of each declared query parameter, by name."""

    request: Request
    ledger: LedgerService
    caller: Principal
    parameters: Mapping[str, str]

    def path(self, parameter: Parameter[_Value]) -> _Value:
        """Return the value of a path parameter. Errors: InvalidQuery."""
        return parameter.parse(self.request.path_params[parameter.name])

    def asked(self, kind: type[_Shape], **fixed: object) -> _Shape:
        """Return the parameters of the path and of the query, some with a fixed value. Errors: InvalidQuery."""
        return structs.replace(parse_params(kind, {**self.parameters, **self.request.path_params}), **fixed)

    async def view(self) -> View:
        """Return the view as of the parameter `as_of`, by default now. Errors: InvalidQuery."""
        return await self.ledger.as_of(self.parameters.get("as_of"))


def read_request(request: Request, scopes: Collection[TokenScope], query: Collection[Parameter[Any]]) -> Call:
    """Authenticate the caller, and check its scopes and the query.

    Errors: AccessRefused, LimitReached, RateLimited, InvalidQuery.
    """
    caller, ledger = authenticate(request, scopes)
    parameters = parameters_by_name(request.query_params.multi_items())
    check_parameter_names(parameters.keys(), query)
    return Call(request, ledger, caller, parameters)


def authenticate(request: Request, scopes: Collection[TokenScope]) -> tuple[Principal, LedgerService]:
    """Return the caller, who must have every scope, and the ledger.

    Errors: AccessRefused, LimitReached, RateLimited.
    """
    caller = requests_of(request.scope).authenticate(request.scope, request.headers.get("authorization"))
    for scope in scopes:
        caller.require(scope)
    return caller, ledger_of(request)


def ledger_of(request: Request) -> LedgerService:
    """Return the ledger that the application serves."""
    ledger: LedgerService = request.app.state.ledger
    return ledger


def requests_of(scope: Scope) -> RunningRequests:
    """Return the running requests of the server."""
    requests: RunningRequests = scope["app"].state.requests
    return requests


async def run_query(call: Call, query: Callable[[], Coroutine[Any, Any, _Answer]], *, shared: bool = False) -> _Answer:
    """Run the query of a view when it is its token's turn. The time until the views are folded does not count.

    It ends when its client leaves, unless other requests share it.
    Errors: QueryTimeout; ClientDisconnect.
    """
    position = await call.ledger.engine.catch_up()
    turns: QueryTurns = call.request.app.state.queries
    call.request.scope["is_long"] = True

    async def ask() -> _Answer:
        require_position(position)
        return await query()

    leave = _never if shared else partial(until_client_leaves, call.request)
    answer = await turns.run(ask, call.caller.use, leave)
    if answer is None:
        raise ClientDisconnect
    return answer


async def within_limit(call: Call, answer: Callable[[], Coroutine[Any, Any, _Answer]]) -> _Answer:
    """Return an answer that only reads. Errors: QueryTimeout, after the seconds that a query may take."""
    turns: QueryTurns = call.request.app.state.queries
    return await turns.within_limit(answer())


async def _never() -> None:
    await asyncio.Event().wait()


async def until_client_leaves(request: Request) -> None:
    """Wait until the client of a request without a body has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a view as JSON."""
    return Response(to_json(value), status, headers, media_type=JSON)


def headers_of(scope: Scope) -> Headers:
    """Return the headers by lower-case name. If a name occurs twice, the last value is used."""
    headers: Headers = scope["named_headers"]
    return headers


def check_media(request: Request) -> None:
    """Check that a body is said to be JSON. Errors: UnsupportedMedia."""
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media != JSON:
        raise UnsupportedMedia(f"content-type {media!r} is not supported.", f"Send {JSON}.")


async def read_json(request: Request, shape: type[_Shape]) -> _Shape:
    """Decode a JSON body. An empty body means an object without fields.

    Errors: UnsupportedMedia, BodyTooLarge, MalformedInput, InvalidEvent.
    """
    check_media(request)
    body = await read_body(request.scope, request.receive)
    decoder: msgspec.json.Decoder[_Shape] = _decoder(shape)
    try:
        decoded = _decode(body or b"{}", decoder)
    except DECODE_ERRORS as error:
        raise explain_decode_error(error, (), fields=shape.__struct_fields__, shape=shape, body=body) from None
    check_json(body)
    return decoded


def _decode(body: bytes, decoder: msgspec.json.Decoder[_Shape]) -> _Shape:
    """Decode a body, perhaps with whole numbers that are written as `7.0`. Errors: DECODE_ERRORS."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        if not may_lack_whole_numbers(error):
            raise
        return decoder.decode(write_whole_numbers(body))


@cache
def _decoder(shape: type[_Shape]) -> msgspec.json.Decoder[_Shape]:
    return msgspec.json.Decoder(shape)


async def read_body(
    scope: Scope, receive: Receive, size_max: int = BODY_BYTES_MAX, encodings: Collection[bytes] = (b"identity",)
) -> bytes:
    """Receive the body of an authenticated request; of another one only BODY_BYTES_FREE at most.

    It is returned as it was sent, in one of some content encodings.

    Errors: BodyTooLarge, LimitReached, UnsupportedMedia; MalformedInput, for another Content-Digest.
    """
    headers = headers_of(scope)
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding.strip().lower() not in encodings:
        raise UnsupportedMedia(
            f"content-encoding {encoding.decode('latin-1')!r} is not supported.", "Send the body uncompressed."
        )
    body = await _receive_body(scope, receive, size_max, headers.get(b"content-length", b""))
    if (stated := headers.get(b"content-digest")) is not None:
        await run_on_thread(_check_digest, stated.decode("latin-1"), body)
    return body


async def _receive_body(scope: Scope, receive: Receive, size_max: int, declared: bytes) -> bytes:
    """Receive a body whose declared size may be too large already. Errors: BodyTooLarge, LimitReached."""
    if declared.isdigit() and int(declared) > size_max:
        raise _too_large(size_max)
    if declared.isdigit() and int(declared) > BODY_BYTES_FREE:
        requests_of(scope).check_body(scope, int(declared))
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message["body"])
        size += len(chunks[-1])
        if size > size_max:
            raise _too_large(size_max)
        if size > BODY_BYTES_FREE:
            requests_of(scope).hold_body(scope, size)
        if not message.get("more_body", False):
            if size > BODY_BYTES_FREE:
                scope["caller"].spend_body(size)
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _check_digest(stated: str, body: bytes) -> None:
    """Compare a body with its Content-Digest (RFC 9530); unknown algorithms are ignored. Errors: MalformedInput."""
    for member in stated.split(","):
        name, _, value = member.partition("=")
        if (algorithm := _DIGESTS.get(name.strip().lower())) is None:
            continue
        actual = f":{b64encode(algorithm(body).digest()).decode()}:"
        if value.partition(";")[0].strip() != actual:
            detail = f"Content-Digest: {name.strip()} of the body is {actual}, not {value.strip()!r}."
            raise MalformedInput(detail, "Send the whole body, or correct the header.")


def _too_large(size_max: int) -> BodyTooLarge:
    return BodyTooLarge(f"The body is over {size_max:,} bytes.", "Send it in several requests.")
