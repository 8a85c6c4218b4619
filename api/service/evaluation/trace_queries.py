"""Show the recorded trace of one attempt."""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from api.service.evaluation.evaluation_params import EvaluationParams
from api.service.evaluation.queries import find_scenario_result, get_evaluation
from api.service.evidence import read_blobs
from api.service.ledger import View
from api.service.operation import Answers
from events.evaluation import EvalScored
from instruments.evals.trace.recorded import decode_trace
from instruments.evals.trace.steps import TOOL, AgentStep, BadTrace
from instruments.stored_text import text_of
from ledger.errors import InvalidQuery, NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.view_types import Evaluation, ScoreRow
from tallystick.shapes.parts import AsOf


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps that an agent recorded in one attempt, with the position and time of the answer."""

    run_id: str
    scenario_id: str
    attempt: int
    trace_digest: str
    """Digest of the evidence that holds the trace as it was recorded."""
    steps: tuple[AgentStep, ...]
    as_of: AsOf


async def show_trace(answers: Answers, run_id: str, attempt: str) -> TraceAnswer:
    """Return the trace of an attempt, named `SCENARIO` or `SCENARIO/ATTEMPT`; `run_id` may be the beginning of one id.

    Errors: NotFound, InvalidQuery, Gone.
    """
    run = await answers.answer(get_evaluation, EvaluationParams(run=run_id, prefix=True))
    scenario_id, row = _find_row(run, attempt)
    if row.trace_digest is None:
        raise NotFound(
            f"No trace was recorded in attempt {row.attempt} at {scenario_id} in {run.run_id}.",
            "An agent records one as trace in its answer, or as spans in the file that TALLYSTICK_TRACE_FILE names.",
        )
    try:
        trace = decode_trace(await answers.evidence_bytes(row.trace_digest))
    except BadTrace as error:
        raise NotFound(f"The trace {row.trace_digest} has no steps that can be read: {error}", "") from None
    return TraceAnswer(
        run_id=run.run_id,
        scenario_id=scenario_id,
        attempt=row.attempt,
        trace_digest=row.trace_digest,
        steps=trace.steps,
        as_of=run.as_of,
    )


async def find_traces(
    view: View, run_id: str, scenario_id: str, attempts: Iterable[int]
) -> dict[int, tuple[AgentStep, ...]]:
    """Return the recorded steps of attempts at a scenario, by attempt; without those that cannot be read."""
    _, position = await view.at(EvaluationIndex)
    subject, chosen = f"evaluation/{run_id}", set(attempts)
    events = (await view.engine.events.read_streams([subject], position))[subject]
    scores = [fact.data for fact in events if isinstance(fact.data, EvalScored)]
    latest = {score.attempt: score for score in scores if score.scenario_id == scenario_id and score.attempt in chosen}
    digests = {attempt: score.trace_digest for attempt, score in latest.items() if score.trace_digest is not None}
    blobs = await read_blobs(view.evidence, digests.values())
    found: dict[int, tuple[AgentStep, ...]] = {}
    for attempt, digest in digests.items():
        with suppress(BadTrace):
            if (data := blobs.get(digest)) is not None:
                found[attempt] = (await run_on_thread(decode_trace, data)).steps
    return found


def _find_row(run: Evaluation, attempt: str) -> tuple[str, ScoreRow]:
    """Return the scenario and the score of an attempt. Errors: InvalidQuery, NotFound."""
    scenario_id, slash, text = attempt.partition("/")
    if slash and not (text.isdecimal() and text.isascii() and len(text) < 10 and int(text) > 0):
        raise InvalidQuery(
            "trace", f"{attempt!r} is not SCENARIO/ATTEMPT.", "Write --trace image-pull, or --trace image-pull/2."
        )
    number = int(text) if slash else 1
    by_attempt = {row.attempt: row for row in find_scenario_result(run, scenario_id).rows}
    if number not in by_attempt:
        numbers = ", ".join(map(str, sorted(by_attempt)))
        raise NotFound(f"{scenario_id} has no attempt {number} in {run.run_id}.", f"Its attempts: {numbers}")
    return scenario_id, by_attempt[number]


def describe_step(step: AgentStep) -> str:
    """Return the error of a step and its arguments, or what a step without arguments says."""
    if step.error is not None and step.ok is False:
        return f"{step.error}: {text_of(step.arguments)}".removesuffix(": ")
    return text_of(step.arguments if step.kind == TOOL or step.arguments is not None else step.output)
