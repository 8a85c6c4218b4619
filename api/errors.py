"""Errors of the interfaces, and the table of every error: its HTTP status, JSON-RPC code and exit code."""

from typing import NamedTuple

import msgspec

from api.principal import (
    AccessRefused,
    Forbidden,
    TokensUnreadable,
    Unauthenticated,
)
from api.rate_limit import QueryTimeout, RateLimited, ServerLimitReached, TokenLimitReached, TooManyRefusals
from events.errors import InvalidEvent, MalformedInput, NothingWritten, TallystickError
from instruments.errors import BadExpression, BadFixtures, FixtureExists, NoScenarios, SourceUnreadable
from ledger.errors import (
    BadNote,
    Damaged,
    ForeignStream,
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
    ServerOnly,
    StreamConflict,
    UnusableExport,
    ViewDamaged,
)

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class BodyTooLarge(NothingWritten):
    """A request body is over the limit."""


class HeadTooLarge(NothingWritten):
    """The head of a request is over the limits."""


class AddressTooLong(NothingWritten):
    """The address of a request is over the limit."""


class TooSlow(NothingWritten):
    """The client sent a head or a body too slowly."""


class StalledReader(TallystickError):
    """The client did not read the answer; the connection was closed."""


class TooManyConnections(NothingWritten):
    """A limit of open connections is reached."""


class ServerStops(NothingWritten):
    """The server stops, and the request has not arrived completely."""


class UnsupportedMedia(NothingWritten):
    """The content type is not supported."""


class NoRoute(TallystickError):
    """The path does not exist."""


class WrongMethod(TallystickError):
    """The path exists, but not with this method."""


class ExtraMissing(TallystickError):
    """Packages that only some users need are not installed: install the extra that the advice names."""


class InternalFault(TallystickError):
    """A bug in Tallystick. The log has the traceback under the request's id."""


class RunEnded(NothingWritten):
    """The run has ended: read its report, or start another."""


class AttemptTaken(NothingWritten):
    """The answer belongs to an attempt that is not the next one: read the prompt again."""


class Unwitnessed(TallystickError):
    """A witness did not cosign, or its signature does not verify; nothing was stored."""


class UnexpectedAnswer(TallystickError):
    """A server answered, but not as Tallystick does: with other content, compressed, or with more than it can have."""


class CrossSite(AccessRefused, NothingWritten):
    """A browser sent this request for a page of another site, and such pages may not write."""


class ForeignHost(AccessRefused, NothingWritten):
    """The Host is not a loopback name, and the ledger has no tokens."""


class FileUnusable(TallystickError):
    """A file, or a standard stream, cannot be read or written; the operating system says why."""


class ErrorCodes(NamedTuple):
    """The title of an error class, its HTTP status, JSON-RPC code, and exit code (1 refused or failed, 2 bad input)."""

    title: str
    status: int
    rpc: int
    exit: int


