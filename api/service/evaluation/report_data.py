"""Collect the data of evaluation reports: one evaluation, or a comparison of two."""

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.queries import (
    compare_evaluations,
    get_scoreboard,
    show_evaluation,
)
from api.service.ledger import View
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.view_types import Evaluation, TrendPoint


async def build_evaluation_report(view: View, run_id: str, *, analyses: bool = True) -> EvaluationReport:
    """Return the report data of an evaluation; `run_id` may be a unique beginning of its id. Errors: NotFound.

    Without `analyses`, the answers are left out.
    """
    run = await show_evaluation(view, run_id, analyses=analyses, prefix=True)
    return EvaluationReport(evaluation=run, trend=await _read_trend(view, run))


async def build_comparison_report(view: View, baseline: str, candidate: str) -> EvaluationReport:
    """Compare two evaluations; return the report data of the candidate, with the comparison. Errors: NotFound."""
    comparison = await compare_evaluations(view, baseline, candidate, prefix=True)
    report = await build_evaluation_report(view, comparison.candidate.run_id)
    return structs.replace(report, contrast=comparison)


async def _read_trend(view: View, run: Evaluation) -> tuple[TrendPoint, ...]:
    """Return the scores of the versions of the evaluated agent."""
    if run.baseline is not None:
        return ()
    board = await get_scoreboard(view, ScoreboardQuery(suite=run.suite, agent=run.agent, versions=1))
    return tuple(point for suite in board.suites for point in suite.trend)
