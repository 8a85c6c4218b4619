"""Pages: the declaration of each page's path, query and template, and how a request for one is answered."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from api.http.operation import with_left_out
from api.http.pages.content import Content, Section
from api.http.pages.page_answer import PageAnswer, find_page
from api.http.pages.problem_page import problem_page
from api.http.pages.response import page_response, unfinished_response
from api.http.problems import note_refusal
from api.http.request import Call, authenticate, run_query
from api.parameters import Parameter, check_parameter_names, declared, parameters_by_name
from api.principal import Scope, Unauthenticated
from api.service.event_params import AS_OF
from events.errors import TallystickError

SIGN_IN = "/ui/sign-in"

Handler = Callable[[Call], Coroutine[Any, Any, Content | Response]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Page:
    """A page. As a decorator it takes the handler of authenticated requests.

    The token must have every scope of `scopes`. A parameter without a value, as a form sends it, counts as absent. A
    `heavy` page computes a view for long enough that each token may run one at a time; so does every page with `as_of`.

    While a page is computed, another one that says so is shown, unless it `waits`: a drawing, instead of which no page
    can be shown.
    """

    path: str
    template: str
    section: Section
    scopes: tuple[Scope, ...] = ("read",)
    path_parameters: tuple[Parameter[Any], ...] = ()
    query: tuple[Parameter[Any], ...] = ()
    heavy: bool = False
    waits: bool = False
    endpoint: Any = None

    def __call__(self, handler: Handler) -> "Page":
        """Return the page with a handler, which is called after the caller and the query are checked."""

        async def endpoint(request: Request) -> Response:
            try:
                return await self._answer(request, handler)
            except Unauthenticated as error:
                return await sign_in_first(request, error)
            except TallystickError as error:
                return await problem_page(request, error)

        return replace(self, endpoint=update_wrapper(endpoint, handler))

    def route(self) -> Route:
        """Return Starlette's route for the page."""
        return Route(self.path, self.endpoint, methods=["GET"])

    async def _answer(self, request: Request, handler: Handler) -> Response:
        caller, ledger = authenticate(request, self.scopes)
        stated = [(name, value) for name, value in request.query_params.multi_items() if value]
        parameters = parameters_by_name(stated)
        check_parameter_names(parameters.keys(), self.query)
        call = Call(request, ledger, caller, parameters)
        head = (await ledger.reader.head()).position  # before the page: what comes later, a live page loads
        answer: PageAnswer | None
        if self.waits:
            answer, current = PageAnswer(await self._compute(call, handler), head, ledger.clock()), True
        else:
            answer, current = await find_page(call, head, partial(self._compute, call, handler, shared=True))
        if answer is None:
            page = await unfinished_response(call, self.section, head)
        elif isinstance(answer.content, Response):
            return answer.content
        else:
            late = None if current else answer.time
            page = await page_response(call, self.template, self.section, answer.content, answer.position, late=late)
        return with_left_out(page, ledger)

    async def _compute(self, call: Call, handler: Handler, *, shared: bool = False) -> Content | Response:
        """Run the handler, in the turn of the token if that takes long."""
        if self.heavy or "as_of" in call.parameters:
            return await run_query(call, partial(handler, call), shared=shared)
        return await handler(call)


async def sign_in_first(request: Request, error: Unauthenticated) -> Response:
    """Send a caller without a token to the form that asks for one, and then back to the page that it wanted."""
    note_refusal(request.scope, error)
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = SIGN_IN if request.method != "GET" else f"{SIGN_IN}?{urlencode({'next': wanted})}"
    return RedirectResponse(address, 303)


def query_of(params: Any, *left_out: str) -> tuple[Parameter[Any], ...]:  # noqa: ANN401 - a type of struct
    """Return the parameters of a page that asks an operation, without those of the path and some others."""
    return (*(each for each in declared(params) if not each.required and each.name not in left_out), AS_OF)


def address_of(path: str, parameters: Mapping[str, str], **changed: object) -> str:
    """Return a path with query parameters, some of them changed; None leaves one out."""
    merged = {**parameters, **{name: None if value is None else str(value) for name, value in changed.items()}}
    query = urlencode({name: value for name, value in merged.items() if value is not None})
    return f"{path}?{query}" if query else path
