"""What the forms of reviews post to: on the page of a decision, and in the queue."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.http.pages.content import Content, Section
from api.http.pages.decisions import decision_page, review_queue
from api.http.pages.decisions.review_form import DECISION_ID as DECISION_FIELD
from api.http.pages.decisions.review_form import RefusedReview, post_form
from api.http.pages.form import read_form, require_own_page
from api.http.pages.page import address_of, sign_in_first
from api.http.pages.problem_page import problem_page
from api.http.pages.public_route import PublicRoute
from api.http.pages.response import page_response
from api.http.problems import answer_error
from api.http.request import Call, authenticate
from api.http.routes.decisions import DECISION_ID
from api.parameters import check_parameter_names, parameters_by_name
from api.principal import Unauthenticated
from events.errors import TallystickError


@PublicRoute("POST", "/ui/decisions/{decision_id}/review")
async def record_review(request: Request) -> Response:
    """Record the outcome of the decision, and show it; or show the form again with what is wrong."""
    try:
        call, typed = await _read(request)
        decision_id = call.path(DECISION_ID)
        try:
            await post_form(call, {**typed, DECISION_FIELD: decision_id})
        except TallystickError as error:
            content = await decision_page.decision_content(call, decision_id, RefusedReview(typed, error))
            return await _refused(call, decision_page.TEMPLATE, "decisions", content, error)
        return RedirectResponse(f"/ui/decisions/{decision_id}", 303)
    except Unauthenticated as error:
        return await sign_in_first(request, error)
    except TallystickError as error:
        return await problem_page(request, error)


@PublicRoute("POST", review_queue.PATH)
async def record_next_review(request: Request) -> Response:
    """Record the outcome of the decision that the queue shows, and show the next one."""
    try:
        call, typed = await _read(request)
        try:
            recorded = await post_form(call, typed)
        except TallystickError as error:
            content = await review_queue.queue_content(call, typed.get(DECISION_FIELD), RefusedReview(typed, error))
            if isinstance(content, Response):
                return content
            return await _refused(call, review_queue.TEMPLATE, "reviews", content, error)
        stated = {name: value for name, value in call.parameters.items() if name != review_queue.RECORDED.name}
        return RedirectResponse(address_of(review_queue.PATH, stated, recorded=recorded.decision_id), 303)
    except Unauthenticated as error:
        return await sign_in_first(request, error)
    except TallystickError as error:
        return await problem_page(request, error)


async def _read(request: Request) -> tuple[Call, Mapping[str, str]]:
    """Return the call and the fields of a form. Errors: those of `authenticate` and `read_form`; InvalidQuery."""
    require_own_page(request)
    caller, ledger = authenticate(request, ("read", "append"))
    parameters = parameters_by_name([(name, value) for name, value in request.query_params.multi_items() if value])
    declared = review_queue.QUEUE_PARAMETERS if request.url.path == review_queue.PATH else ()
    check_parameter_names(parameters.keys(), declared)
    return Call(request, ledger, caller, parameters), await read_form(request)


async def _refused(call: Call, template: str, section: Section, content: Content, error: TallystickError) -> Response:
    """Return a page with a form that was refused, with the status and the headers that a program gets."""
    problem = answer_error(call.request.scope, error)
    head = await call.ledger.reader.head()
    page = await page_response(call, template, section, content._replace(live=None), head.position)
    page.status_code = problem.status_code
    if "retry-after" in problem.headers:
        page.headers["retry-after"] = problem.headers["retry-after"]
    return page
