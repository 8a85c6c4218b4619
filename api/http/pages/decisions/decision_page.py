"""One decision whole: what was decided and why, how it turned out, its links, its history, and its proof."""

from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from api.http.pages.content import Content, address_of
from api.http.pages.decisions.decision_facts import heading_of, read_facts
from api.http.pages.decisions.decision_texts import read_texts
from api.http.pages.decisions.history_lines import history_lines, read_stored
from api.http.pages.decisions.link_rows import read_links
from api.http.pages.decisions.review_form import DECISION_ID as DECISION_FIELD
from api.http.pages.decisions.review_form import RefusedReview, post_form, review_form
from api.http.pages.page import form, page, refused_page
from api.http.request import Call
from api.http.routes.decisions import DECISION_ID
from api.reports.escape import cut
from api.service.advice import advise
from api.service.decision_quality import quality_of
from api.service.decision_tests import find_test
from api.service.decisions import find_decision
from api.service.event_params import AS_OF, PREFIX
from events.errors import TallystickError
from projections.calibration.advice import PlannedDecision
from projections.decisions.decision_state import DecisionState
from projections.decisions.tokenizer import split_words

TEMPLATE = "decisions/decision"
TITLE_CHARS_MAX = 55
"""Of the title, which browsers show on a tab. The heading is longer."""

QUERY_CHARS_MAX, QUERY_WORDS_MAX = 600, 20
"""How much of a decision's text the search for similar ones has: its longest words."""


@page(TEMPLATE, query=(PREFIX, AS_OF))
async def show_decision(call: Call) -> Content:
    """Show one decision."""
    return await decision_content(call, call.path(DECISION_ID))


@form()
async def record_review(call: Call, typed: Mapping[str, str]) -> Response:
    """Record the outcome of the decision, and show it; or show the form again with what is wrong."""
    decision_id = call.path(DECISION_ID)
    try:
        await post_form(call, {**typed, DECISION_FIELD: decision_id})
    except TallystickError as error:
        content = await decision_content(call, decision_id, RefusedReview(typed, error))
        return await refused_page(call, TEMPLATE, content, error)
    return RedirectResponse(f"/ui/decisions/{decision_id}", 303)


async def decision_content(call: Call, decision_id: str, refused: RefusedReview | None = None) -> Content:
    """Return what the page of a decision shows, perhaps with a review that was refused. Errors: NotFound."""
    view = await call.view()
    state = await find_decision(view, decision_id, prefix=PREFIX.read(call.parameters))
    stated = {name: value for name, value in call.parameters.items() if name == AS_OF.name}
    plan, heading = _plan(state), heading_of(state)
    variables = {  # to fold the reviews and tests of every decision as of a position takes too long for remarks
        "state": state,
        "heading": heading,
        "facts": read_facts(state),
        "texts": read_texts(state, heading),
        "quality": quality_of(state.decision),
        "test": await find_test(view, state.decision_id) if view.position is None else None,
        "linked": await read_links(call, state.decision_id),
        "advice": await advise(call.ledger, plan) if view.position is None else None,
        "advice_json": address_of("/calibration/advice", {**_planned(plan), **stated}),
        "calibration_address": address_of("/ui/calibration", {"agent": state.agent, **stated}),
        "then": None if view.position is None else await view.dated(view.position),
        "similar_address": _similar_address(state),
        "history": history_lines(state),
        "stored": await read_stored(call.ledger, state),
        "form": review_form(call, state, refused) if view.position is None else None,
    }
    json = address_of(f"/decisions/{state.decision_id}", stated)
    live = _live(state.decision_id) if view.position is None else None
    return Content(cut(heading, TITLE_CHARS_MAX), variables, json, live)


def _live(decision_id: str) -> str:
    """Return the queries of what changes the page: events of the decision, and links from it or to it."""
    links = urlencode({"type": "decision.linked.v1"})
    return f"{urlencode({'subject': f'decision/{decision_id}'})} {links}#{decision_id}"


def _similar_address(state: DecisionState) -> str:
    """Return the address of the list that ranks decisions by how much they resemble one."""
    words = sorted(split_words(state.decision.decision[:QUERY_CHARS_MAX]), key=lambda word: (-len(word), word))
    search = " ".join(words[:QUERY_WORDS_MAX]) or state.decision_id
    return address_of("/ui/decisions", {"search": search, "retrieval_mode": "hybrid"})


def _plan(state: DecisionState) -> PlannedDecision:
    decision = state.decision
    return PlannedDecision(
        agent=state.agent, category=decision.category, stakes=decision.stakes, confidence=decision.confidence
    )


def _planned(plan: PlannedDecision) -> dict[str, str]:
    fields = {"agent": plan.agent, "category": plan.category, "stakes": plan.stakes, "confidence": plan.confidence}
    return {name: str(value) for name, value in fields.items() if value is not None}
