"""Queries of evaluations: list, show, compare, and the scoreboard."""

from asyncio import to_thread
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from api.service.as_of import AsOf
from api.service.evidence import read_blobs
from api.service.ledger import LedgerService
from events.limits import PAGE_EVENTS_DEFAULT
from ledger.errors import NotFound
from projections.evaluation.aggregation import ScenarioLabels
from projections.evaluation.evaluation_index import EvaluationIndex, EvaluationSelection
from projections.evaluation.list_view import summarize_runs
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.run_view import build_evaluation, evidence_digests
from projections.evaluation.scoreboard import ScoreboardQuery
from projections.evaluation.scoreboard import build_scoreboard as arrange
from projections.evaluation.view_types import Evaluation, EvaluationSummary, RunComparison, Scoreboard

LATEST = "latest"
"""In place of a baseline's id: the newest run that the candidate can be compared with."""


class EvaluationQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which evaluations to list: a page of them, the most recently begun first."""

    selection: EvaluationSelection = EvaluationSelection()
    limit: int = PAGE_EVENTS_DEFAULT
    offset: int = 0


class EvaluationPage(msgspec.Struct, frozen=True, kw_only=True):
    """Evaluations in short; `next` is the offset of the next page, None on the last."""

    evaluations: list[EvaluationSummary]
    total: int
    next: int | None
    as_of: AsOf


class EvaluationAnswer(Evaluation, frozen=True, kw_only=True):
    """An evaluation in full, with its position and time."""

    as_of: AsOf


class RunComparisonAnswer(RunComparison, frozen=True, kw_only=True):
    """A comparison of two evaluations, with its position and time."""

    as_of: AsOf


class ScoreboardAnswer(Scoreboard, frozen=True, kw_only=True):
    """The scoreboard, with its position and time."""

    as_of: AsOf


async def list_evaluations(ledger: LedgerService, query: EvaluationQuery, as_of: int | None = None) -> EvaluationPage:
    """Return a page of evaluations. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(EvaluationIndex, as_of)
    places = projection.find(query.selection)
    chosen = await to_thread(summarize_runs, projection.scores(), places[query.offset : query.offset + query.limit])
    after = query.offset + len(chosen)
    total, dated = len(places), await ledger.dated(position)
    return EvaluationPage(evaluations=chosen, total=total, next=after if after < total else None, as_of=dated)


async def show_evaluation(
    ledger: LedgerService, run_id: str, as_of: int | None = None, *, analyses: bool = False, prefix: bool = False
) -> EvaluationAnswer:
    """Return one evaluation in full, on request with the answers.

    With `prefix` the id may be a unique beginning of it. Errors: NotFound, InvalidQuery.
    """
    projection, position = await ledger.engine.at(EvaluationIndex, as_of)
    known = dict(projection.known)  # copied before the first await: later events change it
    found = await _build_evaluation(
        ledger, _resolve_run_id(projection, run_id, prefix), known, position, analyses=analyses
    )
    return EvaluationAnswer(**_fields(found), as_of=await ledger.dated(position))


async def compare_evaluations(
    ledger: LedgerService, baseline: str, candidate: str, as_of: int | None = None, *, prefix: bool = False
) -> RunComparisonAnswer:
    """Compare a candidate evaluation with a baseline; `latest` means what `find_latest` returns for the candidate.

    Errors: NotFound, InvalidQuery.
    """
    projection, position = await ledger.engine.at(EvaluationIndex, as_of)
    second = _resolve_run_id(projection, candidate, prefix)
    if baseline == LATEST and not projection.has(LATEST):
        first = _find_latest(projection, projection.started(second).suite, second, projection.agent(second))
    else:
        first = _resolve_run_id(projection, baseline, prefix)
    known = dict(projection.known)
    before = await _build_evaluation(ledger, first, known, position)
    after = await _build_evaluation(ledger, second, known, position)
    found = await to_thread(compare_runs, before, after)
    return RunComparisonAnswer(**_fields(found), as_of=await ledger.dated(position))


async def find_latest(
    ledger: LedgerService,
    suite: str | None,
    *,
    before: str | None = None,
    agent: str | None = None,
    as_of: int | None = None,
) -> str:
    """Return the newest evaluation that has ended and is not a baseline, of a suite and an agent if they are named.

    `before` names one that it must have begun before, with the same selection of scenarios. Errors: NotFound.
    """
    projection, _ = await ledger.engine.at(EvaluationIndex, as_of)
    return _find_latest(
        projection, suite, None if before is None else _resolve_run_id(projection, before, prefix=False), agent
    )


async def show_scoreboard(ledger: LedgerService, query: ScoreboardQuery, as_of: int | None = None) -> ScoreboardAnswer:
    """Return the scores of each version of each agent, by suite. Errors: InvalidQuery."""
    projection, position = await ledger.engine.at(EvaluationIndex, as_of)
    found = await to_thread(arrange, projection.scores(), query)
    return ScoreboardAnswer(suites=found.suites, as_of=await ledger.dated(position))


async def _build_evaluation(
    ledger: LedgerService, run_id: str, known: Mapping[str, ScenarioLabels], position: int, *, analyses: bool = False
) -> Evaluation:
    subject = f"evaluation/{run_id}"
    events = (await ledger.engine.read_streams([subject], position))[subject]
    texts = await read_blobs(ledger.evidence, evidence_digests(events, analyses=analyses))
    return await to_thread(partial(build_evaluation, events, known, texts, analyses=analyses))


def _resolve_run_id(projection: EvaluationIndex, run_id: str, prefix: bool) -> str:
    found = [run_id] if projection.has(run_id) else projection.ids_starting_with(run_id) if prefix and run_id else []
    if len(found) != 1:
        several = f"{run_id} begins more than one id." if found else "Check the id, or list the evaluations to find it."
        raise NotFound(f"Evaluation not found: {run_id}", several)
    return found[0]


def _find_latest(projection: EvaluationIndex, suite: str | None, before: str | None, agent: str | None) -> str:
    found = projection.latest(suite, before=before, agent=agent)
    if found is None:
        like = "" if before is None else f" that began before {before}, on the same selection,"
        whose = "" if agent is None else f" by {agent}"
        what = "" if suite is None else f" of {suite}"
        raise NotFound(f"No evaluation{what}{whose}{like} has ended.", "Name a run, or evaluate the baseline first.")
    return found


def _fields(view: Evaluation | RunComparison) -> dict[str, Any]:
    return {name: getattr(view, name) for name in view.__struct_fields__}
