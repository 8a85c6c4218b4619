"""The errors of the client, and what the caller should do about each.

::

    TallystickError
    ├── InvalidArgument      correct the argument; nothing was sent (also a ValueError)
    ├── ConnectionFailed     no answer, so the outcome is unknown: run it again with the same ids
    ├── LocalServerFailed    the private server of `local` did not start: its message says why
    ├── UnexpectedAnswer     something other than a Tallystick server answered: check the address
    └── Refused              the server refused the request; nothing was written
        ├── InvalidEvent     correct the event, send it again
        ├── InvalidQuery     correct the parameter
        ├── Conflict         the log rejects it in its current state: read the stream, decide again
        ├── NotFound         check the id
        ├── Erased           the evidence was erased permanently
        ├── NotAllowed       send a token that has the scope
        ├── TooLarge         send less at once
        ├── Busy             the retries are used up: try again later
        └── ServerFault      the server or its disk failed: give its operator the request id
"""

from collections.abc import Mapping
from typing import Any

import msgspec

ADVICE_UNKNOWN_OUTCOME = "Run it again with the same ids: an event that was written already is not written twice."


class TallystickError(Exception):
    """The base of all errors of the client. The text of an error contains all of its attributes."""

    def __init__(
        self,
        detail: str,
        advice: str = "",
        *,
        status: int | None = None,
        title: str = "",
        code: str = "",
        field: str | None = None,
        index: int | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        """A description of the error and its place."""
        self.advice = advice
        """What to do about it; empty if there is no advice."""
        self.status = status
        """The HTTP status; None if no server answered."""
        self.title = title
        """The kind of problem in a few words, from the server."""
        self.code = code
        """The kind of problem as a word for programs, such as `identity-conflict`; it never changes."""
        self.field = field
        """The path of the field that is wrong, such as `data.confidence`."""
        self.index = index
        """The 0-based index of the event in its batch."""
        self.request_id = request_id
        """The id under which the server logs the request."""
        self.retry_after_s = retry_after_s
        """How many seconds the server asked to wait before another attempt."""

    def __str__(self) -> str:
        head = f"{self.title} ({self.status}): " if self.status is not None and self.title else ""
        attributes = (
            ("field", self.field),
            ("event", self.index),
            ("code", self.code or None),
            ("request", self.request_id),
        )
        given = ", ".join(f"{name} {value}" for name, value in attributes if value is not None)
        text = f"{head}{self.detail} {self.advice}".rstrip()
        return f"{text} [{given}]" if given else text

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the attributes, so that an error can be sent from a worker process to its parent."""
        return _restored, (type(self), self.__dict__)


class InvalidArgument(TallystickError, ValueError):
    """An argument that every server would refuse; nothing was sent. `field` names it."""


class ConnectionFailed(TallystickError):
    """The server did not answer any attempt. Whether an event was written is unknown."""


class LocalServerFailed(TallystickError):
    """The private server of `local` did not start; `detail` contains its output."""


class UnexpectedAnswer(TallystickError):
    """The answer is not one of a Tallystick server, but for example of a proxy."""


class Refused(TallystickError):
    """The server refused the request; nothing was written."""


class InvalidEvent(Refused):
    """The event does not match its event type; nothing was written. `field` and `index` say where."""


class InvalidQuery(Refused):
    """A parameter of the query is invalid; `field` names it."""


class Conflict(Refused):
    """The log rejects the event in its current state; nothing was written. `code` says why.

    `identity-conflict`: another event, with other content, has the id. `stream-conflict`: the stream is not at the
    expected version. `lifecycle-violation`: the event is not allowed after the events of its stream, for example a
    second decision with one id, or a review of a decision that was never recorded. `run-ended` and `attempt-taken`:
    another program has continued the discovery run.
    """


class NotFound(Refused):
    """The log contains nothing with that name or number."""


class Erased(Refused):
    """The evidence was erased permanently."""


class NotAllowed(Refused):
    """The token is missing, unknown or lacks a scope; `detail` names the scope."""


class TooLarge(Refused):
    """The request is larger than the server accepts; send it in parts."""


class Busy(Refused):
    """All attempts failed because the server was busy, or the token's rate limit was reached; nothing was written."""


class ServerFault(Refused):
    """The server failed: a bug, a full disk, or a damaged ledger."""


class _Problem(msgspec.Struct, frozen=True):
    """An RFC 9457 problem document, as the server sends it."""

    type: str
    status: int
    detail: str
    title: str = ""
    advice: str = ""
    field: str | None = None
    index: int | None = None
    request_id: str | None = None


_BY_STATUS: dict[int, type[Refused]] = {
    400: InvalidQuery, 401: NotAllowed, 403: NotAllowed, 404: NotFound, 408: Busy, 409: Conflict, 410: Erased,
    413: TooLarge, 414: TooLarge, 421: NotAllowed, 422: InvalidEvent, 429: Busy, 431: TooLarge, 503: Busy,
}  # fmt: skip

LASTING = frozenset({"forked", "unwitnessed", "ledger-unusable"})
"""Problems with status 503 that a retry cannot solve."""

_BY_CODE: dict[str, type[Refused]] = {
    "malformed-input": InvalidEvent,
    "line-too-long": InvalidEvent,
    "no-route": Refused,  # a wrong address must not look like an unknown decision
    **dict.fromkeys(LASTING, ServerFault),
}


def error_of(status: int, headers: Mapping[str, str], body: bytes, url: str) -> TallystickError:
    """Return the error for an answer other than 200 and 201. Header names are in lower case."""
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return unexpected_answer(status, url, headers)
    code = problem.type.rpartition(":")[2]
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (ServerFault if status >= 500 else Refused)
    return kind(
        problem.detail,
        problem.advice,
        status=status,
        title=problem.title,
        code=code,
        field=problem.field,
        index=problem.index,
        request_id=problem.request_id or headers.get("x-request-id"),
        retry_after_s=seconds_of(headers.get("retry-after")),
    )


def unexpected_answer(status: int, url: str, headers: Mapping[str, str]) -> TallystickError:
    """Return the error for an answer that is not a Tallystick server's: Busy if it is a busy proxy's."""
    retry_after_s = seconds_of(headers.get("retry-after"))
    detail = f"{url} answered {status}, but not as a Tallystick server does."
    if status in {429, 502, 503, 504}:
        return Busy(detail, "Try again later, or check the proxy.", status=status, retry_after_s=retry_after_s)
    return UnexpectedAnswer(detail, "Check the address.", status=status)


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds in a Retry-After header; None if it is not a whole number."""
    if retry_after is None or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    return float(retry_after[:9])


def _restored(kind: type[TallystickError], attributes: dict[str, Any]) -> TallystickError:
    error = kind.__new__(kind)
    Exception.__init__(error, attributes["detail"])
    error.__dict__.update(attributes)
    return error
