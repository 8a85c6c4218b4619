"""What the form of the label queue posts to."""

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from api.http.pages.evaluations import label_queue
from api.http.pages.form import read_form, require_own_page
from api.http.pages.page import address_of, sign_in_first
from api.http.pages.problem_page import problem_page
from api.http.pages.public_route import PublicRoute
from api.http.pages.response import page_response
from api.http.problems import answer_error
from api.http.request import Call, authenticate
from api.parameters import check_parameter_names, parameters_by_name
from api.principal import Unauthenticated
from api.service.answer_label import LabelToRecord
from api.service.label_recorder import label_answer
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.errors import InvalidEvent, TallystickError


@PublicRoute("POST", label_queue.PATH)
async def record_label(request: Request) -> Response:
    """Record the label of the answer that the queue shows, and show the next one."""
    try:
        require_own_page(request)
        caller, ledger = authenticate(request, ("read", "append"))
        stated = [(name, value) for name, value in request.query_params.multi_items() if value]
        parameters = parameters_by_name(stated)
        check_parameter_names(parameters.keys(), label_queue.PAGE_PARAMETERS)
        call, typed = Call(request, ledger, caller, parameters), await read_form(request)
        try:
            await label_answer(ledger, caller, _label(typed), event_id=_event_id(typed))
        except TallystickError as error:
            return await _refused(call, error)
        return RedirectResponse(address_of(label_queue.PATH, parameters), 303)
    except Unauthenticated as error:
        return await sign_in_first(request, error)
    except TallystickError as error:
        return await problem_page(request, error)


async def _refused(call: Call, error: TallystickError) -> Response:
    """Return the queue with the refusal, with the status that a program gets."""
    content = await label_queue.label_content(call, label_queue.RefusedLabel(error))
    head = await call.ledger.reader.head()
    page = await page_response(call, label_queue.TEMPLATE, "evaluations", content._replace(live=None), head.position)
    page.status_code = answer_error(call.request.scope, error).status_code
    return page


def _label(typed: Mapping[str, str]) -> LabelToRecord:
    if "label" not in typed:
        raise InvalidEvent("No label is chosen.", "Choose pass or fail.", field="label")
    texts = ("run_id", "scenario_id", "criterion", "note")
    fields: dict[str, object] = {name: typed[name].strip() for name in texts if typed.get(name, "").strip()}
    attempt = typed.get("attempt", "")
    fields |= {"passed": typed["label"] == "pass", "attempt": int(attempt) if attempt.isdecimal() else attempt}
    try:
        return msgspec.convert(fields, LabelToRecord)
    except DECODE_ERRORS as error:
        names = LabelToRecord.__struct_fields__
        raise explain_decode_error(error, (), fields=names, shape=LabelToRecord) from None


def _event_id(typed: Mapping[str, str]) -> str:
    """Return the id that the form was made with: without one, sending the form twice would record two labels."""
    if "event_id" not in typed:
        raise InvalidEvent("The form has no event_id.", "Open the page again.", field="event_id")
    return typed["event_id"]
