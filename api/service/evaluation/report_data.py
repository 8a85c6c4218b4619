"""Collect the data of evaluation reports: one evaluation, or a comparison of two."""

from msgspec import structs

from api.reports import EvaluationReport
from api.service.evaluation.queries import (
    compare_evaluations,
    show_evaluation,
    show_scoreboard,
)
from api.service.ledger import LedgerService
from projections.evaluation.scoreboard import ScoreboardQuery
from projections.evaluation.view_types import Evaluation, TrendPoint


async def build_evaluation_report(
    ledger: LedgerService, run_id: str, as_of: int | None = None, *, analyses: bool = True
) -> EvaluationReport:
    """Return the report data of an evaluation; `run_id` may be a unique beginning of its id. Errors: NotFound.

    Without `analyses`, the answers are left out.
    """
    run = await show_evaluation(ledger, run_id, as_of, analyses=analyses, prefix=True)
    return EvaluationReport(evaluation=run, trend=await _read_trend(ledger, run, as_of))


async def build_comparison_report(
    ledger: LedgerService, baseline: str, candidate: str, as_of: int | None = None
) -> EvaluationReport:
    """Compare two evaluations; return the report data of the candidate, with the comparison. Errors: NotFound."""
    comparison = await compare_evaluations(ledger, baseline, candidate, as_of, prefix=True)
    report = await build_evaluation_report(ledger, comparison.candidate.run_id, as_of)
    return structs.replace(report, contrast=comparison)


async def _read_trend(ledger: LedgerService, run: Evaluation, as_of: int | None) -> tuple[TrendPoint, ...]:
    """Return the scores of the versions of the evaluated agent."""
    if run.baseline is not None:
        return ()
    board = await show_scoreboard(ledger, ScoreboardQuery(suite=run.suite, agent=run.agent, versions=1), as_of)
    return tuple(point for suite in board.suites for point in suite.trend)
