"""Routes of OTLP, the protocol of OpenTelemetry: log records that are scores, and spans that are calls."""

import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from api.errors import BodyTooLarge, UnsupportedMedia
from api.http.media_types import JSON, PROTOBUF
from api.http.operation import BYTES, Answer, HttpOperation
from api.http.problems import RETRY_AFTER_S, answer_error
from api.http.request import headers_of, read_body, read_request, requests_of
from api.principal import Principal
from api.principal import Scope as TokenScope
from api.service.ledger import LedgerService
from api.service.otlp.json_request import decode_json_logs, decode_json_spans
from api.service.otlp.protobuf_request import decode_protobuf_logs, decode_protobuf_spans, load_messages
from api.service.otlp.receiver import OtlpReceipt, receive_logs, receive_spans
from events.errors import MalformedInput, TallystickError
from events.limits import BODY_BYTES_FREE, BODY_BYTES_MAX
from ledger.threads import run_on_thread

FULL_DISK, UNAVAILABLE = 507, 503
"""Exporters send a batch again after 503, but drop it after 507."""

GZIP = b"gzip"
_GZIP_WINDOW = 31
"""The window bits that make zlib read the format gzip."""

_SCOPES: tuple[TokenScope, ...] = ("append",)
_INVALID_ARGUMENT, _PERMISSION_DENIED, _UNAUTHENTICATED = 3, 7, 16
_RESOURCE_EXHAUSTED, _UNIMPLEMENTED, _INTERNAL, _UNAVAILABLE = 8, 12, 13, 14
_RPC_CODES = {
    401: _UNAUTHENTICATED, 403: _PERMISSION_DENIED, 429: _RESOURCE_EXHAUSTED, 413: _RESOURCE_EXHAUSTED,
    501: _UNIMPLEMENTED, 500: _INTERNAL, 503: _UNAVAILABLE,
}  # fmt: skip
"""The code of google.rpc.Status for each HTTP status; others are invalid arguments."""


class RpcStatus(msgspec.Struct, frozen=True):
    """An error as `google.rpc.Status` says it: its code, and what is wrong and what to do."""

    code: int
    message: str


class LogsPartialSuccess(msgspec.Struct, frozen=True, rename="camel"):
    """How many log records were rejected, as text, and why."""

    rejected_log_records: str
    error_message: str


class LogsAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to log records; empty if every record was taken."""

    partial_success: LogsPartialSuccess | None = None


class SpansPartialSuccess(msgspec.Struct, frozen=True, rename="camel"):
    """How many spans were rejected, as text, and why."""

    rejected_spans: str
    error_message: str


class SpansAnswer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to spans; empty if every span was taken."""

    partial_success: SpansPartialSuccess | None = None


class _Signal(NamedTuple):
    """How to decode the requests of a signal, what to do with its records, and the parts of its answer."""

    name: str
    """Of the signal among the messages of protobuf."""
    decode_json: Callable[[bytes], Sequence[Any]]
    decode_protobuf: Callable[[bytes], Sequence[Any]]
    receive: Callable[[LedgerService, Principal, Any], Awaitable[OtlpReceipt]]
    partial: type[LogsPartialSuccess | SpansPartialSuccess]
    response: str
    """The message of protobuf for the answer."""

    def json_answer(self, receipt: OtlpReceipt) -> bytes:
        partial = self.partial(str(receipt.rejected), receipt.message)
        return msgspec.json.encode({"partialSuccess": partial} if receipt.rejected else {})

    def protobuf_answer(self, receipt: OtlpReceipt) -> bytes:
        values = dict(zip(self.partial.__struct_fields__, (receipt.rejected, receipt.message), strict=True))
        message = getattr(load_messages(self.name), self.response)
        encoded: bytes = message(partial_success=values if receipt.rejected else None).SerializeToString()
        return encoded


_LOGS = _Signal(
    "logs", decode_json_logs, decode_protobuf_logs, receive_logs, LogsPartialSuccess, "ExportLogsServiceResponse"
)
_SPANS = _Signal(
    "trace", decode_json_spans, decode_protobuf_spans, receive_spans, SpansPartialSuccess, "ExportTraceServiceResponse"
)


