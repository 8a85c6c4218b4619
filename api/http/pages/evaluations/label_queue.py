"""The queue of judged answers that lack a label: one after another, without the verdicts of judges."""

from collections.abc import Mapping

from starlette.responses import RedirectResponse, Response

from api.http.pages.content import Content, address_of
from api.http.pages.form import convert_fields, event_id_of, new_event_id, stated_texts
from api.http.pages.page import form, page, refused_page
from api.http.request import Call
from api.parameters import declared
from api.service.answer_label import LabelToRecord
from api.service.evaluation.judge_queries import show_next_answer
from api.service.label_recorder import label_answer
from events.errors import InvalidEvent, TallystickError
from projections.evaluation.query_params import QueueQuery

PATH = "/ui/labels"
TEMPLATE = "evaluations/labels"
PAGE_PARAMETERS = tuple(each for each in declared(QueueQuery) if each.name != "limit")


@page(TEMPLATE, query=PAGE_PARAMETERS, heavy=True)
async def show_label_queue(call: Call) -> Content:
    """Show the next answer to label."""
    return await label_content(call)


@form(*PAGE_PARAMETERS)
async def record_label(call: Call, typed: Mapping[str, str]) -> Response:
    """Record the label of the answer that the queue shows, and show the next one."""
    try:
        await label_answer(call.ledger, call.caller, _label(typed), event_id=event_id_of(typed))
    except TallystickError as error:
        return await refused_page(call, TEMPLATE, await label_content(call, error), error)
    return RedirectResponse(address_of(PATH, call.parameters), 303)


def _label(typed: Mapping[str, str]) -> LabelToRecord:
    if "label" not in typed:
        raise InvalidEvent("No label is chosen.", "Choose pass or fail.", field="label")
    attempt = typed.get("attempt", "")
    fields = stated_texts(typed, "run_id", "scenario_id", "criterion", "note")
    fields |= {"passed": typed["label"] == "pass", "attempt": int(attempt) if attempt.isdecimal() else attempt}
    return convert_fields(fields, LabelToRecord)


async def label_content(call: Call, refusal: TallystickError | None = None) -> Content:
    """Return what the queue shows: its next answer, with a form for one criterion, perhaps one that was refused."""
    query = call.asked(QueueQuery)
    shown, answers = await show_next_answer(call.ledger, query)
    caller = call.caller
    criterion = None if shown is None or not shown.answer.criteria else shown.answer.criteria[0]
    components = () if shown is None else shown.row.components
    variables = {
        "shown": shown,
        "answers": answers,
        "criterion": criterion,
        "judged": next((part.verdict for part in components if part.name == criterion), None),
        "may_label": caller.review != "none" and not caller.scopes.isdisjoint({"append", "admin"}),
        "event_id": new_event_id(),
        "skipped": query.offset,
        "refusal": refusal,
    }
    return Content("Label answers", variables, address_of("/labels/queue", call.parameters))