ERROR_TABLE: dict[type[TallystickError], ErrorCodes] = {
    MalformedInput: ErrorCodes("Malformed input", 400, INVALID_PARAMS, 2),
    LineTooLong: ErrorCodes("Event too long", 413, INVALID_PARAMS, 2),
    InvalidEvent: ErrorCodes("Invalid event", 422, INVALID_PARAMS, 2),
    StreamConflict: ErrorCodes("Stream has moved on", 409, INTERNAL_ERROR, 1),
    LifecycleViolation: ErrorCodes("Not allowed at this point of the stream", 409, INTERNAL_ERROR, 1),
    IdentityConflict: ErrorCodes("Id in use", 409, INVALID_PARAMS, 1),
    ForeignStream: ErrorCodes("Another agent's", 403, INTERNAL_ERROR, 2),
    ServerOnly: ErrorCodes("Only for the server", 403, INTERNAL_ERROR, 2),
    RunEnded: ErrorCodes("Run ended", 409, INTERNAL_ERROR, 1),
    AttemptTaken: ErrorCodes("Not the next attempt", 409, INTERNAL_ERROR, 1),
    LedgerBusy: ErrorCodes("Ledger busy", 503, INTERNAL_ERROR, 1),
    LedgerFull: ErrorCodes("Disk full", 507, INTERNAL_ERROR, 1),
    LedgerUnavailable: ErrorCodes("Ledger unavailable", 503, INTERNAL_ERROR, 1),
    ViewDamaged: ErrorCodes("View damaged", 503, INTERNAL_ERROR, 1),
    LedgerLocked: ErrorCodes("Ledger in use", 503, INTERNAL_ERROR, 2),
    LedgerUnusable: ErrorCodes("No usable ledger", 503, INTERNAL_ERROR, 2),
    InvalidQuery: ErrorCodes("Invalid parameter", 400, INVALID_PARAMS, 2),
    BadExpression: ErrorCodes("Invalid selection", 400, INVALID_PARAMS, 2),
    BadFixtures: ErrorCodes("Scenarios that cannot be scored", 422, INVALID_PARAMS, 2),
    NoScenarios: ErrorCodes("No scenarios", 422, INVALID_PARAMS, 2),
    SourceUnreadable: ErrorCodes("Unreadable source", 422, INVALID_PARAMS, 2),
    NotFound: ErrorCodes("Not found", 404, INVALID_PARAMS, 1),
    Gone: ErrorCodes("Erased", 410, INVALID_PARAMS, 1),
    LedgerDamaged: ErrorCodes("Ledger damaged", 500, INTERNAL_ERROR, 1),
    Occupied: ErrorCodes("Name in use", 409, INVALID_PARAMS, 2),
    Damaged: ErrorCodes("Evidence damaged", 500, INTERNAL_ERROR, 1),
    Unwitnessed: ErrorCodes("Not cosigned", 503, INTERNAL_ERROR, 1),
    UnexpectedAnswer: ErrorCodes("Not an answer of Tallystick", 500, INTERNAL_ERROR, 1),
    Forked: ErrorCodes("History differs from the signed one", 503, INTERNAL_ERROR, 1),
    UnusableExport: ErrorCodes("Not a complete export", 422, INVALID_PARAMS, 2),
    BadNote: ErrorCodes("Not a signed note", 422, INVALID_PARAMS, 2),
    Unauthenticated: ErrorCodes("Token required", 401, INTERNAL_ERROR, 2),
    Forbidden: ErrorCodes("Not allowed", 403, INTERNAL_ERROR, 2),
    TokensUnreadable: ErrorCodes("Tokens cannot be read", 503, INTERNAL_ERROR, 1),
    CrossSite: ErrorCodes("Refused to another site's page", 403, INTERNAL_ERROR, 2),
    ForeignHost: ErrorCodes("Host is not a loopback name", 421, INTERNAL_ERROR, 2),
    RateLimited: ErrorCodes("Too many requests", 429, INTERNAL_ERROR, 1),
    TokenLimitReached: ErrorCodes("Limit of the token reached", 429, INTERNAL_ERROR, 1),
    TooManyRefusals: ErrorCodes("Too many refused requests", 429, INTERNAL_ERROR, 1),
    ServerLimitReached: ErrorCodes("Limit of the server reached", 503, INTERNAL_ERROR, 1),
    QueryTimeout: ErrorCodes("Query took too long", 503, INTERNAL_ERROR, 1),
    BodyTooLarge: ErrorCodes("Body too large", 413, INVALID_PARAMS, 2),
    HeadTooLarge: ErrorCodes("Head too large", 431, INVALID_PARAMS, 2),
    AddressTooLong: ErrorCodes("Address too long", 414, INVALID_PARAMS, 2),
    TooSlow: ErrorCodes("Too slow", 408, INTERNAL_ERROR, 1),
    StalledReader: ErrorCodes("Answer not read", 408, INTERNAL_ERROR, 1),
    TooManyConnections: ErrorCodes("Too many connections", 503, INTERNAL_ERROR, 1),
    ServerStops: ErrorCodes("Server stops", 503, INTERNAL_ERROR, 1),
    UnsupportedMedia: ErrorCodes("Unsupported media type", 415, INVALID_PARAMS, 2),
    NoRoute: ErrorCodes("No such path", 404, INVALID_PARAMS, 2),
    FixtureExists: ErrorCodes("Fixture exists", 409, INVALID_PARAMS, 2),
    WrongMethod: ErrorCodes("Method not allowed", 405, INVALID_PARAMS, 2),
    FileUnusable: ErrorCodes("File cannot be used", 500, INTERNAL_ERROR, 2),
    ExtraMissing: ErrorCodes("Not installed", 501, INTERNAL_ERROR, 2),
    InternalFault: ErrorCodes("Internal fault", 500, INTERNAL_ERROR, 1),
}


class Problem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A problem document of RFC 9457, with advice, the wrong field, and the 0-based index of the event in its batch."""

    type: str
    title: str
    status: int
    detail: str
    advice: str | None = None
    field: str | None = None
    index: int | None = None
    request_id: str | None = None


def error_codes(error: TallystickError) -> ErrorCodes:
    """Return the codes of an error."""
    return ERROR_TABLE[type(error)]


def make_problem(error: TallystickError, request_id: str | None = None) -> Problem:
    """Return the problem document of an error."""
    codes = error_codes(error)
    return Problem(
        type=f"urn:tallystick:problem:{problem_name(type(error).__name__)}",
        title=codes.title,
        status=codes.status,
        detail=error.detail,
        advice=error.full_advice or None,
        field=error.field,
        index=getattr(error, "index", None),
        request_id=request_id,
    )


def problem_name(name: str) -> str:
    """Return the last part of a problem's type: `invalid-event` for the class name InvalidEvent."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")
