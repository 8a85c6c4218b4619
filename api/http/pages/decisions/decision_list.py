"""The list of decisions: search, filters, order and pages."""

from typing import get_args
from urllib.parse import urlencode

from starlette.responses import RedirectResponse

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.decisions.list_controls import COLUMNS, active_filters, settle_ranking, without_filters
from api.http.pages.page import ROWS, page, query_of
from api.http.request import Call
from api.parameters import parse_params
from api.service.decision_names import list_decision_names
from api.service.decision_params import DecisionListParams
from api.service.decision_search import find_decisions, to_query
from events.registry import VOCABULARY
from projections.decisions.decision_selection import STAKES, STATUSES
from tallystick.shapes.decisions import Outcome

PATH = "/ui/decisions"

MORE_FILTERS = ("model", "project", "feature", "tag", "cluster", "since", "until", "retrieval_mode")
"""Filters that are folded while none of them is in force."""

EVENTS = ",".join(name for name in VOCABULARY.type_names if name.startswith("decision."))
"""The types of events that change the list."""


@page("decisions/list", query=(*query_of(DecisionListParams, "limit"), ROWS))
async def show_decisions(call: Call) -> Content | RedirectResponse:
    """List decisions in their current state."""
    settled = settle_ranking(call.parameters)
    if settled != call.parameters:
        return RedirectResponse(address_of(PATH, settled), 303)
    parameters = {**settled, "limit": str(ROWS.read(settled))}
    query, view = to_query(parse_params(DecisionListParams, parameters), call.ledger.clock()), await call.view()
    found = await find_decisions(view, query)
    rows_shown = list_links(PATH, settled, query.offset, query.limit, len(found.decisions), found.total)
    names = await list_decision_names(call.ledger)
    variables = {
        "found": found,
        "query": query,
        "rows_shown": rows_shown if query.ranking is None else rows_shown._replace(next=None),
        "columns": COLUMNS,
        "active": active_filters(PATH, settled),
        "whole": without_filters(PATH, settled),
        "more": not settled.keys().isdisjoint(MORE_FILTERS),
        "recorded": names.recorded,
        "names": names.by_parameter,
        "stakes": STAKES,
        "outcomes": get_args(Outcome),
        "statuses": STATUSES,
    }
    json = address_of("/decisions", parameters)
    live = None if view.position is not None or query.offset else urlencode({"type": EVENTS})
    return Content("Decisions", variables, json, live)
