"""Authenticate the caller of a request, parse the query, read the body; and answer JSON."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from api.auth import Principal
from api.auth import Scope as TokenScope
from api.errors import BodyTooLarge, UnsupportedMedia
from api.http.media_types import JSON
from api.parameters import Parameter, check_parameter_names, parameters_by_name
from api.service.ledger import LedgerService
from api.text_format import to_json
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.limits import BODY_BYTES_MAX

Headers = dict[bytes, bytes]

_Shape = TypeVar("_Shape", bound=msgspec.Struct)
_Value = TypeVar("_Value")


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

    async def as_of(self) -> int | None:
        """Return the position of the parameter `as_of`; None: now. Errors: InvalidQuery."""
        return await self.ledger.resolve(self.parameters.get("as_of"))


def read_request(request: Request, scopes: Collection[TokenScope], query: Collection[Parameter[Any]]) -> Call:
    """Authenticate the caller, and check its scopes and the query. Errors: AccessRefused, RateLimited, InvalidQuery."""
    ledger = ledger_of(request)
    caller = ledger.tokens.identify(request.headers.get("authorization"))
    for scope in scopes:
        caller.require(scope)
    parameters = parameters_by_name(request.query_params.multi_items())
    check_parameter_names(parameters.keys(), query)
    return Call(request, ledger, caller, parameters)


def ledger_of(request: Request) -> LedgerService:
    """Return the ledger that the application serves."""
    ledger: LedgerService = request.app.state.ledger
    return ledger


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a view as JSON."""
    return Response(to_json(value), status, headers, media_type=JSON)


def headers_of(scope: Scope) -> Headers:
    """Return the headers by lower-case name. If a name occurs twice, the last value is used."""
    headers: Headers = scope["named_headers"]
    return headers


async def read_json(request: Request, shape: type[_Shape]) -> _Shape:
    """Decode a JSON body. An empty body means an object without fields.

    Errors: UnsupportedMedia, BodyTooLarge, MalformedInput, InvalidEvent.
    """
    media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
    if media != JSON:
        raise UnsupportedMedia(f"content-type {media!r} is not supported; nothing was written.", f"Send {JSON}.")
    body = await read_body(headers_of(request.scope), request.receive)
    try:
        decoded: _Shape = _decoder(shape).decode(body or b"{}")
    except DECODE_ERRORS as error:
        raise explain_decode_error(error, (), fields=shape.__struct_fields__) from None
    return decoded


@cache
def _decoder(shape: type[_Shape]) -> msgspec.json.Decoder[_Shape]:
    return msgspec.json.Decoder(shape)


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """Receive a body. Errors: BodyTooLarge, UnsupportedMedia."""
    encoding = headers.get(b"content-encoding", b"identity")
    if encoding.lower() != b"identity":
        raise UnsupportedMedia(
            f"content-encoding {encoding.decode('latin-1')!r} is not supported; nothing was written.",
            "Send the body uncompressed.",
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


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {BODY_BYTES_MAX:,} bytes; nothing was written.", "Send it in several requests."
    )
