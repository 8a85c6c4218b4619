"""Queries of single scenarios: one in a run with every answer, and one over all runs; and the names to filter by."""

from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import structs

from api.service.evaluation.queries import find_scenario_result
from api.service.evidence import read_blobs
from api.service.id_prefix import resolve_id
from api.service.ledger import View
from api.service.operation import operation
from api.service.unknown_names import UnknownNames, find_unknown_names
from events.envelope import EventFacts
from events.evaluation import EvalScored
from ledger.errors import NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex, ScoreFilter
from projections.evaluation.judge_index import JudgeIndex
from projections.evaluation.query_params import ScenarioQuery
from projections.evaluation.run_view import build_evaluation, evidence_digests
from projections.evaluation.scenario_history import ScenarioHistory, build_history
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


@operation("/scenarios/{scenario_id}", "evaluations", errors=(404,))
async def get_scenario(view: View, params: ScenarioQuery) -> ScenarioHistoryAnswer:
    """Return the history of a scenario: its result in each run, the last begun first, and by version of each agent."""
    projection, position = await view.at(EvaluationIndex)
    if not projection.has_scenario(params.scenario_id):
        raise NotFound(f"Scenario not found: {params.scenario_id}", "Check the id; a run lists its scenarios.")
    scores, names = projection.scores(ScoreFilter(scenario=params.scenario_id)), projection.names()
    history = await run_on_thread(build_history, scores, params)
    unknown = find_unknown_names({"suite": params.suite, "agent": params.agent}, names)
    return ScenarioHistoryAnswer(
        **structs.asdict(history),
        as_of=await view.dated(position),
        unknown_names=msgspec.UNSET if history.total else unknown,
    )


async def show_scenario_of_run(view: View, run_id: str, scenario_id: str) -> ScenarioOfRun:
    """Return one scenario of a run with every answer; of the others, nothing stored as evidence is read.

    Errors: NotFound, for an unknown run or scenario.
    """
    projection, position = await view.at(EvaluationIndex, also=(JudgeIndex,))
    labels = dict(projection.known)
    subject = f"evaluation/{resolve_id(projection, run_id, 'evaluation', prefix=False)}"
    marks = (await view.beside(JudgeIndex)).labels()
    events = (await view.engine.events.read_streams([subject], position))[subject]
    own: list[EventFacts] = [
        event for event in events if not isinstance(event.data, EvalScored) or event.data.scenario_id == scenario_id
    ]
    texts = await read_blobs(view.evidence, evidence_digests(own, analyses=True))
    run = await run_on_thread(partial(build_evaluation, own, labels, texts, analyses=True, marks=marks))
    return ScenarioOfRun(run=run, result=find_scenario_result(run, scenario_id), as_of=await view.dated(position))


async def list_names(view: View) -> EvaluatedNames:
    """Return the suites and agents of all evaluations."""
    projection, _ = await view.at(EvaluationIndex)
    names = projection.names()
    return EvaluatedNames(suites=sorted(names["suite"]), agents=sorted(names["agent"]))
