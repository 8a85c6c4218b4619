"""Queries of evaluations: list, show, compare, and the scoreboard."""

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import UNSET, structs

from api.service.evaluation.evaluation_params import LATEST, ComparisonParams, EvaluationParams
from api.service.evidence import read_blobs
from api.service.id_prefix import resolve_id
from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names, model_resolver
from api.service.operation import Link, operation
from api.service.run_params import EvaluationQuery
from api.service.unknown_names import UnknownNames, find_unknown_names
from ledger.errors import NotFound
from ledger.threads import run_on_thread
from projections.call_index import CallColumns, CallIndex
from projections.evaluation.aggregation import ScenarioLabels
from projections.evaluation.call_usage import fill_events, fill_usage
from projections.evaluation.corrected_rows import correct_rows
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection, ScoreFilter
from projections.evaluation.judge_index import JudgeIndex, LabelKey, records_of
from projections.evaluation.query_params import ScoreboardQuery
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.run_summaries import summarize_runs
from projections.evaluation.run_view import NO_LABELS, build_evaluation, evidence_digests
from projections.evaluation.scoreboard import build_scoreboard
from projections.evaluation.view_types import Evaluation, EvaluationSummary, RunComparison, ScenarioResult, Scoreboard
from tallystick.shapes.parts import AsOf

SCENARIOS_LISTED_MAX = 20
"""An error about an unknown scenario lists no more scenarios than this."""


class EvaluationPage(msgspec.Struct, frozen=True, kw_only=True):
    """Summaries of evaluations; `next` is the offset of the next page, None on the last."""

    evaluations: list[EvaluationSummary]
    total: int
    next: int | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class EvaluationAnswer(Evaluation, frozen=True, kw_only=True):
    """An evaluation in full, with its position and time."""

    as_of: AsOf


class RunComparisonAnswer(RunComparison, frozen=True, kw_only=True):
    """A comparison of two evaluations, with its position and time."""

    as_of: AsOf


class ScoreboardAnswer(Scoreboard, frozen=True, kw_only=True):
    """The scoreboard, with its position and time."""

    as_of: AsOf
    unknown_names: UnknownNames = UNSET


@operation(
    "/evaluations",
    "evaluations",
    heavy=True,
    links={"evaluation": Link("get_evaluation", "run", "$response.body#/evaluations/0/run_id")},
)
async def get_evaluations(view: View, params: EvaluationQuery) -> EvaluationPage:
    """List summaries of evaluations, the last started first."""
    projection, position = await view.at(EvaluationIndex, also=(CallIndex,))
    selection = EvaluationSelection(suite=params.suite, agent=params.agent, range=params.range(view.clock()))
    rows = projection.find(selection)
    listed = rows[params.offset : params.offset + params.limit]
    scores = projection.scores(ScoreFilter(runs=listed))
    scores = await run_on_thread(fill_usage, scores, (await view.beside(CallIndex)).calls())
    summaries = await run_on_thread(summarize_runs, scores, listed)
    after = params.offset + len(summaries)
    total, dated = len(rows), await view.dated(position)
    return EvaluationPage(
        evaluations=summaries,
        total=total,
        next=after if after < total else None,
        as_of=dated,
        unknown_names=UNSET if total else _unknown_names(projection, selection),
    )


@operation("/evaluations/{run}", "evaluations", heavy=True, errors=(404,))
async def get_evaluation(view: View, params: EvaluationParams) -> EvaluationAnswer:
    """Return one evaluation: every scenario, every score, and where each pattern matched."""
    projection, position = await view.at(EvaluationIndex, also=(JudgeIndex, CallIndex))
    labels = dict(projection.known)  # copied before the first await: later events change it
    calls = (await view.beside(CallIndex)).calls()
    full_id = resolve_id(projection, params.run, "evaluation", prefix=params.prefix)
    analyses = "analyses" in params.include
    marks = (await view.beside(JudgeIndex)).labels()
    evaluation = await _build_evaluation(view, full_id, labels, calls, position, analyses=analyses, marks=marks)
    return EvaluationAnswer(**structs.asdict(evaluation), as_of=await view.dated(position))


