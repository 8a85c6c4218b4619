"""Routes of evaluations: the scoreboard, the list, one evaluation, and the comparison of two."""

from starlette.responses import Response

from api.http.operation import Link, Operation, json_answer
from api.http.path_parameters import STREAM_ID_SCHEMA, stream_id_parameter
from api.http.request import Call, json_response
from api.parameters import choice_list_parameter, integer_parameter, number_parameter, text_parameter
from api.reports import GateLimits
from api.reports.report import POINTS_MAX
from api.service.evaluation import queries
from api.service.evaluation.gate import GateAnswer, GateQuery, build_gate_answer, judge_run
from api.service.query_params import (
    AS_OF,
    EVALUATIONS_PARAMETERS,
    PREFIX,
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
CANDIDATE_RUN = stream_id_parameter(
    "run",
    f"The run to judge, by its id or a unique beginning of it. `{queries.LATEST}`: the newest run that has ended.",
)
GATE_BASELINE = text_parameter(
    "baseline",
    "The run to compare with, by its id or a unique beginning of it. "
    f"`{queries.LATEST}`: the newest ended run before the candidate, of the same suite and selection.",
    STREAM_ID_SCHEMA,
    required=True,
)
SUITE = text_parameter("suite", "The suite of the latest run, by its name.")
MAX_REGRESSIONS = integer_parameter("max_regressions", "How many scenarios may have regressed.", 0, default=0)
MAX_ERRORS = integer_parameter("max_errors", "How many errors the candidate may have.", 0, default=0)
MIN_SCORE = number_parameter("min_score", "The lowest allowed mean.", 0, POINTS_MAX)


@Operation(
    method="GET",
    path="/scoreboard",
    heavy=True,
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
    heavy=True,
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
    heavy=True,
    path_parameters=(RUN,),
    query=(INCLUDE, PREFIX, AS_OF),
    answers={200: json_answer("The evaluation.", queries.EvaluationAnswer)},
    errors=(404,),
)
async def get_evaluation(call: Call) -> Response:
    """Return one evaluation: every scenario, every score, and where each pattern matched."""
    analyses, prefix = "analyses" in INCLUDE.read(call.parameters), PREFIX.read(call.parameters)
    run_id, as_of = call.path(RUN), await call.as_of()
    return json_response(await queries.show_evaluation(call.ledger, run_id, as_of, analyses=analyses, prefix=prefix))


@Operation(
    method="GET",
    path="/evaluations/compare",
    heavy=True,
    query=(BASELINE, CANDIDATE, PREFIX, AS_OF),
    answers={
        200: json_answer("What is worse, what is better, and what cannot be compared.", queries.RunComparisonAnswer)
    },
    errors=(404,),
)
async def get_comparison(call: Call) -> Response:
    """Compare two evaluations by scenario and attempt."""
    baseline, candidate = BASELINE.read(call.parameters), CANDIDATE.read(call.parameters)
    as_of, prefix = await call.as_of(), PREFIX.read(call.parameters)
    return json_response(await queries.compare_evaluations(call.ledger, baseline, candidate, as_of, prefix=prefix))


@Operation(
    method="GET",
    path="/evaluations/{run}/gate",
    path_parameters=(CANDIDATE_RUN,),
    query=(GATE_BASELINE, SUITE, MAX_REGRESSIONS, MAX_ERRORS, MIN_SCORE, AS_OF),
    answers={200: json_answer("The comparison, with the gate's judgement on the candidate.", GateAnswer)},
    errors=(404,),
)
async def get_gate(call: Call) -> Response:
    """Check that an evaluation is not worse than its baseline.

    The answer is 200 whatever the judgement; `judgement.exit` is the exit code of the command `eval gate`.
    """
    limits = GateLimits(
        regressions=MAX_REGRESSIONS.read(call.parameters),
        errors=MAX_ERRORS.read(call.parameters),
        score=MIN_SCORE.find(call.parameters),
    )
    query = GateQuery(
        baseline=GATE_BASELINE.read(call.parameters),
        candidate=call.path(CANDIDATE_RUN),
        suite=SUITE.find(call.parameters),
        limits=limits,
    )
    report = await judge_run(call.ledger, query, await call.as_of())
    return json_response(build_gate_answer(report))
