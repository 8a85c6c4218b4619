"""The queue of decisions that have no review yet: one after another, the oldest first, or a random sample of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from starlette.responses import RedirectResponse, Response

from api.http.pages.content import Content, address_of
from api.http.pages.decisions.decision_facts import heading_of, read_facts
from api.http.pages.decisions.decision_texts import read_texts
from api.http.pages.decisions.list_controls import ActiveFilter, active_filters
from api.http.pages.decisions.review_form import DECISION_ID, RefusedReview, post_form, review_form
from api.http.pages.page import form, page, refused_page
from api.http.request import Call, run_query
from api.parameters import declared, flag_parameter, named, parse_params, text_parameter
from api.service.calibration_params import ReviewSampleParams
from api.service.decision_names import list_decision_names
from api.service.decision_params import DecisionListParams
from api.service.decision_search import to_query
from api.service.decisions import find_decision, select_decisions
from api.service.event_params import OFFSET
from api.service.review_permission import may_review_some
from api.service.review_sample import ReviewSample, get_review_sample
from events.errors import TallystickError
from ledger.errors import NotFound
from projections.decisions.decision_selection import STAKES
from projections.decisions.decision_state import DecisionState
from projections.shared_params import DecisionFilterParams

PATH = "/ui/reviews"
TEMPLATE = "reviews/queue"

SAMPLE = flag_parameter("sample", "Whether to review a random set of the decisions, and not the oldest.")
RECORDED = text_parameter("recorded", "The decision whose review was just recorded.")
QUEUE_PARAMETERS = (*declared(ReviewSampleParams), OFFSET, SAMPLE, RECORDED)

_OLDEST_FIRST = {"status": "pending", "sort": "created_at", "order": "asc", "limit": "1"}


class QueuePlace(NamedTuple):
    """The decision to review, None if there is none; how many are left with it; the figures as JSON; the sample."""

    decision_id: str | None
    left: int
    json: str
    sample: ReviewSample | None = None


@page(TEMPLATE, query=QUEUE_PARAMETERS)
async def show_queue(call: Call) -> Content | RedirectResponse:
    """Show the next decision to review."""
    return await queue_content(call)


@form(*QUEUE_PARAMETERS)
async def record_next_review(call: Call, typed: Mapping[str, str]) -> Response:
    """Record the outcome of the decision that the queue shows, and show the next one."""
    try:
        recorded = await post_form(call, typed)
    except TallystickError as error:
        content = await queue_content(call, typed.get(DECISION_ID), RefusedReview(typed, error))
        return content if isinstance(content, Response) else await refused_page(call, TEMPLATE, content, error)
    return RedirectResponse(address_of(PATH, _selection(call), recorded=recorded.decision_id), 303)


async def queue_content(
    call: Call, decision_id: str | None = None, refused: RefusedReview | None = None
) -> Content | RedirectResponse:
    """Return what the queue shows: its next decision, or a named one with a review that was refused."""
    parameters = _selection(call)
    place = await _find_place(call, parameters)
    if place.sample is not None and "seed" not in parameters:
        drawn = {"seed": place.sample.seed, "drawn_at": place.sample.drawn_at}
        return RedirectResponse(address_of(PATH, parameters, **drawn), 303)
    shown = decision_id or place.decision_id
    state = None if shown is None else await find_decision(call.ledger, shown)
    skipped = OFFSET.read(parameters)
    names = await list_decision_names(call.ledger)
    variables = {
        "state": state,
        "heading": None if state is None else heading_of(state),
        "place": place,
        "facts": () if state is None else read_facts(state),
        "texts": None if state is None else read_texts(state, heading_of(state)),
        "form": None if state is None else review_form(call, state, refused),
        "skipped": skipped,
        "recorded": await _find_recorded(call),
        "reviewer": may_review_some(call.caller),
        "active": _active(parameters),
        "chosen": parameters,
        "names": names.by_parameter,
        "stakes": STAKES,
    }
    return Content("Review queue", variables, place.json)


def _selection(call: Call) -> Mapping[str, str]:
    """Return the parameters that select the queue, without what is only said once."""
    return {name: value for name, value in call.parameters.items() if name != RECORDED.name}


async def _find_place(call: Call, parameters: Mapping[str, str]) -> QueuePlace:
    filters = {name: parameters[name] for name in named(DecisionFilterParams) if name in parameters}
    skipped = OFFSET.read(parameters)
    if SAMPLE.read(parameters):
        return await _find_sampled(call, parameters, filters, skipped)
    listed = {**filters, **_OLDEST_FIRST, **({OFFSET.name: str(skipped)} if skipped else {})}
    query = to_query(parse_params(DecisionListParams, listed), call.ledger.clock())
    page = await select_decisions(call.ledger, query)
    first = page.decisions[0].decision_id if page.decisions else None
    return QueuePlace(first, max(0, page.total - skipped), address_of("/decisions", listed))


async def _find_sampled(
    call: Call, parameters: Mapping[str, str], filters: Mapping[str, str], skipped: int
) -> QueuePlace:
    drawn = {name: parameters[name] for name in ("size", "seed", "drawn_at") if name in parameters}
    query = parse_params(ReviewSampleParams, {**filters, **drawn})
    # shared: the page may be computed on after its first request was answered
    sample = await run_query(call, partial(get_review_sample, call.ledger, query), shared=True)
    waiting = [each.decision_id for each in sample.decisions if each.outcome is None and not each.retracted]
    left = waiting[skipped:]
    json = address_of("/reviews/sample", {**filters, **drawn})
    return QueuePlace(left[0] if left else None, len(left), json, sample)


async def _find_recorded(call: Call) -> DecisionState | None:
    """Return the decision whose review was just recorded; None if the address names none that is reviewed."""
    decision_id = RECORDED.find(call.parameters)
    if decision_id is None:
        return None
    try:
        state = await find_decision(call.ledger, decision_id)
    except NotFound:
        return None
    return state if state.review is not None else None


def _active(parameters: Mapping[str, str]) -> Sequence[ActiveFilter]:
    """Return the filters in force. Without one the queue is another: nothing of it is skipped, and no sample drawn."""
    kept = {name: value for name, value in parameters.items() if name not in _OF_ONE_QUEUE}
    return active_filters(PATH, kept)


_OF_ONE_QUEUE = (OFFSET.name, "seed", "drawn_at")
