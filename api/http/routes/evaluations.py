"""GET of evaluations: the scoreboard, the list, one whole, two compared."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.request import answer, asked
from api.parameters import parse_choice, split_list
from api.service.evaluation import queries
from api.service.query_params import (
    EVALUATIONS_PARAMETERS,
    SCOREBOARD_PARAMETERS,
    parse_evaluation_query,
    parse_scoreboard_query,
)
from ledger.errors import InvalidQuery

EVALUATION_PARAMETERS = ("include", "as_of")
COMPARE_PARAMETERS = ("baseline", "candidate", "as_of")
EVALUATION_INCLUSIONS = ("analyses",)


async def get_scoreboard(request: Request) -> Response:
    """What each version of each agent is worth, by suite."""
    ledger, parameters = asked(request, SCOREBOARD_PARAMETERS)
    return answer(
        await queries.scoreboard(
            ledger, parse_scoreboard_query(parameters), await ledger.resolve(parameters.get("as_of"))
        )
    )


async def get_evaluations(request: Request) -> Response:
    """Evaluations in short, the one that began last first."""
    ledger, parameters = asked(request, EVALUATIONS_PARAMETERS)
    query = parse_evaluation_query(parameters, ledger.clock())
    return answer(await queries.list_evaluations(ledger, query, await ledger.resolve(parameters.get("as_of"))))


async def get_evaluation(request: Request) -> Response:
    """One evaluation whole, with the answers where asked for."""
    ledger, parameters = asked(request, EVALUATION_PARAMETERS)
    included = [
        parse_choice("include", one, EVALUATION_INCLUSIONS, "analyses")
        for one in split_list("include", parameters.get("include"))
    ]
    as_of = await ledger.resolve(parameters.get("as_of"))
    run_id = request.path_params["run"]
    return answer(await queries.show_evaluation(ledger, run_id, as_of, analyses="analyses" in included))


async def get_comparison(request: Request) -> Response:
    """Two evaluations compared, the candidate with the baseline."""
    ledger, parameters = asked(request, COMPARE_PARAMETERS)
    for name in ("baseline", "candidate"):
        if not parameters.get(name):
            raise InvalidQuery(name, "is missing.", "Name the runs: ?baseline=RUN&candidate=RUN.")
    as_of = await ledger.resolve(parameters.get("as_of"))
    return answer(await queries.compare(ledger, parameters["baseline"], parameters["candidate"], as_of))
