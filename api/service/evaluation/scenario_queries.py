"""Queries of single scenarios: one in a run with every answer, and one over all runs; and the names to filter by."""

from collections.abc import Sequence
from functools import partial

import msgspec

from api.service.evaluation.queries import find_scenario_result
from api.service.evidence import read_blobs
from api.service.id_prefix import resolve_id
from api.service.judge_records import find_labels
from api.service.ledger import LedgerService
from api.service.unknown_names import UnknownNames, find_unknown_names
from events.envelope import EventFacts
from events.evaluation import EvalScored
from ledger.errors import NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex, ScoreFilter
from projections.evaluation.judge_index import JudgeIndex
from projections.evaluation.run_view import build_evaluation, evidence_digests
from projections.evaluation.scenario_history import ScenarioHistory, ScenarioQuery, build_history
from projections.evaluation.view_types import Evaluation, ScenarioResult
from tallystick.shapes.parts import AsOf


class ScenarioHistoryAnswer(ScenarioHistory, frozen=True, kw_only=True, omit_defaults=True):
    """The history of a scenario, with its position and time."""

    as_of: AsOf
    unknown_names: UnknownNames = msgspec.UNSET


class ScenarioOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario of a run, with its answers. `run` has the start and the end of the run, and this scenario alone."""

    run: Evaluation
    result: ScenarioResult
    as_of: AsOf


class EvaluatedNames(msgspec.Struct, frozen=True, kw_only=True):
    """The names that evaluations can be filtered by, sorted."""

    suites: Sequence[str]
    agents: Sequence[str]


async def show_history(ledger: LedgerService, query: ScenarioQuery, as_of: int | None = None) -> ScenarioHistoryAnswer:
    """Return the results of a scenario by run and by version. Errors: NotFound, for an unknown scenario."""
    projection, position = await ledger.engine.at(EvaluationIndex, as_of)
    if not projection.has_scenario(query.scenario_id):
        raise NotFound(f"Scenario not found: {query.scenario_id}", "Check the id; a run lists its scenarios.")
    scores, names = projection.scores(ScoreFilter(scenario=query.scenario_id)), projection.names()
    history = await run_on_thread(build_history, scores, query)
    unknown = find_unknown_names({"suite": query.suite, "agent": query.agent}, names)
    fields = {name: getattr(history, name) for name in history.__struct_fields__}
    return ScenarioHistoryAnswer(
        **fields, as_of=await ledger.dated(position), unknown_names=msgspec.UNSET if history.total else unknown
    )


async def show_scenario_of_run(
    ledger: LedgerService, run_id: str, scenario_id: str, as_of: int | None = None
) -> ScenarioOfRun:
    """Return one scenario of a run with every answer; of the others, nothing stored as evidence is read.

    Errors: NotFound, for an unknown run or scenario.
    """
    projection, position = await ledger.engine.at(EvaluationIndex, as_of, also=(JudgeIndex,))
    labels = dict(projection.known)
    subject = f"evaluation/{resolve_id(projection, run_id, 'evaluation', prefix=False)}"
    marks = await find_labels(ledger, as_of)
    events = (await ledger.engine.events.read_streams([subject], position))[subject]
    own: list[EventFacts] = [
        event for event in events if not isinstance(event.data, EvalScored) or event.data.scenario_id == scenario_id
    ]
    texts = await read_blobs(ledger.evidence, evidence_digests(own, analyses=True))
    run = await run_on_thread(partial(build_evaluation, own, labels, texts, analyses=True, marks=marks))
    return ScenarioOfRun(run=run, result=find_scenario_result(run, scenario_id), as_of=await ledger.dated(position))


async def list_names(ledger: LedgerService, as_of: int | None = None) -> EvaluatedNames:
    """Return the suites and agents of all evaluations."""
    projection, _ = await ledger.engine.at(EvaluationIndex, as_of)
    names = projection.names()
    return EvaluatedNames(suites=sorted(names["suite"]), agents=sorted(names["agent"]))