@operation("/evaluations/compare", "evaluations", heavy=True, errors=(404,))
async def get_comparison(view: View, params: ComparisonParams) -> RunComparisonAnswer:
    """Compare two evaluations by scenario and attempt."""
    baseline, candidate, prefix = params.baseline, params.candidate, params.prefix
    projection, position = await view.at(EvaluationIndex, also=(CallIndex,))
    calls = (await view.beside(CallIndex)).calls()
    candidate_id = resolve_id(projection, candidate, "evaluation", prefix=prefix)
    if baseline == LATEST and not projection.has(LATEST):
        baseline_id = _find_latest(
            projection, projection.started(candidate_id).suite, candidate_id, projection.agent(candidate_id)
        )
    else:
        baseline_id = resolve_id(projection, baseline, "evaluation", prefix=prefix)
    labels = dict(projection.known)
    baseline_run = await _build_evaluation(view, baseline_id, labels, calls, position)
    candidate_run = await _build_evaluation(view, candidate_id, labels, calls, position)
    comparison = await run_on_thread(compare_runs, baseline_run, candidate_run)
    return RunComparisonAnswer(**structs.asdict(comparison), as_of=await view.dated(position))


async def find_latest(
    view: View,
    suite: str | None,
    *,
    before: str | None = None,
    agent: str | None = None,
) -> str:
    """Return the newest evaluation that has ended and does not score a baseline; of a suite and an agent, if given.

    `before` is the id of an evaluation: the result began earlier, with the same selection of scenarios.
    Errors: NotFound.
    """
    projection, _ = await view.at(EvaluationIndex)
    return _find_latest(
        projection, suite, None if before is None else resolve_id(projection, before, "evaluation", prefix=False), agent
    )


@operation("/scoreboard", "evaluations", heavy=True)
async def get_scoreboard(view: View, params: ScoreboardQuery) -> ScoreboardAnswer:
    """Rank the versions of each agent by suite, with two baselines."""
    also = (JudgeIndex, CallIndex, *(MODEL_NAMES if params.group_by == "model" else ()))
    projection, position = await view.at(EvaluationIndex, also=also)
    # Baselines are always shown: a board without a row of an agent may be a board of an unknown one.
    unknown = _unknown_names(projection, params)
    resolve = model_resolver(await find_model_names(view)) if params.group_by == "model" else None
    scores = projection.scores(ScoreFilter(suite=params.suite))
    judging = (await view.beside(JudgeIndex)).encode()
    scores = await run_on_thread(fill_usage, scores, (await view.beside(CallIndex)).calls())
    scoreboard = await run_on_thread(build_scoreboard, scores, params, resolve)
    records = await run_on_thread(records_of, judging)
    scoreboard = await run_on_thread(correct_rows, scoreboard, records, params.agent, resolve)
    return ScoreboardAnswer(suites=scoreboard.suites, as_of=await view.dated(position), unknown_names=unknown)


def _unknown_names(projection: EvaluationIndex, asked: EvaluationSelection | ScoreboardQuery) -> UnknownNames:
    """Return the names of a filter that no evaluation has."""
    return find_unknown_names({"suite": asked.suite, "agent": asked.agent}, projection.names())


async def _build_evaluation(
    view: View,
    run_id: str,
    labels: Mapping[str, ScenarioLabels],
    calls: CallColumns,
    position: int,
    *,
    analyses: bool = False,
    marks: Mapping[LabelKey, bool] = NO_LABELS,
) -> Evaluation:
    subject = f"evaluation/{run_id}"
    stream = (await view.engine.events.read_streams([subject], position))[subject]
    events = fill_events(stream, calls)
    texts = await read_blobs(view.evidence, evidence_digests(events, analyses=analyses))
    return await run_on_thread(partial(build_evaluation, events, labels, texts, analyses=analyses, marks=marks))


def _find_latest(projection: EvaluationIndex, suite: str | None, before: str | None, agent: str | None) -> str:
    latest = projection.latest(suite, before=before, agent=agent)
    if latest is None:
        of_suite = "" if suite is None else f" of {suite}"
        by_agent = "" if agent is None else f" by {agent}"
        began = "" if before is None else f" that began before {before}, on the same selection,"
        raise NotFound(
            f"No evaluation{of_suite}{by_agent}{began} has ended.", "Name a run, or evaluate the baseline first."
        )
    return latest


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
