"""The list of tests of decisions: how many are in each state, and what decides each."""

from collections.abc import Mapping
from typing import Final

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.decisions.list_controls import active_filters
from api.http.pages.page import ROWS, page, query_of
from api.http.request import Call
from api.service.decision_names import list_decision_names
from api.service.decision_tests import DecisionTestsQuery, get_tests
from events.registry import VOCABULARY
from projections.resolve.rules import ALL_OF, ANY_OF, RULES
from projections.resolve.stated_tests import StatedTests
from tallystick.shapes.tests import TestState

PATH = "/ui/tests"

NEWS = f"type={','.join(VOCABULARY.names_of(*StatedTests.reads))}"
"""The events that change the list."""

STATES: Final[Mapping[TestState, str]] = {
    "overdue": "observe again: the window is over",
    "unresolvable": "no outcome can follow",
    "failed_early": "counts when the window ends",
    "running": "the window has begun",
    "waiting": "not known when the window begins",
    "failed": "the window is over",
    "succeeded": "the window is over",
}
"""What each state means, those first that need somebody."""


@page("reviews/tests", query=(*query_of(DecisionTestsQuery, "limit"), ROWS), heavy=True)
async def show_tests(call: Call) -> Content:
    """List the tests of decisions with what their rules find."""
    parameters = call.parameters
    limit = ROWS.read(parameters)
    query = call.asked(DecisionTestsQuery, limit=limit)
    answer = await get_tests(await call.view(), query)
    names = await list_decision_names(call.ledger)
    variables: dict[str, object] = {
        "answer": answer,
        "states": STATES,
        "rows_shown": list_links(PATH, parameters, query.offset, limit, len(answer.tests), answer.total),
        "active": active_filters(PATH, parameters, ("state", "rule", "agent", "decision_id")),
        "rules": (*RULES, ALL_OF, ANY_OF),
        "agents": names.by_parameter["agent"],
        "address": str(call.request.base_url),
        "token_required": call.ledger.tokens.required(),
    }
    json = address_of("/tests", {**parameters, "limit": str(limit)})
    return Content("Tests of decisions", variables, json, live=None if "as_of" in parameters else NEWS)
