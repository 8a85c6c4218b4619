"""Sign in with a token that is pasted once, and sign out."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.http.pages.form import read_form, require_own_page
from api.http.pages.page import SIGN_IN, explain_errors
from api.http.pages.response import copy_headers, html_response
from api.http.problems import note_refusal, problem_response
from api.http.request import ledger_of, requests_of
from api.http.sessions import SESSION_S
from api.principal import AccessRefused

OVERVIEW = "/ui"

ADDRESS_CHARS_MAX = 4_096
"""Characters of the address of the page that is shown after signing in; a longer one is forgotten."""


async def show_sign_in(request: Request) -> Response:
    """Ask for a token. A ledger without tokens shows the wanted page at once."""
    wanted = _own_address(request.query_params.get("next"))
    if not ledger_of(request).tokens.required():
        return RedirectResponse(wanted, 303)
    return await html_response("sign_in", "Sign in", {"wanted": wanted, "refusal": None})


@explain_errors
async def sign_in(request: Request) -> Response:
    """Begin a session with the token of the form."""
    require_own_page(request)
    form = await read_form(request)
    wanted = _own_address(form.get("next"))
    try:
        caller = requests_of(request.scope).authenticate(request.scope, f"Bearer {form.get('token', '').strip()}")
        caller.require("read")
    except AccessRefused as error:
        return await _ask_again(request, wanted, error)
    answer = RedirectResponse(wanted, 303)
    if caller.token_id is not None:
        _set_cookie(answer, request, requests_of(request.scope).sessions.begin(caller), SESSION_S)
    return answer


@explain_errors
async def sign_out(request: Request) -> Response:
    """End the session of this browser: it forgets the cookie."""
    require_own_page(request)
    answer = RedirectResponse(SIGN_IN if ledger_of(request).tokens.required() else OVERVIEW, 303)
    _set_cookie(answer, request, "", 0)
    return answer


async def _ask_again(request: Request, wanted: str, error: AccessRefused) -> Response:
    """Return the form again, with why the token was refused."""
    refusal = note_refusal(request.scope, error)
    problem = problem_response(refusal)
    page = await html_response("sign_in", "Sign in", {"wanted": wanted, "refusal": refusal}, problem.status_code)
    return copy_headers(problem, page)


def _set_cookie(answer: Response, request: Request, value: str, seconds: int) -> None:
    """Set the cookie. The form's Origin states whether the browser uses TLS, also where a proxy ends it."""
    secure = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https:")
    answer.set_cookie(
        requests_of(request.scope).sessions.cookie_name(secure=secure),
        value,
        max_age=seconds,
        path="/",
        secure=secure,
        httponly=True,
        samesite="strict",
    )


def _own_address(wanted: str | None) -> str:
    """Return the page to show after signing in: one of this server's pages, whatever the address asks for."""
    if wanted is None or len(wanted) > ADDRESS_CHARS_MAX or not wanted.isprintable() or "\\" in wanted:
        return OVERVIEW
    own = wanted == OVERVIEW or wanted.startswith((f"{OVERVIEW}/", f"{OVERVIEW}?"))
    return wanted if own and not wanted.startswith(f"{OVERVIEW}/sign-") else OVERVIEW
