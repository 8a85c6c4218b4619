"""The page of an error: what went wrong, and what to do."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.pages.navigation import links_for
from api.http.pages.response import html_response
from api.http.problems import note_refusal, problem_response
from api.http.request import ledger_of
from api.principal import Principal
from events.errors import TallystickError


async def problem_page(request: Request, error: TallystickError) -> Response:
    """Return the page of an error, with the status and the headers that a program gets."""
    error = note_refusal(request.scope, error)
    problem = problem_response(error)
    variables: dict[str, object] = {"detail": error.detail, "advice": error.full_advice, "status": problem.status_code}
    caller: Principal | None = request.scope.get("caller")
    if caller is not None:
        variables["links"] = links_for(caller, "none")
        variables["agent"] = caller.agent if ledger_of(request).tokens.required() else None
    page = await html_response("problem", "This cannot be shown", variables, problem.status_code)
    return copy_headers(problem, page)


def copy_headers(problem: Response, page: Response) -> Response:
    """Return a page with the headers of the answer that a program gets."""
    for name in ("retry-after", "www-authenticate"):
        if name in problem.headers:
            page.headers[name] = problem.headers[name]
    return page
