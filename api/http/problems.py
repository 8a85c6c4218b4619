"""Answer errors with problem documents."""

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from api.errors import make_problem, problem_name
from api.http.media_types import PROBLEM
from api.rate_limit import RateLimited
from events.errors import TallystickError
from ledger.errors import LedgerBusy

RETRY_AFTER_S = 5
"""Seconds after which a client may retry a request that was answered 503, unless the error states a time."""


def problem_response(error: TallystickError, request_id: str | None = None) -> Response:
    """Return the answer to an error."""
    problem = make_problem(error, request_id)
    headers: dict[str, str] = {}
    if isinstance(error, LedgerBusy | RateLimited):
        headers["retry-after"] = str(error.retry_after_s)
    elif problem.status == 503:
        headers["retry-after"] = str(RETRY_AFTER_S)
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, headers, media_type=PROBLEM)


def answer_error(scope: Scope, error: TallystickError) -> Response:
    """Return the answer to an error, and store the error's name in the scope for the log and the metrics."""
    scope["refusal"] = problem_name(type(error).__name__)
    return problem_response(error, scope["request_id"].decode())
