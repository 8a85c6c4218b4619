"""JSON-RPC 2.0: parse a call or a batch of calls, and encode answers and errors."""

import json
import math
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from api.errors import INTERNAL_ERROR, INVALID_PARAMS, error_codes
from api.rate_limit import LimitReached
from events.decode_error_messages import json_type
from events.errors import InvalidEvent, MalformedInput, TallystickError
from events.json_check import TEXT_ADVICE, TEXT_RULE, UnrepresentableValue, check_json, find_unrepresentable
from ledger.errors import InvalidQuery, LedgerBusy

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601

VERSION = "2.0"

Id = str | int | float | None
"""The id by which a caller distinguishes its calls. The answer to a call that cannot be read has the id None."""

BATCH_CALLS_MAX = 100
"""Calls in one batch."""

BODY_BYTES_MAX = 1024 * 1024
"""A longer body is not parsed a second time: valid parameters are shorter."""

UNREPRESENTABLE_MAX = 20
"""The maximum number of values that an error names."""

INTEGER_CHARS_MAX = 4_300
"""The longest integer that Python parses."""

_encode = msgspec.json.Encoder().encode


class RpcError(Exception):
    """An error of the protocol: `code`, `message`, and `data` for programs."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RpcCall(msgspec.Struct, frozen=True):
    """A method and its named parameters."""

    method: str
    params: dict[str, Any]


class Request(NamedTuple):
    """The members of a request, and the values in its params that we cannot represent."""

    members: dict[str, Any]
    unrepresentable: list[UnrepresentableValue]

    @property
    def is_notification(self) -> bool:
        """Whether the request has no id: its caller gets no answer."""
        return "id" not in self.members


Batch = list[Request | RpcError]
"""The requests of a batch. In the place of one that is not a request is the error that answers it."""


def parse_body(body: bytes) -> Request | Batch:
    """Parse the body of a post: a request, or a batch. Errors: RpcError, if it is neither."""
    try:
        value = msgspec.json.decode(body)
        check_json(body)
        repaired = False
    except MalformedInput as error:
        raise RpcError(PARSE_ERROR, f"Invalid JSON: {error.detail}", {"advice": error.full_advice}) from None
    except ValueError:
        value = _parse_leniently(body)
        repaired = True
    except RecursionError:
        raise _invalid() from None
    if not isinstance(value, list):
        return _request_of(value, repaired=repaired)
    if not value:
        raise RpcError(INVALID_REQUEST, "A batch must have at least one request")
    if len(value) > BATCH_CALLS_MAX:
        data = {"got": len(value), "maximum": BATCH_CALLS_MAX}
        raise RpcError(INVALID_REQUEST, f"A batch has at most {BATCH_CALLS_MAX} requests", data)
    return [_request_or_error(member, repaired=repaired) for member in value]


def _request_or_error(value: object, *, repaired: bool) -> Request | RpcError:
    try:
        return _request_of(value, repaired=repaired)
    except RpcError as error:
        return error


def _request_of(value: object, *, repaired: bool) -> Request:
    """Return a request. Errors: RpcError, if the value is not an object, or unrepresentable outside its params."""
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "Request must be an object", {"got": json_type(value)})
    if not repaired:
        return Request(value, [])
    if any(find_unrepresentable({**value, "params": None})):
        raise _invalid()
    return Request(value, list(islice(find_unrepresentable(value.get("params")), UNREPRESENTABLE_MAX)))


def _invalid() -> RpcError:
    return RpcError(PARSE_ERROR, "Invalid JSON")


def id_of(request: Request) -> Id:
    """Return the id of a request. Errors: RpcError, if it is neither text, number nor null."""
    call_id = request.members.get("id")
    if call_id is None or (isinstance(call_id, str | int | float) and not isinstance(call_id, bool)):
        return call_id
    raise RpcError(INVALID_REQUEST, "id must be a string, a number or null", {"got": json_type(call_id)})


def call_of(request: Request) -> RpcCall:
    """Return the call of a request. Errors: RpcError."""
    members = request.members
    version, method, params = members.get("jsonrpc"), members.get("method"), members.get("params", {})
    if version != VERSION:
        raise RpcError(INVALID_REQUEST, "Invalid JSON-RPC version", {"expected": VERSION, "got": version})
    if method is None or method == "":
        raise RpcError(INVALID_REQUEST, "Method is required")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "Method must be a string", {"got": json_type(method)})
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "Params must be an object (named parameters only)", {"got": json_type(params)})
    if request.unrepresentable:
        message = "; ".join(f"{field}: {rule}" for field, rule in request.unrepresentable)
        data: dict[str, object] = {"fields": [value.field for value in request.unrepresentable]}
        if any(value.rule == TEXT_RULE for value in request.unrepresentable):
            data["advice"] = TEXT_ADVICE
        raise RpcError(INVALID_PARAMS, f"Validation failed: {message}", data)
    return RpcCall(method, params)


def result_reply(call_id: Id, result: object) -> bytes:
    """Encode the answer to a call."""
    return _encode({"jsonrpc": VERSION, "id": call_id, "result": result})


def error_reply(call_id: Id, error: RpcError) -> bytes:
    """Encode the answer to a call that failed."""
    body: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return _encode({"jsonrpc": VERSION, "id": call_id, "error": body})


def rpc_error_of(error: TallystickError) -> RpcError:
    """Convert one of our errors to an error of the protocol."""
    data: dict[str, object] = {"type": type(error).__name__}
    if error.full_advice:
        data["advice"] = error.full_advice
    if isinstance(error, InvalidEvent | InvalidQuery) and error.field is not None:
        data["field"] = error.field
    if isinstance(error, LedgerBusy | LimitReached):
        data["retry_after_s"] = error.retry_after_s
    return RpcError(error_codes(error).rpc, error.detail, data)


def internal_error(error: Exception) -> RpcError:
    """Return the error for a bug of the server."""
    return RpcError(INTERNAL_ERROR, "Internal error", {"type": type(error).__name__})


def _parse_leniently(body: bytes) -> object:
    """Parse JSON that may have values that we cannot represent. Errors: RpcError, if it is not JSON, or has none."""
    if len(body) > BODY_BYTES_MAX:
        raise _invalid()
    try:
        value = json.loads(body.decode(), parse_int=_parse_integer)
        unrepresentable = any(find_unrepresentable(value))
    except (ValueError, RecursionError):
        raise _invalid() from None
    if not unrepresentable:
        raise _invalid()
    return value


def _parse_integer(text: str) -> int | float:
    return int(text) if len(text) <= INTEGER_CHARS_MAX else math.inf
