"""The gate: compare a candidate with a baseline, and judge it by limits."""

import msgspec
from msgspec import structs

from api.reports import EvaluationReport, FlakyScenario, GateLimits, GateResult, judge
from api.service.evaluation.queries import (
    LATEST,
    RunComparisonAnswer,
    compare_evaluations,
    find_latest,
    get_scoreboard,
    show_evaluation,
)
from api.service.evaluation.report_data import build_comparison_report
from api.service.ledger import View
from ledger.errors import NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.view_types import Evaluation, RunComparison


class GateQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The two runs to compare, and the limits. A run is given by its id, a unique beginning of it, or `latest`."""

    baseline: str
    candidate: str = LATEST
    suite: str | None = None
    limits: GateLimits = GateLimits()


class GateAnswer(RunComparisonAnswer, frozen=True, kw_only=True):
    """A comparison of two evaluations, and the gate's judgement on the candidate."""

    judgement: GateResult


async def judge_run(view: View, query: GateQuery) -> EvaluationReport:
    """Compare a candidate with a baseline, and judge it by limits. Errors: NotFound, for an unknown run.

    The latest candidate is the newest run that has ended and does not score a baseline answer. It is of the suite in
    the query; if the query names none, of the suite of the baseline in the query; otherwise of any suite. The latest
    baseline is the newest such run before the candidate, of the same suite and selection, and of the same agent if
    that has one.
    """
    baseline = None if await _is_latest(view, query.baseline) else query.baseline
    candidate = query.candidate
    if await _is_latest(view, candidate):
        candidate = await _find_candidate(view, query, baseline)
    run = await show_evaluation(view, candidate, prefix=True)
    report = await build_comparison_report(view, baseline or await _find_baseline(view, run), run.run_id)
    assert report.contrast is not None
    if report.contrast.baseline.run_id == run.run_id:
        detail = f"Nothing newer than the baseline {run.run_id} has ended."
        raise NotFound(detail, "Evaluate the candidate first, or name it with --run.")
    return structs.replace(report, judgement=await _judge(view, report.contrast, query.limits))


async def judge_comparison(view: View, baseline: str, candidate: str, limits: GateLimits) -> GateAnswer:
    """Compare two runs as `compare_evaluations` does, and judge the candidate by limits. Errors: NotFound."""
    comparison = await compare_evaluations(view, baseline, candidate)
    fields = {name: getattr(comparison, name) for name in comparison.__struct_fields__}
    return GateAnswer(**fields, judgement=await _judge(view, comparison, limits))


async def _judge(view: View, contrast: RunComparison, limits: GateLimits) -> GateResult:
    """Judge a comparison, and name the compared scenarios that are flaky under the version of the baseline."""
    judgement = await run_on_thread(judge, contrast, limits)
    first = contrast.baseline
    board = await get_scoreboard(view, ScoreboardQuery(suite=first.suite, agent=first.agent))
    of_version = (first.agent, first.agent_version, first.baseline)
    compared = {each.scenario_id for each in contrast.passes}
    flaky = [
        FlakyScenario(scenario_id=result.scenario_id, attempts=result.attempts, passed=result.passed)
        for suite in board.suites
        for row in suite.rows
        if (row.agent, row.agent_version, row.baseline) == of_version
        for result in row.results
        if result.verdict == "flaky" and result.scenario_id in compared
    ]
    return structs.replace(judgement, flaky=tuple(flaky))


async def _find_candidate(view: View, query: GateQuery, baseline: str | None) -> str:
    suite = query.suite
    if suite is None and baseline is not None:
        suite = (await show_evaluation(view, baseline, prefix=True)).suite
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


def build_gate_answer(report: EvaluationReport) -> GateAnswer:
    """Return the answer of the gate in JSON form."""
    assert isinstance(report.contrast, RunComparisonAnswer)
    assert report.judgement is not None
    fields = {name: getattr(report.contrast, name) for name in report.contrast.__struct_fields__}
    return GateAnswer(**fields, judgement=report.judgement)
