"""Pages and forms: each declares its query and its template; how a request for one is answered."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial, update_wrapper, wraps
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.errors import NoRoute
from api.http.lazy_route import Endpoint
from api.http.operation import with_left_out
from api.http.pages.content import Content
from api.http.pages.form import read_form, require_own_page
from api.http.pages.page_answer import PageAnswer, find_page
from api.http.pages.response import copy_headers, page_response, problem_page, unfinished_response
from api.http.problems import answer_error, note_refusal
from api.http.request import Call, authenticate, run_query
from api.parameters import Parameter, check_parameter_names, declared, integer_parameter, parameters_by_name
from api.principal import Scope, Unauthenticated
from api.service.event_params import AS_OF
from events.errors import TallystickError

SIGN_IN = "/ui/sign-in"

ROWS_MAX = 100
ROWS = integer_parameter("limit", "Rows of a page.", 1, ROWS_MAX, default=50)
"""The pages' own limit: with more rows a page could be larger than 200 KB."""

Handler = Callable[[Call], Coroutine[Any, Any, Content | Response]]
FormHandler = Callable[[Call, Mapping[str, str]], Awaitable[Response]]


def page(
    template: str = "", *, query: Sequence[Parameter[Any]] = (), heavy: bool = False
) -> Callable[[Handler], Endpoint]:
    """Declare a page. The decorator takes the handler of requests, which is called after caller and query are checked.

    A parameter without a value, as a form sends it, counts as absent. A `heavy` page computes a view for long enough
    that each token may run one at a time; so does every page with `as_of`. While a page is computed, another one that
    says so is shown. Without a template it is a drawing, which is waited for: no page can be shown instead.
    """

    def declare(handler: Handler) -> Endpoint:
        async def compute(call: Call, *, shared: bool = False) -> Content | Response:
            if heavy or "as_of" in call.parameters:
                return await run_query(call, partial(handler, call), shared=shared)
            return await handler(call)

        async def endpoint(request: Request) -> Response:
            call = open_call(request, ("read",), query)
            head = (await call.ledger.reader.head()).position  # before the page: what comes later, a live page loads
            answer: PageAnswer | None
            if not template:
                answer, current = PageAnswer(await compute(call), head, call.ledger.clock()), True
            else:
                answer, current = await find_page(call, head, partial(compute, call, shared=True))
            if answer is None:
                made = await unfinished_response(call, template, head)
            elif isinstance(answer.content, Response):
                return answer.content
            else:
                late = None if current else answer.time
                made = await page_response(call, template, answer.content, answer.position, late=late)
            return with_left_out(made, call.ledger)

        return explain_errors(update_wrapper(endpoint, handler))

    return declare


def form(*query: Parameter[Any]) -> Callable[[FormHandler], Endpoint]:
    """Declare what a form posts to. The decorator takes the handler of a call and of the fields that have a value.

    Only a page of this server may post the form, for a caller that may read and append.
    """

    def declare(handler: FormHandler) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            require_own_page(request)
            call = open_call(request, ("read", "append"), query)
            return await handler(call, await read_form(request))

        return explain_errors(update_wrapper(endpoint, handler))

    return declare


def explain_errors(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that answers errors with a page: the form that asks for a token, or what went wrong."""

    @wraps(endpoint)
    async def explained(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Unauthenticated as error:
            return await sign_in_first(request, error)
        except TallystickError as error:
            return await problem_page(request, error)

    return explained


def open_call(request: Request, scopes: Sequence[Scope], query: Sequence[Parameter[Any]]) -> Call:
    """Return the call of a request, whose token has the scopes. Errors: those of `authenticate`; InvalidQuery."""
    caller, ledger = authenticate(request, scopes)
    parameters = parameters_by_name([(name, value) for name, value in request.query_params.multi_items() if value])
    check_parameter_names(parameters.keys(), query)
    return Call(request, ledger, caller, parameters)


async def refused_page(call: Call, template: str, content: Content, error: TallystickError) -> Response:
    """Return a page with a form that was refused, with the status and the headers that a program gets."""
    problem = answer_error(call.request.scope, error)
    head = await call.ledger.reader.head()
    made = await page_response(call, template, content._replace(live=None), head.position)
    made.status_code = problem.status_code
    return copy_headers(problem, made)


async def sign_in_first(request: Request, error: Unauthenticated) -> Response:
    """Send a caller without a token to the form that asks for one, and then back to the page that it wanted."""
    note_refusal(request.scope, error)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = SIGN_IN if request.method != "GET" else f"{SIGN_IN}?{urlencode({'next': wanted})}"
    return RedirectResponse(address, 303)


def query_of(params: Any, *left_out: str) -> tuple[Parameter[Any], ...]:  # noqa: ANN401 - a type of struct
    """Return the parameters of a page that asks an operation, without those of the path and some others."""
    return (*(each for each in declared(params) if not each.required and each.name not in left_out), AS_OF)


@page("problem")
async def show_unknown_page(call: Call) -> Content:
    """Say that no page is at this address."""
    raise NoRoute(f"No page is at {call.request.url.path}.", "Start at the overview.")
