"""One scenario over all runs: its pass rate by version, and its result in each run."""

from starlette.responses import Response

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.evaluations.run_list import NAMES_MAX, ROWS, RUNS
from api.http.pages.page import page, query_of
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.reports.plots.scores import SCENARIO_READING, draw_scenario, tabulate_scenario
from api.service.evaluation.scenario_queries import ScenarioHistoryAnswer, get_scenario, list_names
from projections.evaluation.query_params import ScenarioQuery

DRAWING = "figures/pass-rates.svg"


@page("evaluations/scenario", query=query_of(ScenarioQuery, "limit"), heavy=True)
async def show_scenario(call: Call) -> Content:
    """Show a scenario's history."""
    found = await _find(call)
    names = await list_names(await call.view())
    address = f"{RUNS}/scenarios/{found.scenario_id}"
    figure = None
    if found.versions:
        figure = PageFigure(
            "pass-rates",
            "Pass rate by version",
            SCENARIO_READING,
            draw_scenario(found, found.as_of.position),
            address_of(f"{address}/{DRAWING}", call.parameters, offset=None),
            tabulate_scenario(found),
        )
    offset = int(call.parameters.get("offset", "0"))
    variables = {
        "found": found,
        "figure": figure,
        "rows_shown": list_links(address, call.parameters, offset, ROWS, len(found.runs), found.total),
        "address": address,
        "suites": names.suites[:NAMES_MAX],
        "agents": names.agents[:NAMES_MAX],
    }
    json = address_of(f"/scenarios/{found.scenario_id}", call.parameters, limit=ROWS)
    return Content(f"Scenario {found.scenario_id}", variables, json)


@page(query=query_of(ScenarioQuery, "limit"))
async def get_pass_rates(call: Call) -> Response:
    """Return the drawing of the page as a file."""
    found = await _find(call)
    return drawing_response(draw_scenario(found, found.as_of.position))


async def _find(call: Call) -> ScenarioHistoryAnswer:
    return await get_scenario(await call.view(), call.asked(ScenarioQuery, limit=ROWS))
