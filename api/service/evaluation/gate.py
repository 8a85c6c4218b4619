"""The gate: compare a candidate with a baseline, and judge it by limits."""

from msgspec import structs

from api.reports import FlakyScenario, GateLimits, GateResult, judge
from api.reports.loss_test import ALPHA, DROP
from api.service.evaluation.evaluation_params import LATEST, ComparisonParams, EvaluationParams, GateParams, LimitParams
from api.service.evaluation.queries import (
    RunComparisonAnswer,
    find_latest,
    get_comparison,
    get_evaluation,
)
from api.service.ledger import View
from api.service.operation import operation
from ledger.errors import InvalidQuery, NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex, ScoreFilter
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.view_types import Evaluation, RunComparison


class GateAnswer(RunComparisonAnswer, frozen=True, kw_only=True):
    """A comparison of two evaluations, and the gate's judgement on the candidate."""

    judgement: GateResult


@operation("/evaluations/{run}/gate", "evaluations", errors=(404,))
async def get_gate(view: View, params: GateParams) -> GateAnswer:
    """Check that an evaluation is not worse than its baseline.

    The answer is 200 whatever the judgement; `judgement.exit` is the exit code of the command `eval gate`. The latest
    candidate is the newest run that has ended and does not score a baseline answer. It is of the given suite; without
    one, of the suite of the given baseline; otherwise of any suite. The latest baseline is the newest such run before
    the candidate, of the same suite and selection, and of the same agent if that has one.
    """
    baseline = None if await _is_latest(view, params.baseline) else params.baseline
    candidate = params.run
    if latest := await _is_latest(view, candidate):
        candidate = await _find_candidate(view, params.suite, baseline)
    run = await get_evaluation(view, EvaluationParams(run=candidate, prefix=True))
    compared = ComparisonParams(baseline=baseline or await _find_baseline(view, run), candidate=run.run_id, prefix=True)
    answer = await judge_comparison(view, compared, limits_of(params))
    if answer.baseline.run_id == run.run_id:
        if not latest:
            raise InvalidQuery("run", f"{run.run_id} is the baseline, too.", "Name two runs.")
        detail = f"Nothing newer than the baseline {run.run_id} has ended."
        raise NotFound(detail, "Evaluate the candidate first, or name the run to judge.")
    return answer


def limits_of(params: LimitParams) -> GateLimits:
    """Return the limits. Regressions are counted if their limit is given; otherwise the test decides."""
    return GateLimits(
        regressions=params.max_regressions or 0,
        errors=params.max_errors,
        score=params.min_score,
        strict=params.max_regressions is not None,
        alpha=ALPHA if params.alpha is None else params.alpha,
        drop=DROP if params.drop is None else params.drop,
        drop_scenarios=params.drop_in,
        latency_s=params.max_latency,
        latency_p95_s=params.max_latency_p95,
        cost_per_attempt_usd=params.max_cost_per_attempt,
    )


async def judge_comparison(view: View, params: ComparisonParams, limits: GateLimits) -> GateAnswer:
    """Compare two runs, and judge the candidate by limits. Errors: NotFound."""
    comparison = await get_comparison(view, params)
    return GateAnswer(**structs.asdict(comparison), judgement=await _judge(view, comparison, limits))


async def _judge(view: View, contrast: RunComparison, limits: GateLimits) -> GateResult:
    """Judge a comparison, and name the compared scenarios that were flaky under the version of the baseline before."""
    judgement = await run_on_thread(judge, contrast, limits)
    first = contrast.baseline
    projection, _ = await view.at(EvaluationIndex)
    scores = projection.scores(ScoreFilter(runs=projection.runs_before(contrast.candidate.run_id)))
    board = await run_on_thread(build_scoreboard, scores, ScoreboardQuery(suite=first.suite, agent=first.agent))
    of_version = (first.agent, first.agent_version, first.baseline)
    compared = {each.scenario_id for each in contrast.passes}
    flaky = [
        FlakyScenario(scenario_id=result.scenario_id, attempts=result.measured, passed=result.passed)
        for suite in board.suites
        for row in suite.rows
        if (row.agent, row.agent_version, row.baseline) == of_version
        for result in row.results
        if result.verdict == "flaky" and result.scenario_id in compared
    ]
    return structs.replace(judgement, flaky=tuple(flaky))


async def _find_candidate(view: View, suite: str | None, baseline: str | None) -> str:
    if suite is None and baseline is not None:
        suite = (await get_evaluation(view, EvaluationParams(run=baseline, prefix=True))).suite
    return await find_latest(view, suite)


async def _find_baseline(view: View, run: Evaluation) -> str:
    try:
        return await find_latest(view, run.suite, before=run.run_id, agent=run.agent)
    except NotFound:
        return await find_latest(view, run.suite, before=run.run_id)


async def _is_latest(view: View, run_id: str) -> bool:
    """Return whether an id means the latest run: it is `latest`, and no run has that id."""
    projection, _ = await view.at(EvaluationIndex)
    return run_id == LATEST and not projection.has(LATEST)
