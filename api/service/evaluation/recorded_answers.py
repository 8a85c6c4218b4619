"""The answers of a recorded evaluation: those in its events, and those stored as evidence."""

from typing import Any

import msgspec

from api.service.evaluation.recorded_tries import ANSWERED, AttemptKey
from api.service.store import EventStore
from events.evaluation import EvalScored, EvalStarted
from events.registry import VOCABULARY
from instruments.evals.agent import AgentOutput, parse_answer
from instruments.evals.analysis import Analysis, AnswerStatements
from instruments.evals.trace.recorded import decode_trace
from instruments.evals.trace.steps import BadTrace, RecordedTrace
from instruments.evals.usage import Usage
from ledger.errors import Damaged, Gone, NotFound


class RecordedRun(msgspec.Struct, frozen=True):
    """The start of an evaluation, and the latest score of each attempt."""

    started: EvalStarted
    scores: dict[AttemptKey, EvalScored]


async def read_run(store: EventStore, run_id: str) -> RecordedRun:
    """Read a run. Errors: NotFound; those of reading."""
    events = list(VOCABULARY.events(await store.streams([f"evaluation/{run_id}"])))
    if not events:
        raise NotFound(f"There is no evaluation {run_id}.", "See the evaluations: tallystick eval list.")
    started = events[0].data
    assert isinstance(started, EvalStarted)
    scores = [event.data for event in events if isinstance(event.data, EvalScored)]
    return RecordedRun(started, {(score.scenario_id, score.attempt): score for score in scores})


async def read_output(store: EventStore, score: EvalScored) -> AgentOutput:
    """Return the answer of a score as the agent gave it, or the failure of the agent. Errors: those of reading."""
    stated = AnswerStatements(
        model=score.model, reported_model=score.reported_model, confidence=score.confidence, usage=_usage(score)
    )
    text = score.analysis
    if text is None and score.analysis_digest is not None:
        try:
            text = (await store.evidence(score.analysis_digest)).data.decode(errors="replace")
        except (Gone, NotFound, Damaged) as error:
            return AgentOutput(failure="unreadable", detail=f"the stored answer cannot be read: {error}", stated=stated)
    if text is None and (score.state != "scored" and score.failure not in ANSWERED):
        return AgentOutput(
            failure=score.failure, detail=score.detail, said=score.said, elapsed_ns=score.elapsed_ns, stated=stated
        )
    trace = await _read_trace(store, score)
    if text is None:
        return AgentOutput(analysis=Analysis(), elapsed_ns=score.elapsed_ns, stated=stated, trace=trace)
    try:
        value: dict[str, Any] = msgspec.json.decode(text)
        analysis = parse_answer(value).analysis
    except (ValueError, RecursionError) as error:
        return AgentOutput(failure="unreadable", detail=str(error), stated=stated)
    return AgentOutput(analysis=analysis, text=text, elapsed_ns=score.elapsed_ns, stated=stated, trace=trace)


async def _read_trace(store: EventStore, score: EvalScored) -> RecordedTrace | None:
    """Return the stored trace of an answer, with its problem if it cannot be read; None without one."""
    if score.trace_digest is None:
        return None
    try:
        return decode_trace((await store.evidence(score.trace_digest)).data)
    except (Gone, NotFound, Damaged, BadTrace) as error:
        return RecordedTrace(problem=f"the stored trace cannot be read: {error}")


def _usage(score: EvalScored) -> Usage:
    return Usage(**{name: getattr(score, name) for name in Usage.__struct_fields__})
