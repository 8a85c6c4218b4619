"""Collect the data of evaluation reports: one evaluation, a comparison, and the gate."""

import msgspec
from msgspec import structs

from api.reports import EvaluationReport, GateLimits, GateResult, judge
from api.service.evaluation.queries import (
    LATEST,
    RunComparisonAnswer,
    compare_evaluations,
    find_latest,
    show_evaluation,
    show_scoreboard,
)
from api.service.ledger import LedgerService
from ledger.errors import NotFound
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.scoreboard import ScoreboardQuery
from projections.evaluation.view_types import Evaluation, ScenarioResult, TrendPoint

SCENARIOS_LISTED_MAX = 20
"""An error about an unknown scenario lists no more scenarios than this."""


class GateQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The two runs to compare, and the limits. A run is given by its id, a unique beginning of it, or `latest`."""

    baseline: str
    candidate: str = LATEST
    suite: str | None = None
    limits: GateLimits = GateLimits()


class GateAnswer(RunComparisonAnswer, frozen=True, kw_only=True):
    """A comparison of two evaluations, and the gate's judgement on the candidate."""

    judgement: GateResult


async def build_evaluation_report(ledger: LedgerService, run_id: str, as_of: int | None = None) -> EvaluationReport:
    """Return the report data of an evaluation; `run_id` may be a unique beginning of its id. Errors: NotFound."""
    run = await show_evaluation(ledger, run_id, as_of, analyses=True, prefix=True)
    return EvaluationReport(evaluation=run, trend=await _read_trend(ledger, run, as_of))


def find_scenario_result(run: Evaluation, scenario_id: str) -> ScenarioResult:
    """Return one scenario of an evaluation. Errors: NotFound."""
    for result in run.results:
        if result.scenario_id == scenario_id:
            return result
    listed = ", ".join(result.scenario_id for result in run.results[:SCENARIOS_LISTED_MAX])
    more = ", ..." if len(run.results) > SCENARIOS_LISTED_MAX else ""
    raise NotFound(f"{scenario_id} is not in {run.run_id}.", f"Its scenarios: {listed or 'none'}{more}")


def without_analyses(result: Evaluation | ScenarioResult) -> Evaluation | ScenarioResult:
    """Return an evaluation, or one of its scenarios, without the answers."""
    if isinstance(result, ScenarioResult):
        return _without_analysis(result)
    return structs.replace(result, results=tuple(map(_without_analysis, result.results)))


def _without_analysis(result: ScenarioResult) -> ScenarioResult:
    rows = tuple(structs.replace(row, analysis=None) for row in result.rows)
    return structs.replace(result, rows=rows)


async def build_comparison_report(
    ledger: LedgerService, baseline: str, candidate: str, as_of: int | None = None
) -> EvaluationReport:
    """Compare two evaluations; return the report data of the candidate, with the comparison. Errors: NotFound."""
    comparison = await compare_evaluations(ledger, baseline, candidate, as_of, prefix=True)
    report = await build_evaluation_report(ledger, comparison.candidate.run_id, as_of)
    return structs.replace(report, contrast=comparison)


async def judge_run(ledger: LedgerService, query: GateQuery, as_of: int | None = None) -> EvaluationReport:
    """Compare a candidate with a baseline, and judge it by limits. Errors: NotFound, for an unknown run.

    The latest candidate is the newest run that has ended and does not score a baseline answer. It is of the suite in
    the query; if the query names none, of the suite of the baseline in the query; otherwise of any suite. The latest
    baseline is the newest such run before the candidate, of the same suite and selection, and of the same agent if
    that has one.
    """
    baseline = None if await _is_latest(ledger, query.baseline, as_of) else query.baseline
    candidate = query.candidate
    if await _is_latest(ledger, candidate, as_of):
        candidate = await _find_candidate(ledger, query, baseline, as_of)
    run = await show_evaluation(ledger, candidate, as_of, prefix=True)
    report = await build_comparison_report(
        ledger, baseline or await _find_baseline(ledger, run, as_of), run.run_id, as_of
    )
    assert report.contrast is not None
    if report.contrast.baseline.run_id == run.run_id:
        detail = f"Nothing newer than the baseline {run.run_id} has ended."
        raise NotFound(detail, "Evaluate the candidate first, or name it with --run.")
    return structs.replace(report, judgement=judge(report.contrast, query.limits))


async def _find_candidate(ledger: LedgerService, query: GateQuery, baseline: str | None, as_of: int | None) -> str:
    suite = query.suite
    if suite is None and baseline is not None:
        suite = (await show_evaluation(ledger, baseline, as_of, prefix=True)).suite
    return await find_latest(ledger, suite, as_of=as_of)


async def _find_baseline(ledger: LedgerService, run: Evaluation, as_of: int | None) -> str:
    try:
        return await find_latest(ledger, run.suite, before=run.run_id, agent=run.agent, as_of=as_of)
    except NotFound:
        return await find_latest(ledger, run.suite, before=run.run_id, as_of=as_of)


async def _is_latest(ledger: LedgerService, run_id: str, as_of: int | None) -> bool:
    """Return whether an id means the latest run: it is `latest`, and no run has that id."""
    projection, _ = await ledger.engine.at(EvaluationIndex, as_of)
    return run_id == LATEST and not projection.has(LATEST)


async def _read_trend(ledger: LedgerService, run: Evaluation, as_of: int | None) -> tuple[TrendPoint, ...]:
    """Return the scores of the versions of the evaluated agent."""
    if run.baseline is not None:
        return ()
    board = await show_scoreboard(ledger, ScoreboardQuery(suite=run.suite, agent=run.agent, versions=1), as_of)
    return tuple(point for suite in board.suites for point in suite.trend)


def build_gate_answer(report: EvaluationReport) -> GateAnswer:
    """Return the answer of the gate in JSON form."""
    assert isinstance(report.contrast, RunComparisonAnswer)
    assert report.judgement is not None
    fields = {name: getattr(report.contrast, name) for name in report.contrast.__struct_fields__}
    return GateAnswer(**fields, judgement=report.judgement)
