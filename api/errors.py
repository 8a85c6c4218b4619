"""One table: what each error is over HTTP, over JSON-RPC and on the command line."""

from typing import NamedTuple

import msgspec

from api.auth import AccessRefused, Forbidden, Unauthenticated
from api.rate_limit import RateLimited
from events.errors import InvalidEvent, MalformedInput, TallystickError
from instruments.evals.errors import BadExpression, BadFixtures, FixtureExists, NoScenarios
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


class RunEnded(TallystickError):
    """The run has ended and takes nothing more; nothing was written: read its report, or begin another."""


class AttemptTaken(TallystickError):
    """The attempt that is answered is not the one that is due; nothing was written: read the prompt again."""


class Unwitnessed(TallystickError):
    """A witness did not cosign, or not so that its key bears it out; nothing was kept."""


class CrossSite(AccessRefused):
    """A browser says that a page of elsewhere wants to write; nothing was done."""


class ForeignHost(AccessRefused):
    """A ledger without tokens was asked under a name that is not loopback's; nothing was done."""


class ErrorCodes(NamedTuple):
    """How an error class is told: title, HTTP status, JSON-RPC code, exit code (1 the answer is no, 2 bad input)."""

    title: str
    status: int
    rpc: int
    exit: int


TABLE: dict[type[TallystickError], ErrorCodes] = {
    MalformedInput: ErrorCodes("Malformed input", 400, INVALID_PARAMS, 2),
    LineTooLong: ErrorCodes("Event too long", 413, INVALID_PARAMS, 2),
    InvalidEvent: ErrorCodes("Invalid event", 422, INVALID_PARAMS, 2),
    StreamConflict: ErrorCodes("Stream has moved on", 409, INTERNAL_ERROR, 1),
    LifecycleViolation: ErrorCodes("Not at this place of the stream", 409, INTERNAL_ERROR, 1),
    IdentityConflict: ErrorCodes("Id taken", 409, INTERNAL_ERROR, 1),
    RunEnded: ErrorCodes("Run ended", 409, INTERNAL_ERROR, 1),
    AttemptTaken: ErrorCodes("Attempt not due", 409, INTERNAL_ERROR, 1),
    LedgerBusy: ErrorCodes("Ledger busy", 503, INTERNAL_ERROR, 1),
    LedgerFull: ErrorCodes("Disk full", 507, INTERNAL_ERROR, 1),
    LedgerUnavailable: ErrorCodes("Ledger unavailable", 503, INTERNAL_ERROR, 1),
    LedgerLocked: ErrorCodes("Ledger in use", 503, INTERNAL_ERROR, 2),
    LedgerUnusable: ErrorCodes("No usable ledger", 503, INTERNAL_ERROR, 2),
    InvalidQuery: ErrorCodes("Invalid parameter", 400, INVALID_PARAMS, 2),
    BadExpression: ErrorCodes("Invalid selection", 400, INVALID_PARAMS, 2),
    BadFixtures: ErrorCodes("Scenarios that cannot be scored", 422, INVALID_PARAMS, 2),
    NoScenarios: ErrorCodes("No scenarios", 422, INVALID_PARAMS, 2),
    NotFound: ErrorCodes("Not found", 404, INVALID_PARAMS, 2),
    Gone: ErrorCodes("Erased", 410, INVALID_PARAMS, 1),
    LedgerDamaged: ErrorCodes("Ledger damaged", 500, INTERNAL_ERROR, 1),
    Occupied: ErrorCodes("Name taken", 409, INVALID_PARAMS, 2),
    Damaged: ErrorCodes("Evidence damaged", 500, INTERNAL_ERROR, 1),
    Unwitnessed: ErrorCodes("Not cosigned", 503, INTERNAL_ERROR, 1),
    Forked: ErrorCodes("History differs from what was signed", 503, INTERNAL_ERROR, 1),
    UnusableExport: ErrorCodes("Not a whole export", 422, INVALID_PARAMS, 2),
    BadNote: ErrorCodes("Not a signed note", 422, INVALID_PARAMS, 2),
    Unauthenticated: ErrorCodes("Token required", 401, INTERNAL_ERROR, 2),
    Forbidden: ErrorCodes("Not allowed", 403, INTERNAL_ERROR, 2),
    CrossSite: ErrorCodes("Not from this page", 403, INTERNAL_ERROR, 2),
    ForeignHost: ErrorCodes("Not under this name", 421, INTERNAL_ERROR, 2),
    RateLimited: ErrorCodes("Too many requests", 429, INTERNAL_ERROR, 1),
    BodyTooLarge: ErrorCodes("Body too large", 413, INVALID_PARAMS, 2),
    HeadTooLarge: ErrorCodes("Head too large", 431, INVALID_PARAMS, 2),
    AddressTooLong: ErrorCodes("Address too long", 414, INVALID_PARAMS, 2),
    TooSlow: ErrorCodes("Too slow", 408, INTERNAL_ERROR, 1),
    StalledReader: ErrorCodes("Answer not taken", 408, INTERNAL_ERROR, 1),
    TooManyConnections: ErrorCodes("Too many connections", 503, INTERNAL_ERROR, 1),
    UnsupportedMedia: ErrorCodes("Unsupported media type", 415, INVALID_PARAMS, 2),
    NoRoute: ErrorCodes("No such path", 404, INVALID_PARAMS, 2),
    FixtureExists: ErrorCodes("Fixture exists", 409, INVALID_PARAMS, 2),
    WrongMethod: ErrorCodes("Method not allowed", 405, INVALID_PARAMS, 2),
    InternalFault: ErrorCodes("Internal fault", 500, INTERNAL_ERROR, 1),
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


def error_codes(error: TallystickError) -> ErrorCodes:
    """The row of an error's class."""
    return TABLE[type(error)]


def make_problem(error: TallystickError, request_id: str | None = None) -> Problem:
    """The problem document of an error."""
    answer = error_codes(error)
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


def slug(name: str) -> str:
    """The end of a problem's type for a class's name: `invalid-event` for InvalidEvent."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")
