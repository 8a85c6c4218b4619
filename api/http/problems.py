"""Problem documents: the HTTP answers to errors."""

import msgspec
from starlette.responses import Response
from starlette.types import Scope

from api.errors import make_problem, slug
from api.rate_limit import RateLimited
from events.errors import TallystickError
from ledger.errors import LedgerBusy


def problem_response(error: TallystickError, request_id: str | None = None) -> Response:
    """The HTTP answer to an error."""
    problem = make_problem(error, request_id)
    headers: dict[str, str] = {}
    if isinstance(error, LedgerBusy | RateLimited):
        headers["retry-after"] = str(error.retry_after_s)
    elif problem.status == 503:
        headers["retry-after"] = "5"
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    body = msgspec.json.encode(problem)
    return Response(body, problem.status, headers, media_type="application/problem+json")


def problem_answer(scope: Scope, error: TallystickError) -> Response:
    """The HTTP answer to an error, which is noted for the log and the figures."""
    scope["refusal"] = slug(type(error).__name__)
    return problem_response(error, scope["request_id"].decode())
