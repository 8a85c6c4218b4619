"""Collect the data of evaluation reports: one evaluation, a comparison of two, or a judged one."""

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.evaluation_params import ComparisonParams, EvaluationParams, GateParams
from api.service.evaluation.gate import get_gate
from api.service.evaluation.queries import RunComparisonAnswer, get_comparison, get_evaluation, get_scoreboard
from api.service.operation import Answers
from projections.evaluation.query_params import ScoreboardQuery


async def build_evaluation_report(answers: Answers, run_id: str, *, analyses: bool = True) -> EvaluationReport:
    """Return the report data of an evaluation; `run_id` may be a unique beginning of its id. Errors: NotFound.

    Without `analyses`, the answers are left out.
    """
    params = EvaluationParams(run=run_id, include=("analyses",) if analyses else (), prefix=True)
    run = await answers.answer(get_evaluation, params)
    if run.baseline is not None:
        return EvaluationReport(evaluation=run)
    then = await answers.past(run.as_of.position)
    board = await then.answer(get_scoreboard, ScoreboardQuery(suite=run.suite, agent=run.agent, versions=1))
    return EvaluationReport(evaluation=run, trend=tuple(point for suite in board.suites for point in suite.trend))


async def build_comparison_report(answers: Answers, baseline: str, candidate: str) -> EvaluationReport:
    """Compare two evaluations; return the report data of the candidate, with the comparison. Errors: NotFound."""
    params = ComparisonParams(baseline=baseline, candidate=candidate, prefix=True)
    return await _with_comparison(answers, await answers.answer(get_comparison, params))


async def build_gate_report(answers: Answers, params: GateParams) -> EvaluationReport:
    """Judge an evaluation; return its report data, with the comparison and the judgement. Errors: NotFound."""
    judged = await answers.answer(get_gate, params)
    return structs.replace(await _with_comparison(answers, judged), judgement=judged.judgement)


async def _with_comparison(answers: Answers, comparison: RunComparisonAnswer) -> EvaluationReport:
    then = await answers.past(comparison.as_of.position)
    return structs.replace(await build_evaluation_report(then, comparison.candidate.run_id), contrast=comparison)
