"""The steps of an operation, without I/O: a request, its answer, and when to send it again.

An operation is a generator, a `Flow`. It yields the next step and receives its outcome: a `Response` or a `Failure` for
a `Request`, None for a `Wait`, a `TimedReply` for a `PromptStep`. `Client` and `AsyncClient` perform these steps, each
in its own way, and contain no other logic.
"""

from collections.abc import Generator, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from tallystick.backoff import Backoff
from tallystick.errors import (
    ADVICE_UNKNOWN_OUTCOME,
    LASTING,
    ConnectionFailed,
    TallystickError,
    UnexpectedAnswer,
    error_of,
)
from tallystick.ids import new_event_id
from tallystick.results import Reply

RETRIED = frozenset({408, 429, 502, 503, 504})
"""Statuses after which a request is sent again."""

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""One answer, which is always uncompressed."""

_Result = TypeVar("_Result")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request; `path` is appended to the server's address. A retry sends the same bytes.

    The answer has at most `answer_bytes_max` bytes: a server that sends more is not a Tallystick server.
    """

    method: str
    path: str
    query: dict[str, str] = {}
    body: bytes | None = None
    headers: dict[str, str] = msgspec.field(default_factory=lambda: {"x-request-id": new_event_id()})
    answer_bytes_max: int = ANSWER_BYTES_MAX


class Response(NamedTuple):
    """The answer of the server. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Failure(NamedTuple):
    """Why there was no answer, or an `unexpected` one, which is compressed or too long.

    If `lasting`, a retry cannot help, as with a certificate that is not trusted.
    """

    url: str
    detail: str
    lasting: bool = False
    advice: str = ADVICE_UNKNOWN_OUTCOME
    unexpected: bool = False


class Wait(NamedTuple):
    """Wait for some seconds."""

    seconds: float


class PromptStep(NamedTuple):
    """Give a prompt to the caller's function."""

    prompt: str


class TimedReply(NamedTuple):
    """The reply of the caller's function, and how long it took, nanoseconds."""

    reply: Reply
    elapsed_ns: int


TIMED_OUT = Reply(failure="timeout")
"""The reply of a function that raised TimeoutError."""

Step = Request | Wait | PromptStep
StepOutcome = Response | Failure | TimedReply | None
Flow = Generator[Step, StepOutcome, _Result]


def send(request: Request, retry_s: float) -> Flow[Response]:
    """Send a request until it is answered with 200 or 201.

    Errors: Refused, ConnectionFailed, UnexpectedAnswer.
    """
    backoff = Backoff(retry_s)
    while True:
        outcome = yield request
        assert isinstance(outcome, Response | Failure)
        if isinstance(outcome, Response) and outcome.status in {200, 201}:
            return outcome
        yield Wait(wait_after(outcome, backoff, request.headers.get("x-request-id")))


def wait_after(outcome: Response | Failure, backoff: Backoff, request_id: str | None = None) -> float:
    """Return the seconds to wait before the next attempt. Errors: if a retry cannot help, or the time is used up."""
    if isinstance(outcome, Failure):
        wait_s = None if outcome.lasting else backoff.next_wait()
        if wait_s is None:
            raise _failed(outcome, backoff, request_id)
        _log(f"{outcome.url} gave no answer: {outcome.detail}", wait_s)
        return wait_s
    error = error_of(outcome.status, outcome.headers, outcome.body, outcome.url)
    if outcome.status not in RETRIED or error.code in LASTING:
        raise error
    wait_s = backoff.next_wait(error.retry_after_s)
    if wait_s is None:
        raise error
    _log(f"{outcome.url} answered {outcome.status}: {error.detail}", wait_s)
    return wait_s


def decode_response(response: Response, kind: type[_Result]) -> _Result:
    """Decode an answer to a struct; fields that the struct lacks are ignored. Errors: UnexpectedAnswer."""
    try:
        return msgspec.json.decode(response.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnexpectedAnswer(
            f"{response.url} answered {response.status} with a body that is not a Tallystick server's: {error}.",
            "Check the address, and that client and server are of the same version.",
            status=response.status,
        ) from None


def timed_reply(answer: str | Reply, elapsed_ns: int) -> TimedReply:
    """Convert the return value of the caller's function to a reply with its time."""
    return TimedReply(answer if isinstance(answer, Reply) else Reply(response=answer), elapsed_ns)


def _log(reason: str, wait_s: float) -> None:
    """Log why the client waits, with the logger `tallystick`."""
    import logging  # noqa: PLC0415 - most programs never wait

    logging.getLogger("tallystick").info("%s; trying again in %.1f s", reason, wait_s)


def _failed(failure: Failure, backoff: Backoff, request_id: str | None) -> TallystickError:
    tries = f"{backoff.tries} tries in {backoff.elapsed_s:.1f} s" if backoff.tries > 1 else "1 try"
    return ConnectionFailed(
        f"{failure.url} gave no answer: {failure.detail} ({tries}).", failure.advice, request_id=request_id
    )
