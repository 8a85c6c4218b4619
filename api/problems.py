"""One table: what each error is over HTTP, over JSON-RPC and on the command line."""

from typing import NamedTuple

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from api.access import CrossSite, Forbidden, ForeignHost, Unauthenticated
from api.pace import RateLimited
from api.refusals import AttemptTaken, RunEnded, Unwitnessed
from events.errors import InvalidEvent, MalformedInput, TallystickError
from instruments.errors import BadExpression, BadFixtures, FixtureExists, NoScenarios
from ledger.errors import (
    BadNote,
    Damaged,
    Forked,
    Gone,
    IdentityConflict,
    InvalidQuery,
    LedgerBusy,
    LedgerDamaged,
    LedgerFull,
    LedgerLocked,
    LedgerUnavailable,
    LedgerUnusable,
    LifecycleViolation,
    LineTooLong,
    NotFound,
    Occupied,
    StreamConflict,
    UnusableExport,
)

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class BodyTooLarge(TallystickError):
    """A request body over the limit; nothing was read or written."""


class HeadTooLarge(TallystickError):
    """The head of a request over the limits; nothing was done."""


class AddressTooLong(TallystickError):
    """The address of a request over the limit; nothing was done."""


class TooSlow(TallystickError):
    """A head or a body that trickled; nothing was done."""


class StalledReader(TallystickError):
    """An answer that nobody took; the connection was ended."""


class TooManyConnections(TallystickError):
    """As many connections are open as may be; nothing was read."""


class UnsupportedMedia(TallystickError):
    """A content type that is not spoken here; nothing was written."""


class NoRoute(TallystickError):
    """No such path."""


class WrongMethod(TallystickError):
    """The path is there, the method is not."""


class InternalFault(TallystickError):
    """A bug of ours. The log says more under the request's id."""


class Answer(NamedTuple):
    """How an error class is told: title, HTTP status, JSON-RPC code, exit code (1 the answer is no, 2 bad input)."""

    title: str
    status: int
    rpc: int
    exit: int


TABLE: dict[type[TallystickError], Answer] = {
    MalformedInput: Answer("Malformed input", 400, INVALID_PARAMS, 2),
    LineTooLong: Answer("Event too long", 413, INVALID_PARAMS, 2),
    InvalidEvent: Answer("Invalid event", 422, INVALID_PARAMS, 2),
    StreamConflict: Answer("Stream has moved on", 409, INTERNAL_ERROR, 1),
    LifecycleViolation: Answer("Not at this place of the stream", 409, INTERNAL_ERROR, 1),
    IdentityConflict: Answer("Id taken", 409, INTERNAL_ERROR, 1),
    RunEnded: Answer("Run ended", 409, INTERNAL_ERROR, 1),
    AttemptTaken: Answer("Attempt not due", 409, INTERNAL_ERROR, 1),
    LedgerBusy: Answer("Ledger busy", 503, INTERNAL_ERROR, 1),
    LedgerFull: Answer("Disk full", 507, INTERNAL_ERROR, 1),
    LedgerUnavailable: Answer("Ledger unavailable", 503, INTERNAL_ERROR, 1),
    LedgerLocked: Answer("Ledger in use", 503, INTERNAL_ERROR, 2),
    LedgerUnusable: Answer("No usable ledger", 503, INTERNAL_ERROR, 2),
    InvalidQuery: Answer("Invalid parameter", 400, INVALID_PARAMS, 2),
    BadExpression: Answer("Invalid selection", 400, INVALID_PARAMS, 2),
    BadFixtures: Answer("Scenarios that cannot be scored", 422, INVALID_PARAMS, 2),
    NoScenarios: Answer("No scenarios", 422, INVALID_PARAMS, 2),
    NotFound: Answer("Not found", 404, INVALID_PARAMS, 2),
    Gone: Answer("Erased", 410, INVALID_PARAMS, 1),
    LedgerDamaged: Answer("Ledger damaged", 500, INTERNAL_ERROR, 1),
    Occupied: Answer("Name taken", 409, INVALID_PARAMS, 2),
    Damaged: Answer("Evidence damaged", 500, INTERNAL_ERROR, 1),
    Unwitnessed: Answer("Not cosigned", 503, INTERNAL_ERROR, 1),
    Forked: Answer("History differs from what was signed", 503, INTERNAL_ERROR, 1),
    UnusableExport: Answer("Not a whole export", 422, INVALID_PARAMS, 2),
    BadNote: Answer("Not a signed note", 422, INVALID_PARAMS, 2),
    Unauthenticated: Answer("Token required", 401, INTERNAL_ERROR, 2),
    Forbidden: Answer("Not allowed", 403, INTERNAL_ERROR, 2),
    CrossSite: Answer("Not from this page", 403, INTERNAL_ERROR, 2),
    ForeignHost: Answer("Not under this name", 421, INTERNAL_ERROR, 2),
    RateLimited: Answer("Too many requests", 429, INTERNAL_ERROR, 1),
    BodyTooLarge: Answer("Body too large", 413, INVALID_PARAMS, 2),
    HeadTooLarge: Answer("Head too large", 431, INVALID_PARAMS, 2),
    AddressTooLong: Answer("Address too long", 414, INVALID_PARAMS, 2),
    TooSlow: Answer("Too slow", 408, INTERNAL_ERROR, 1),
    StalledReader: Answer("Answer not taken", 408, INTERNAL_ERROR, 1),
    TooManyConnections: Answer("Too many connections", 503, INTERNAL_ERROR, 1),
    UnsupportedMedia: Answer("Unsupported media type", 415, INVALID_PARAMS, 2),
    NoRoute: Answer("No such path", 404, INVALID_PARAMS, 2),
    FixtureExists: Answer("Fixture exists", 409, INVALID_PARAMS, 2),
    WrongMethod: Answer("Method not allowed", 405, INVALID_PARAMS, 2),
    InternalFault: Answer("Internal fault", 500, INTERNAL_ERROR, 1),
}


class Problem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """RFC 9457 problem document, with the field, the event's 0-based index in its batch, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    advice: str | None = None
    field: str | None = None
    index: int | None = None
    request_id: str | None = None


def answer_of(error: TallystickError) -> Answer:
    """The row of an error's class."""
    return TABLE[type(error)]


def problem_of(error: TallystickError, request_id: str | None = None) -> Problem:
    """The problem document of an error."""
    answer = answer_of(error)
    return Problem(
        type=f"urn:tallystick:problem:{slug(type(error).__name__)}",
        title=answer.title,
        status=answer.status,
        detail=error.detail,
        advice=error.advice or None,
        field=getattr(error, "field", None),
        index=getattr(error, "index", None),
        request_id=request_id,
    )


def problem_response(error: TallystickError, request_id: str | None = None) -> Response:
    """The HTTP answer to an error."""
    problem = problem_of(error, request_id)
    headers: dict[str, str] = {}
    if isinstance(error, LedgerBusy | RateLimited):
        headers["retry-after"] = str(error.retry_after_s)
    elif problem.status == 503:
        headers["retry-after"] = "5"
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, headers, media_type="application/problem+json")


def refusal(scope: Scope, error: TallystickError) -> Response:
    """The HTTP answer to an error, which is noted for the log and the figures."""
    scope["refusal"] = slug(type(error).__name__)
    return problem_response(error, scope["request_id"].decode())


def to_json(value: object) -> bytes:
    """JSON of a view: structs, dates as RFC 3339."""
    return msgspec.json.encode(value)


def slug(name: str) -> str:
    """The end of a problem's type for a class's name: `invalid-event` for InvalidEvent."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")