def _receiving(path: str, answer: type[msgspec.Struct]) -> Callable[[Any], HttpOperation]:
    """Declare a POST of OTLP, whose endpoint answers errors by itself."""
    accepted = Answer("What was rejected, if anything was; the rest is in the log.", {JSON: answer, PROTOBUF: BYTES})
    return HttpOperation(
        "POST",
        path,
        scopes=_SCOPES,
        body={JSON: {"type": "object"}, PROTOBUF: BYTES},
        answers={200: accepted},
        errors=(501,),
        error_content={JSON: RpcStatus, PROTOBUF: BYTES},
    ).raw


@_receiving("/v1/logs", LogsAnswer)
async def post_logs(request: Request) -> Response:
    """Take scores from OpenTelemetry: log records of the event `gen_ai.evaluation.result`, as OTLP/HTTP has them.

    The body is an ExportLogsServiceRequest in protobuf (the extra `otlp`) or JSON, and may be compressed with gzip.
    Every other record is rejected and counted. A record that was received before is not written again.
    """
    return await _answer(request, _LOGS)


@_receiving("/v1/traces", SpansAnswer)
async def post_traces(request: Request) -> Response:
    """Take calls from OpenTelemetry: spans of the GenAI conventions, as OTLP/HTTP has them.

    The body is an ExportTraceServiceRequest in protobuf (the extra `otlp`) or JSON, and may be compressed with gzip.
    Every other span is rejected and counted. A span that was received before is not written again.
    """
    return await _answer(request, _SPANS)


async def _answer(request: Request, signal: _Signal) -> Response:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        call = read_request(request, _SCOPES, ())
        if media not in (JSON, PROTOBUF):
            raise UnsupportedMedia(f"content-type {media!r} is not supported.", f"Send {PROTOBUF} or {JSON}.")
        body = await _read_body(request.scope, request.receive)
        decode = signal.decode_json if media == JSON else signal.decode_protobuf
        receipt = await signal.receive(call.ledger, call.caller, await run_on_thread(decode, body))
    except TallystickError as error:
        return _refusal(request, error, media)
    encode = signal.json_answer if media == JSON else signal.protobuf_answer
    return Response(encode(receipt), media_type=media)


def _refusal(request: Request, error: TallystickError, media: str) -> Response:
    """Return the answer to an error, with a google.rpc.Status in the media type of the request."""
    problem = answer_error(request.scope, error)
    status = UNAVAILABLE if problem.status_code == FULL_DISK else problem.status_code
    if media not in (JSON, PROTOBUF):
        return problem
    said = RpcStatus(_RPC_CODES.get(status, _INVALID_ARGUMENT), str(error))
    body = msgspec.json.encode(said) if media == JSON else _protobuf_status(said)
    kept = {name: value for name, value in problem.headers.items() if name in ("retry-after", "www-authenticate")}
    if status != problem.status_code:
        kept["retry-after"] = str(RETRY_AFTER_S)
    return Response(body, status, kept, media_type=media)


def _protobuf_status(status: RpcStatus) -> bytes:
    """Encode a google.rpc.Status: field 1 is the code, field 2 the message."""
    message = status.message.encode()
    return b"\x08%c\x12%b%b" % (status.code, _varint(len(message)), message)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """Receive a body, and decompress it up to BODY_BYTES_MAX. Both forms count as memory in use.

    Errors: those of `read_body`; MalformedInput.
    """
    encoding = headers_of(scope).get(b"content-encoding", b"").strip().lower()
    body = await read_body(scope, receive, encodings=(b"identity", GZIP))
    if encoding != GZIP:
        return body
    plain = await run_on_thread(_decompress, body)
    size = len(body) + len(plain)
    if size > BODY_BYTES_FREE:
        requests_of(scope).hold_body(scope, size)
        scope["caller"].spend_body(len(plain))
    return plain


def _decompress(body: bytes) -> bytes:
    """Return the content of a gzip file with one member. Errors: MalformedInput, BodyTooLarge."""
    decompressor = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = decompressor.decompress(body, BODY_BYTES_MAX + 1)
    except zlib.error as error:
        raise MalformedInput(f"The body is not gzip: {error}.", "Send it uncompressed.") from None
    if len(plain) > BODY_BYTES_MAX:
        raise BodyTooLarge(
            f"The body is over {BODY_BYTES_MAX:,} bytes when decompressed.", "Send it in several requests."
        )
    if not decompressor.eof or decompressor.unused_data:
        raise MalformedInput("The body is not one whole file of gzip.", "Send it again.")
    return plain
