"""The queue of judged answers that lack a label: one after another, without the verdicts of judges."""

import secrets
from typing import NamedTuple

from api.http.pages.content import Content
from api.http.pages.page import Page, address_of
from api.http.request import Call
from api.parameters import declared
from api.service.evaluation.judge_queries import show_next_answer
from events.errors import TallystickError
from projections.evaluation.query_params import QueueQuery

PATH = "/ui/labels"
TEMPLATE = "evaluations/labels"
PAGE_PARAMETERS = tuple(each for each in declared(QueueQuery) if each.name != "limit")


class RefusedLabel(NamedTuple):
    """Why a label was refused."""

    refusal: TallystickError


@Page(path=PATH, template=TEMPLATE, section="evaluations", query=PAGE_PARAMETERS, heavy=True)
async def show_label_queue(call: Call) -> Content:
    """Show the next answer to label."""
    return await label_content(call)


async def label_content(call: Call, refused: RefusedLabel | None = None) -> Content:
    """Return what the queue shows: its next answer, with a form for one criterion, perhaps one that was refused."""
    query = call.asked(QueueQuery)
    shown, page = await show_next_answer(call.ledger, query)
    skipped = query.offset
    caller = call.caller
    criterion = None if shown is None or not shown.answer.criteria else shown.answer.criteria[0]
    components = () if shown is None else shown.row.components
    variables = {
        "shown": shown,
        "page": page,
        "criterion": criterion,
        "judged": next((part.verdict for part in components if part.name == criterion), None),
        "may_label": caller.review != "none" and not caller.scopes.isdisjoint({"append", "admin"}),
        "event_id": f"page-{secrets.token_hex(12)}",
        "action": address_of(PATH, call.parameters),
        "skip": address_of(PATH, call.parameters, offset=skipped + 1) if page.total > skipped + 1 else None,
        "back": address_of(PATH, call.parameters, offset=skipped - 1 or None) if skipped else None,
        "refusal": None if refused is None else refused.refusal,
    }
    return Content("Label answers", variables, address_of("/labels/queue", call.parameters))
