"""Routes of evaluations: the scoreboard, the list, one evaluation, and the comparison of two."""

from starlette.responses import Response

from api.http.operation import Link, Operation, json_answer
from api.http.path_parameters import STREAM_ID_SCHEMA, stream_id_parameter
from api.http.request import Call, json_response
from api.parameters import choice_list_parameter, text_parameter
from api.service.evaluation import queries
from api.service.query_params import (
    AS_OF,
    EVALUATIONS_PARAMETERS,
    SCOREBOARD_PARAMETERS,
    parse_evaluation_query,
    parse_scoreboard_query,
)

RUN = stream_id_parameter("run", "The run's id.")
INCLUDE = choice_list_parameter(
    "include",
    "Further parts of the answer. `analyses`: every answer of the agent, also those stored as evidence.",
    ("analyses",),
)
BASELINE = text_parameter(
    "baseline",
    f"The run to compare with. `{queries.LATEST}`: the newest ended run before the candidate, of the same suite, agent "
    "and selection.",
    STREAM_ID_SCHEMA,
    required=True,
)
CANDIDATE = text_parameter("candidate", "The run to compare.", STREAM_ID_SCHEMA, required=True)


@Operation(
    method="GET",
    path="/scoreboard",
    query=SCOREBOARD_PARAMETERS,
    answers={200: json_answer("A scoreboard for each suite.", queries.ScoreboardAnswer)},
)
async def get_scoreboard(call: Call) -> Response:
    """Rank the versions of each agent by suite, with two baselines."""
    query = parse_scoreboard_query(call.parameters)
    return json_response(await queries.show_scoreboard(call.ledger, query, await call.as_of()))


@Operation(
    method="GET",
    path="/evaluations",
    query=EVALUATIONS_PARAMETERS,
    answers={200: json_answer("A page of evaluations.", queries.EvaluationPage)},
    links={"evaluation": Link("get_evaluation", "run", "$response.body#/evaluations/0/run_id")},
)
async def get_evaluations(call: Call) -> Response:
    """List summaries of evaluations, the last started first."""
    query = parse_evaluation_query(call.parameters, call.ledger.clock())
    return json_response(await queries.list_evaluations(call.ledger, query, await call.as_of()))


@Operation(
    method="GET",
    path="/evaluations/{run}",
    path_parameters=(RUN,),
    query=(INCLUDE, AS_OF),
    answers={200: json_answer("The evaluation.", queries.EvaluationAnswer)},
    errors=(404,),
)
async def get_evaluation(call: Call) -> Response:
    """Return one evaluation: every scenario, every score, and where each pattern matched."""
    analyses = "analyses" in INCLUDE.read(call.parameters)
    as_of = await call.as_of()
    return json_response(await queries.show_evaluation(call.ledger, call.path(RUN), as_of, analyses=analyses))


@Operation(
    method="GET",
    path="/evaluations/compare",
    query=(BASELINE, CANDIDATE, AS_OF),
    answers={
        200: json_answer("What is worse, what is better, and what cannot be compared.", queries.RunComparisonAnswer)
    },
    errors=(404,),
)
async def get_comparison(call: Call) -> Response:
    """Compare two evaluations by scenario and attempt."""
    baseline, candidate = BASELINE.read(call.parameters), CANDIDATE.read(call.parameters)
    return json_response(await queries.compare_evaluations(call.ledger, baseline, candidate, await call.as_of()))
