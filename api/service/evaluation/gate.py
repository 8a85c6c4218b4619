"""The gate: compare a candidate with a baseline, and judge it by limits."""

import msgspec
from msgspec import structs

from api.reports import EvaluationReport, GateLimits, GateResult, judge
from api.service.evaluation.queries import LATEST, RunComparisonAnswer, find_latest, show_evaluation
from api.service.evaluation.report_data import build_comparison_report
from api.service.ledger import LedgerService
from ledger.errors import NotFound
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.view_types import Evaluation


class GateQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The two runs to compare, and the limits. A run is given by its id, a unique beginning of it, or `latest`."""

    baseline: str
    candidate: str = LATEST
    suite: str | None = None
    limits: GateLimits = GateLimits()


class GateAnswer(RunComparisonAnswer, frozen=True, kw_only=True):
    """A comparison of two evaluations, and the gate's judgement on the candidate."""

    judgement: GateResult


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


def build_gate_answer(report: EvaluationReport) -> GateAnswer:
    """Return the answer of the gate in JSON form."""
    assert isinstance(report.contrast, RunComparisonAnswer)
    assert report.judgement is not None
    fields = {name: getattr(report.contrast, name) for name in report.contrast.__struct_fields__}
    return GateAnswer(**fields, judgement=report.judgement)
