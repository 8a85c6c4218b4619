"""Answer errors with problem documents."""

import time
from hashlib import sha256
from math import ceil

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from api.errors import error_codes, make_problem, problem_name
from api.http.media_types import PROBLEM
from api.http.refusals import ClientRefusals
from api.rate_limit import LimitReached, RateLimited, TokenLimitReached, TooManyRefusals
from events.errors import TallystickError
from ledger.errors import LedgerBusy

RETRY_AFTER_S = 5
"""Seconds after which a client may retry a request that was answered 503, unless the error states a time."""


def problem_response(error: TallystickError, request_id: str | None = None) -> Response:
    """Return the answer to an error."""
    problem = make_problem(error, request_id)
    headers: dict[str, str] = {}
    if isinstance(error, LedgerBusy | RateLimited | LimitReached):
        headers["retry-after"] = str(error.retry_after_s)
    elif problem.status == 503:
        headers["retry-after"] = str(RETRY_AFTER_S)
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, headers, media_type=PROBLEM)


def limit_refusals(scope: Scope, error: TallystickError) -> TallystickError:
    """Return the error to answer, and note in the scope if the client causes so many that this one is to be held.

    What counts are refusals for a limit of the token, by token, and refusals without a valid token, by address. Only
    this machine can reach a ledger without tokens, so nothing counts there.
    """
    token = _token_name(scope) if isinstance(error, RateLimited | TokenLimitReached) else None
    if token is None and ("caller" in scope or error_codes(error).status >= 500):
        return error
    state = scope["app"].state
    if token is None and not state.ledger.tokens.required():
        return error
    refusals: ClientRefusals = state.requests.refusals
    client = scope["client"][0] if scope.get("client") else ""
    hold_s = refusals.take(client if token is None else token, time.monotonic())
    if not hold_s:
        return error
    scope["hold_s"] = hold_s
    if token is not None:
        return error
    return TooManyRefusals(
        f"Over {refusals.per_s:g} requests a second from {client} were refused, which is the limit for each address.",
        str(error),
        ceil(hold_s),
    )


def _token_name(scope: Scope) -> str | None:
    """Return a name of the token of a request or of its session, which does not contain it; None without a token."""
    if (session := scope.get("session")) is not None:
        return f"session {session.token_id}"
    header = scope["named_headers"].get(b"authorization")
    return None if header is None else sha256(header).hexdigest()


def note_refusal(scope: Scope, error: TallystickError) -> TallystickError:
    """Return the error to answer, and store its name in the scope for the log and the metrics."""
    error = limit_refusals(scope, error)
    scope["refusal"] = problem_name(type(error).__name__)
    return error


def answer_error(scope: Scope, error: TallystickError) -> Response:
    """Return the answer to an error, which counts as a refusal if it is one."""
    return problem_response(note_refusal(scope, error), scope["request_id"].decode())
