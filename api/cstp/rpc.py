"""JSON-RPC 2.0: the frame of a call, of an answer and of an error. One call a request; a batch is refused."""

from typing import Any, NamedTuple

import msgspec

from api.cstp.strays import Stray, strays_of
from api.problems import INTERNAL_ERROR, INVALID_PARAMS, answer_of
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


class Call(msgspec.Struct, frozen=True):
    """A method and its named parameters."""

    method: str
    params: dict[str, Any]


class Frame(NamedTuple):
    """What stands in a frame, and the values within its params that nothing can hold."""

    members: dict[str, Any]
    strays: list[Stray]


def parse(body: bytes) -> Frame:
    """The frame in a body. Errors: RpcError."""
    try:
        frame = Frame(msgspec.json.decode(body), [])
    except ValueError:
        found = strays_of(body)
        if found is None:
            raise _invalid() from None
        frame = Frame(*found)
    except RecursionError:
        raise _invalid() from None
    if not isinstance(frame.members, dict):
        raise RpcError(INVALID_REQUEST, "Request must be an object", {"got": _kind(frame.members)})
    return frame


def _invalid() -> RpcError:
    return RpcError(PARSE_ERROR, "Invalid JSON")


def id_of(frame: Frame) -> Id:
    """The id of a frame. Errors: RpcError, for one that is neither text, number nor null."""
    given = frame.members.get("id")
    if given is None or (isinstance(given, str | int | float) and not isinstance(given, bool)):
        return given
    raise RpcError(INVALID_REQUEST, "id must be a string, a number or null", {"got": _kind(given)})


def call_of(frame: Frame) -> Call:
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
    return Call(method, params)


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
    return RpcError(answer_of(error).rpc, error.detail, data)


def fault(error: Exception) -> RpcError:
    """A bug of ours."""
    return RpcError(INTERNAL_ERROR, "Internal error", {"type": type(error).__name__})


def _kind(value: object) -> str:
    return type(value).__name__
