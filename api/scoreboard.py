"""GET of evaluations: the scoreboard, the list, one whole, two compared."""

from collections.abc import Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from api import judging
from api.asked import answer, asked
from api.judging import EvaluationQuery
from api.parameters import choice, integer, several, time_range
from events.limits import PAGE_EVENTS_DEFAULT, PAGE_EVENTS_MAX
from ledger.errors import InvalidQuery
from projections import VERSIONS, BoardWanted, EvaluationSelection

SCOREBOARD_PARAMETERS = ("suite", "agent", "versions", "as_of")
VERSIONS_MAX = 1_000
EVALUATIONS_PARAMETERS = ("suite", "agent", "since", "until", "window", "limit", "offset", "as_of")
EVALUATION_PARAMETERS = ("include", "as_of")
COMPARE_PARAMETERS = ("baseline", "candidate", "as_of")
EVALUATION_INCLUSIONS = ("analyses",)


async def get_scoreboard(request: Request) -> Response:
    """What each version of each agent is worth, by suite."""
    house, parameters = asked(request, SCOREBOARD_PARAMETERS)
    return answer(
        await judging.scoreboard(house, board_wanted(parameters), await house.resolve(parameters.get("as_of")))
    )


async def get_evaluations(request: Request) -> Response:
    """Evaluations in short, the one that began last first."""
    house, parameters = asked(request, EVALUATIONS_PARAMETERS)
    query = evaluation_query(parameters, house.clock())
    return answer(await judging.list_evaluations(house, query, await house.resolve(parameters.get("as_of"))))


async def get_evaluation(request: Request) -> Response:
    """One evaluation whole, with the answers where asked for."""
    house, parameters = asked(request, EVALUATION_PARAMETERS)
    included = [
        choice("include", one, EVALUATION_INCLUSIONS, "analyses")
        for one in several("include", parameters.get("include"))
    ]
    as_of = await house.resolve(parameters.get("as_of"))
    run_id = request.path_params["run"]
    return answer(await judging.show_evaluation(house, run_id, as_of, analyses="analyses" in included))


async def get_comparison(request: Request) -> Response:
    """Two evaluations compared, the candidate with the baseline."""
    house, parameters = asked(request, COMPARE_PARAMETERS)
    for name in ("baseline", "candidate"):
        if not parameters.get(name):
            raise InvalidQuery(name, "is missing.", "Name the runs: ?baseline=RUN&candidate=RUN.")
    as_of = await house.resolve(parameters.get("as_of"))
    return answer(await judging.compare(house, parameters["baseline"], parameters["candidate"], as_of))


def board_wanted(parameters: Mapping[str, str]) -> BoardWanted:
    """The board that parameters ask for. Errors: InvalidQuery."""
    return BoardWanted(
        suite=parameters.get("suite"),
        agent=parameters.get("agent"),
        versions=integer("versions", parameters.get("versions"), VERSIONS, 1, VERSIONS_MAX),
    )


def evaluation_query(parameters: Mapping[str, str], now: datetime) -> EvaluationQuery:
    """The list of evaluations that parameters ask for. Errors: InvalidQuery."""
    return EvaluationQuery(
        selection=EvaluationSelection(
            suite=parameters.get("suite"), agent=parameters.get("agent"), range=time_range(parameters, now)
        ),
        limit=integer("limit", parameters.get("limit"), PAGE_EVENTS_DEFAULT, 1, PAGE_EVENTS_MAX),
        offset=integer("offset", parameters.get("offset"), 0, 0),
    )
