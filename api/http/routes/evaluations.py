"""Routes of evaluations: the scoreboard, the list, one evaluation, and the comparison of two."""

from starlette.responses import Response

from api.http.operation import HttpOperation, json_answer
from api.http.path_parameters import STREAM_ID_SCHEMA, stream_id_parameter
from api.http.request import Call, json_response
from api.parameters import choice_list_parameter, integer_parameter, number_parameter, text_parameter
from api.reports import GateLimits
from api.reports.loss_test import ALPHA, DROP
from api.reports.report import POINTS_MAX
from api.service.evaluation import queries
from api.service.evaluation.gate import GateAnswer, GateQuery, build_gate_answer, judge_run
from api.service.event_params import AS_OF, PREFIX
from events.evaluation import COST_USD_MAX

SECONDS_MAX = 1e9
"""The highest limit of a latency, seconds."""

RUN = stream_id_parameter("run", "The run's id.")
SCENARIO = stream_id_parameter("scenario_id", "The scenario's id.")
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
MAX_REGRESSIONS = integer_parameter(
    "max_regressions", "How many scenarios may have regressed; without it, a test decides.", 0
)
MAX_ERRORS = integer_parameter("max_errors", "How many errors the candidate may have.", 0, default=0)
MIN_SCORE = number_parameter("min_score", "The lowest allowed mean.", 0, POINTS_MAX)
ALPHA_LEVEL = number_parameter(
    "alpha", f"How often an unchanged agent may be called worse; {ALPHA} if absent.", 0.0001, 0.5
)
DROP_SIZE = number_parameter("drop", f"The drop of the pass rate to tell the power for; {DROP} if absent.", 0.01, 1)
DROP_IN = integer_parameter("drop_in", "The drop is in so many scenarios; in all if absent.", 1)
MAX_LATENCY = number_parameter("max_latency", "The highest allowed median latency, seconds.", 0, SECONDS_MAX)
MAX_LATENCY_P95 = number_parameter(
    "max_latency_p95", "The highest allowed 95th percentile of the latency, seconds.", 0, SECONDS_MAX
)
MAX_COST = number_parameter(
    "max_cost_per_attempt", "The highest allowed cost of an attempt with all its tries, US dollars.", 0, COST_USD_MAX
)
USAGE_LIMITS = (MAX_LATENCY, MAX_LATENCY_P95, MAX_COST)
LIMITS = (MAX_REGRESSIONS, MAX_ERRORS, MIN_SCORE, ALPHA_LEVEL, DROP_SIZE, DROP_IN, *USAGE_LIMITS)


@HttpOperation(
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
    run_id, view = call.path(RUN), await call.view()
    return json_response(await queries.show_evaluation(view, run_id, analyses=analyses, prefix=prefix))


@HttpOperation(
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
    view, prefix = await call.view(), PREFIX.read(call.parameters)
    return json_response(await queries.compare_evaluations(view, baseline, candidate, prefix=prefix))


@HttpOperation(
    method="GET",
    path="/evaluations/{run}/gate",
    path_parameters=(CANDIDATE_RUN,),
    query=(GATE_BASELINE, SUITE, *LIMITS, AS_OF),
    answers={200: json_answer("The comparison, with the gate's judgement on the candidate.", GateAnswer)},
    errors=(404,),
)
async def get_gate(call: Call) -> Response:
    """Check that an evaluation is not worse than its baseline.

    The answer is 200 whatever the judgement; `judgement.exit` is the exit code of the command `eval gate`.
    """
    query = GateQuery(
        baseline=GATE_BASELINE.read(call.parameters),
        candidate=call.path(CANDIDATE_RUN),
        suite=SUITE.find(call.parameters),
        limits=read_limits(call),
    )
    report = await judge_run(await call.view(), query)
    return json_response(build_gate_answer(report))


def read_limits(call: Call) -> GateLimits:
    """Return the limits in the query. Regressions are counted if their limit is given; otherwise the test decides."""
    parameters = call.parameters
    regressions = MAX_REGRESSIONS.find(parameters)
    alpha, drop = ALPHA_LEVEL.find(parameters), DROP_SIZE.find(parameters)
    return GateLimits(
        regressions=regressions or 0,
        errors=MAX_ERRORS.read(parameters),
        score=MIN_SCORE.find(parameters),
        strict=regressions is not None,
        alpha=ALPHA if alpha is None else alpha,
        drop=DROP if drop is None else drop,
        drop_scenarios=DROP_IN.find(parameters),
        latency_s=MAX_LATENCY.find(parameters),
        latency_p95_s=MAX_LATENCY_P95.find(parameters),
        cost_per_attempt_usd=MAX_COST.find(parameters),
    )
