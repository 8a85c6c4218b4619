"""The list of decisions: search, filters, order and pages."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, get_args
from urllib.parse import urlencode

from msgspec import UNSET
from starlette.responses import RedirectResponse

from api.http.pages.content import Content
from api.http.pages.decisions.list_controls import active_filters, settle_ranking, sort_columns, without_filters
from api.http.pages.page import address_of, page, query_of
from api.http.request import Call
from api.parameters import integer_parameter, parse_params
from api.service.decision_names import DecisionNames, list_decision_names
from api.service.decision_params import DecisionListParams
from api.service.decision_search import find_decisions, to_query
from api.service.decisions import DecisionPage, DecisionQuery
from events.registry import VOCABULARY
from projections.decisions.decision_selection import STAKES, STATUSES
from projections.decisions.decision_state import DecisionState
from tallystick.shapes.decisions import Outcome

PATH = "/ui/decisions"
ROWS_DEFAULT, ROWS_MAX = 50, 100
ROWS = integer_parameter("limit", "The largest number of decisions on a page.", 1, ROWS_MAX, default=ROWS_DEFAULT)

MORE_FILTERS = ("model", "project", "feature", "tag", "cluster", "since", "until", "retrieval_mode")
"""Filters that are folded while none of them is in force."""

EVENTS = ",".join(name for name in VOCABULARY.type_names if name.startswith("decision."))
"""The types of events that change the list."""


class ListedDecision(NamedTuple):
    """A row of the list: a decision, and how well it matches a ranked search."""

    state: DecisionState
    match: float | None


@page("decisions/list", query=(*query_of(DecisionListParams, "limit"), ROWS))
async def show_decisions(call: Call) -> Content | RedirectResponse:
    """List decisions in their current state."""
    settled = settle_ranking(call.parameters)
    if settled != call.parameters:
        return RedirectResponse(address_of(PATH, settled), 303)
    parameters = {**settled, "limit": str(ROWS.read(settled))}
    query, view = to_query(parse_params(DecisionListParams, parameters), call.ledger.clock()), await call.view()
    found = await find_decisions(view, query)
    names = await list_decision_names(call.ledger)
    variables = {
        "found": found,
        "rows": _rows(found),
        "query": query,
        "pages": _pages(settled, query, found),
        "columns": sort_columns(PATH, settled, query),
        "active": active_filters(PATH, settled),
        "whole": without_filters(PATH, settled),
        "more": not settled.keys().isdisjoint(MORE_FILTERS),
        "nearest": _nearest(settled, found),
        **_choices(names),
    }
    json = address_of("/decisions", parameters)
    live = None if view.position is not None or query.offset else urlencode({"type": EVENTS})
    return Content("Decisions", variables, json, live)


def _rows(found: DecisionPage) -> list[ListedDecision]:
    matches = [None] * len(found.decisions)
    if found.retrieval is not UNSET:
        matches = [scores.combined for scores in found.retrieval.scores]  # type: ignore[misc]
    return [ListedDecision(state, match) for state, match in zip(found.decisions, matches, strict=True)]


class ListPages(NamedTuple):
    """Addresses of the pages beside the shown one, and the places of its first and last row, from 1."""

    previous: str | None
    next: str | None
    first: int
    last: int


def _pages(parameters: Mapping[str, str], query: DecisionQuery, found: DecisionPage) -> ListPages:
    previous = max(0, min(query.offset, found.total) - query.limit)
    return ListPages(
        address_of(PATH, parameters, offset=previous or None) if query.offset else None,
        address_of(PATH, parameters, offset=found.next) if found.next is not None else None,
        query.offset + 1,
        query.offset + len(found.decisions),
    )


def _nearest(parameters: Mapping[str, str], found: DecisionPage) -> list[tuple[str, str, str | None, str | None]]:
    """Return the names of the filter that no decision has: parameter, value, nearest name, and the address with it."""
    if found.unknown_names is UNSET:
        return []
    return [
        (
            each.parameter,
            each.value,
            each.nearest,
            address_of(PATH, parameters, **{each.parameter: each.nearest}, offset=None) if each.nearest else None,
        )
        for each in found.unknown_names
    ]


def _pairs(values: Iterable[str]) -> list[tuple[str, str]]:
    """Return values, each with what is shown for it."""
    return [(value, value) for value in values]


def _choices(names: DecisionNames) -> dict[str, object]:
    return {
        "recorded": names.recorded,
        "names": names.by_parameter,
        "stakes": _pairs(STAKES),
        "outcomes": _pairs(get_args(Outcome)),
        "statuses": _pairs(STATUSES),
    }
