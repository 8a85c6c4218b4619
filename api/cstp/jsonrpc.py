"""JSON-RPC 2.0: the frame of a call, of an answer and of an error. One call a request; a batch is refused."""

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from api.errors import INTERNAL_ERROR, INVALID_PARAMS, error_codes
from events.errors import InvalidEvent, TallystickError
from ledger.errors import InvalidQuery, LedgerBusy

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601

VERSION = "2.0"

Id = str | int | float | None
"""What a caller tells its calls apart by; None for a notification, which is answered all the same."""

_encode = msgspec.json.Encoder().encode


class RpcError(Exception):
    """An error as the protocol tells it: `code`, `message`, and `data` that a program can act on."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RpcCall(msgspec.Struct, frozen=True):
    """A method and its named parameters."""

    method: str
    params: dict[str, Any]


class UnrepresentableValue(NamedTuple):
    """Where a value stands, as the caller spelled it, and what it must be."""

    field: str
    rule: str


class Request(NamedTuple):
    """What stands in a frame, and the values within its params that nothing can hold."""

    members: dict[str, Any]
    strays: list[UnrepresentableValue]


def parse(body: bytes) -> Request:
    """The frame in a body. Errors: RpcError."""
    try:
        frame = Request(msgspec.json.decode(body), [])
    except ValueError:
        found = strays_of(body)
        if found is None:
            raise _invalid() from None
        frame = Request(*found)
    except RecursionError:
        raise _invalid() from None
    if not isinstance(frame.members, dict):
        raise RpcError(INVALID_REQUEST, "Request must be an object", {"got": _kind(frame.members)})
    return frame


def _invalid() -> RpcError:
    return RpcError(PARSE_ERROR, "Invalid JSON")


def id_of(frame: Request) -> Id:
    """The id of a frame. Errors: RpcError, for one that is neither text, number nor null."""
    given = frame.members.get("id")
    if given is None or (isinstance(given, str | int | float) and not isinstance(given, bool)):
        return given
    raise RpcError(INVALID_REQUEST, "id must be a string, a number or null", {"got": _kind(given)})


def call_of(frame: Request) -> RpcCall:
    """The call in a frame. Errors: RpcError."""
    members = frame.members
    version, method, params = members.get("jsonrpc"), members.get("method"), members.get("params", {})
    if version != VERSION:
        raise RpcError(INVALID_REQUEST, "Invalid JSON-RPC version", {"expected": VERSION, "got": version})
    if method is None or method == "":
        raise RpcError(INVALID_REQUEST, "Method is required")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, "Method must be a string", {"got": _kind(method)})
    if not isinstance(params, dict):
        raise RpcError(INVALID_PARAMS, "Params must be an object (named parameters only)", {"got": _kind(params)})
    if frame.strays:
        message = "; ".join(f"{field}: {rule}" for field, rule in frame.strays)
        raise RpcError(INVALID_PARAMS, f"Validation failed: {message}", {"fields": [one.field for one in frame.strays]})
    return RpcCall(method, params)


def result_reply(call_id: Id, result: object) -> bytes:
    """The answer to a call."""
    return _encode({"jsonrpc": VERSION, "id": call_id, "result": result})


def error_reply(call_id: Id, error: RpcError) -> bytes:
    """The answer to a call that failed."""
    body: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return _encode({"jsonrpc": VERSION, "id": call_id, "error": body})


def rpc_error_of(error: TallystickError) -> RpcError:
    """One of the house's errors in this protocol's terms."""
    data: dict[str, object] = {"type": type(error).__name__}
    if error.advice:
        data["advice"] = error.advice
    if isinstance(error, InvalidEvent | InvalidQuery) and error.field is not None:
        data["field"] = error.field
    if isinstance(error, LedgerBusy):
        data["retry_after_s"] = error.retry_after_s
    return RpcError(error_codes(error).rpc, error.detail, data)


def fault(error: Exception) -> RpcError:
    """A bug of ours."""
    return RpcError(INTERNAL_ERROR, "Internal error", {"type": type(error).__name__})


def _kind(value: object) -> str:
    return type(value).__name__


BODY_BYTES_MAX = 1024 * 1024
"""A longer body is not read once more: no parameter that fits into a line needs as much."""


STRAYS_MAX = 20
"""Values that are named; who has more of them learns of the rest later."""


_INTEGER_CHARS_MAX = 4_300
"""Python reads no longer integer, because that would take it too long."""


NUMBER = "must be a number between -1.8e308 and 1.8e308"


TEXT = "must be Unicode text, without half of a surrogate pair"


_half = re.compile("[\ud800-\udfff]")


def strays_of(body: bytes) -> tuple[dict[str, object], list[UnrepresentableValue]] | None:
    """A frame and the strays among its params; None where the body is no such frame, or has strays elsewhere."""
    if len(body) > BODY_BYTES_MAX:
        return None
    try:
        frame = json.loads(body.decode(), parse_int=_integer)
        found = list(islice(_strays(frame.get("params")), STRAYS_MAX)) if isinstance(frame, dict) else []
        if not found or any(_strays({**frame, "params": None})):
            return None
    except (ValueError, RecursionError):
        return None
    return frame, found


def _strays(value: object, path: str = "") -> Iterator[UnrepresentableValue]:
    if isinstance(value, dict):
        for name, inner in value.items():
            at = f"{path}.{_shown(name)}" if path else _shown(name)
            if not _is_text(name):
                yield UnrepresentableValue(at, TEXT)
            yield from _strays(inner, at)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _strays(inner, f"{path}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield UnrepresentableValue(path, NUMBER)
    elif isinstance(value, str) and not _is_text(value):
        yield UnrepresentableValue(path, TEXT)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _INTEGER_CHARS_MAX else math.inf


def _is_text(text: str) -> bool:
    return _half.search(text) is None


def _shown(name: str) -> str:
    return name.encode(errors="backslashreplace").decode()
