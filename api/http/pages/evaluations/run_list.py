"""The list of runs, with filters, and the choice of two to compare."""

from urllib.parse import urlencode

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import page, query_of
from api.http.request import Call
from api.service.evaluation.queries import get_evaluations
from api.service.evaluation.scenario_queries import list_names
from api.service.run_params import EvaluationQuery

RUNS = "/ui/evaluations"

ROWS = 50
"""Runs on a page."""

SCENARIOS = 100
"""Scenarios on a page."""

NAMES_MAX = 100
"""Names of suites and agents that are proposed while one types; others can be typed, too."""

LIVE = urlencode({"type": "eval.started.v1,eval.started.v2,eval.finished.v1,eval.reopened.v1"})


@page("evaluations/runs", query=query_of(EvaluationQuery, "limit"), heavy=True)
async def show_runs(call: Call) -> Content:
    """List evaluations, the last started first."""
    parameters = {**call.parameters, "limit": str(ROWS)}
    query, view = call.asked(EvaluationQuery, limit=ROWS), await call.view()
    found = await get_evaluations(view, query)
    names = await list_names(view)
    variables = {
        "found": found,
        "rows_shown": list_links(RUNS, call.parameters, query.offset, ROWS, len(found.evaluations), found.total),
        "suites": names.suites[:NAMES_MAX],
        "agents": names.agents[:NAMES_MAX],
        "filtered": bool(call.parameters.keys() & {"suite", "agent", "since", "until", "window"}),
    }
    live = None if view.position is not None or query.offset else LIVE
    return Content("Evaluations", variables, address_of("/evaluations", parameters), live)
