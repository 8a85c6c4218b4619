"""What the routes that only read share: who asks, what is asked, and the answer as JSON."""

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from api.auth import Principal
from api.errors import BodyTooLarge, UnsupportedMedia
from api.http.media import JSON
from api.parameters import check_names, index_pairs
from api.service.ledger import LedgerService
from api.text import to_json
from events.decode_errors import UNDECODABLE, refuse
from events.limits import BODY_BYTES_MAX


def asked(request: Request, allowed: Collection[str]) -> tuple[LedgerService, Mapping[str, str]]:
    """The house, for who may read, and the parameters. Errors: AccessRefused, InvalidQuery."""
    ledger: LedgerService = request.app.state.ledger
    ledger.tokens.identify(request.headers.get("authorization")).require("read")
    parameters = index_pairs(request.query_params.multi_items())
    check_names(parameters.keys(), allowed)
    return ledger, parameters


def answer(value: object) -> Response:
    """A view as JSON."""
    return Response(to_json(value), media_type="application/json")


Headers = dict[bytes, bytes]


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


def _too_large() -> BodyTooLarge:
    return BodyTooLarge(
        f"The body is over {BODY_BYTES_MAX:,} bytes; nothing was written.", "Send it in several requests."
    )


_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class JsonBody(Generic[_Shape]):
    """A body of one shape. An empty one is an object without fields."""

    def __init__(self, shape: type[_Shape]) -> None:
        self._decode = msgspec.json.Decoder(shape).decode
        self._fields = shape.__struct_fields__

    async def read(self, request: Request) -> _Shape:
        """The body of a request. Errors: UnsupportedMedia, BodyTooLarge, MalformedInput, InvalidEvent."""
        media = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if media != JSON:
            raise UnsupportedMedia(f"content-type {media!r} is not spoken here; nothing was written.", f"Send {JSON}.")
        body = await read_body(request)
        try:
            return self._decode(body or b"{}")
        except UNDECODABLE as error:
            raise refuse(error, (), fields=self._fields) from None


def _reader(request: Request) -> LedgerService:
    return _reading(request)[0]


def _reading(request: Request) -> tuple[LedgerService, Principal]:
    """The house, and who reads. Errors: AccessRefused."""
    ledger: LedgerService = request.app.state.ledger
    caller = ledger.tokens.identify(request.headers.get("authorization"))
    caller.require("read")
    return ledger, caller


def _given(request: Request, allowed: Collection[str]) -> Mapping[str, str]:
    parameters = index_pairs(request.query_params.multi_items())
    check_names(parameters.keys(), allowed)
    return parameters


def _json(value: object) -> Response:
    return Response(to_json(value), media_type="application/json")
