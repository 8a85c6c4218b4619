"""The scoreboard of one suite: its rows with their intervals, as a drawing and as a table."""

from collections.abc import Mapping

from starlette.responses import Response

from api.http.pages.content import Content, address_of
from api.http.pages.evaluations.run_list import NAMES_MAX, RUNS
from api.http.pages.page import page, query_of
from api.http.pages.page_figure import PageFigure, drawing_response
from api.http.request import Call
from api.parameters import parse_params
from api.reports.judge_text import corrected_cell
from api.reports.plots.scores import BOARD_READING, draw_scoreboard, tabulate_scoreboard
from api.service.evaluation.queries import ScoreboardAnswer, get_evaluations, get_scoreboard
from api.service.evaluation.scenario_queries import list_names
from api.service.run_params import EvaluationQuery
from ledger.errors import NotFound
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.view_types import SuiteScoreboard

VERSIONS_SHOWN = "5"
"""How many versions of each agent the page lists, if the address does not say; of models, as many as the JSON."""

ROWS_MAX = 100
REGRESSED_MAX = 5
DRAWING = f"{RUNS}/scoreboard/figures/means.svg"


@page("evaluations/scoreboard", query=query_of(ScoreboardQuery), heavy=True)
async def show_board(call: Call) -> Content:
    """Rank the versions of each agent, or the models, on one suite."""
    names = await list_names(await call.view())
    parameters = await _complete(call)
    answer = await _find(call, parameters)
    board = answer.suites[0] if answer.suites else None
    variables = {
        "board": board,
        "figure": _figure(board, parameters, answer.as_of.position) if board is not None and board.rows else None,
        "rows_max": ROWS_MAX,
        "regressed_max": REGRESSED_MAX,
        "filters": parameters,
        "versions": parse_params(ScoreboardQuery, parameters).versions,
        "suites": names.suites[:NAMES_MAX],
        "agents": names.agents[:NAMES_MAX],
        "judged": board is not None and any(row.corrected is not None for row in board.rows),
        "corrected_cell": corrected_cell,
        "by_model": parameters.get("group_by") == "model",
    }
    return Content("Scoreboard", variables, address_of("/scoreboard", parameters))


@page(query=query_of(ScoreboardQuery), heavy=True)
async def get_means(call: Call) -> Response:
    """Return the drawing of the page as a file. Errors: NotFound, without a suite."""
    answer = await _find(call, await _complete(call))
    if not answer.suites:
        raise NotFound("No evaluation of this suite is recorded.", "Name another suite.")
    return drawing_response(draw_scoreboard(answer.suites[0], answer.as_of.position))


async def _complete(call: Call) -> Mapping[str, str]:
    """Return the parameters with the suite that was evaluated last, if they name none."""
    parameters = dict(call.parameters)
    if call.asked(ScoreboardQuery).group_by == "agent":
        parameters = {"versions": VERSIONS_SHOWN, **parameters}
    if "suite" not in parameters:
        newest = await get_evaluations(await call.view(), EvaluationQuery(limit=1))
        if newest.evaluations:
            parameters["suite"] = newest.evaluations[0].suite
    return parameters


async def _find(call: Call, parameters: Mapping[str, str]) -> ScoreboardAnswer:
    return await get_scoreboard(await call.view(), parse_params(ScoreboardQuery, parameters))


def _figure(board: SuiteScoreboard, parameters: Mapping[str, str], position: int) -> PageFigure:
    return PageFigure(
        "means",
        "Mean points with their intervals",
        BOARD_READING,
        draw_scoreboard(board, position),
        address_of(DRAWING, parameters),
        tabulate_scoreboard(board),
    )
