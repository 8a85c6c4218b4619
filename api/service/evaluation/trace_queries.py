"""Show the recorded trace of one attempt."""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from api.service.evidence import read_blobs
from api.service.id_prefix import resolve_id
from api.service.ledger import View
from events.envelope import EventFacts
from events.evaluation import EvalScored
from events.registry import VOCABULARY
from instruments.evals.scoring.tool_calls import value_text
from instruments.evals.trace.recorded import decode_trace
from instruments.evals.trace.steps import TOOL, AgentStep, BadTrace
from ledger.errors import Gone, InvalidQuery, NotFound
from ledger.threads import run_on_thread
from projections.evaluation.evaluation_index import EvaluationIndex
from tallystick.shapes.parts import AsOf

SCENARIOS_LISTED_MAX = 20
"""An error about an unknown scenario lists no more scenarios than this."""


class TraceAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The steps that an agent recorded in one attempt, with the position and time of the answer."""

    run_id: str
    scenario_id: str
    attempt: int
    trace_digest: str
    """Digest of the evidence that holds the trace as it was recorded."""
    steps: tuple[AgentStep, ...]
    as_of: AsOf


async def show_trace(view: View, run_id: str, attempt: str) -> TraceAnswer:
    """Return the trace of an attempt, named `SCENARIO` or `SCENARIO/ATTEMPT`; `run_id` may be the beginning of one id.

    Errors: NotFound, InvalidQuery, Gone.
    """
    projection, position = await view.at(EvaluationIndex)
    full_id = resolve_id(projection, run_id, "evaluation", prefix=True)
    subject = f"evaluation/{full_id}"
    events = (await view.engine.events.read_streams([subject], position))[subject]
    score = find_traced_score(events, full_id, attempt)
    assert score.trace_digest is not None
    data = (await read_blobs(view.evidence, [score.trace_digest])).get(score.trace_digest)
    return build_trace_answer(score, data, await view.dated(position))


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


def find_traced_line(lines: bytes, position: int, run_id: str, attempt: str) -> EvalScored:
    """Find a score as `find_traced_score` does, in stored lines up to a position."""
    facts = [fact for fact in VOCABULARY.facts(lines) if fact.position <= position]
    return find_traced_score(facts, run_id, attempt)


def find_traced_score(events: Iterable[EventFacts], run_id: str, attempt: str) -> EvalScored:
    """Return the latest score of an attempt that names its trace. Errors: InvalidQuery, NotFound."""
    scenario_id, slash, text = attempt.partition("/")
    if slash and not (text.isdecimal() and text.isascii() and len(text) < 10 and int(text) > 0):
        raise InvalidQuery(
            "trace", f"{attempt!r} is not SCENARIO/ATTEMPT.", "Write --trace image-pull, or --trace image-pull/2."
        )
    number = int(text) if slash else 1
    scores = [fact.data for fact in events if isinstance(fact.data, EvalScored)]
    of_scenario = [score for score in scores if score.scenario_id == scenario_id]
    if not of_scenario:
        names = sorted({score.scenario_id for score in scores})
        more = ", ..." if len(names) > SCENARIOS_LISTED_MAX else ""
        listed = ", ".join(names[:SCENARIOS_LISTED_MAX]) or "none"
        raise NotFound(f"{scenario_id} is not in {run_id}.", f"Its scenarios: {listed}{more}")
    found = [score for score in of_scenario if score.attempt == number]
    if not found:
        numbers = sorted({score.attempt for score in of_scenario})
        raise NotFound(
            f"{scenario_id} has no attempt {number} in {run_id}.", f"Its attempts: {', '.join(map(str, numbers))}"
        )
    if found[-1].trace_digest is None:
        raise NotFound(
            f"No trace was recorded in attempt {number} at {scenario_id} in {run_id}.",
            "An agent records one as trace in its answer, or as spans in the file that TALLYSTICK_TRACE_FILE names.",
        )
    return found[-1]


def build_trace_answer(score: EvalScored, data: bytes | None, as_of: AsOf) -> TraceAnswer:
    """Return the answer from the stored bytes; None for erased ones. Errors: Gone, NotFound."""
    assert score.trace_digest is not None
    if data is None:
        raise Gone(f"The trace {score.trace_digest} is not in the ledger: it was erased, or never stored.", "")
    try:
        trace = decode_trace(data)
    except BadTrace as error:
        raise NotFound(f"The trace {score.trace_digest} has no steps that can be read: {error}", "") from None
    return TraceAnswer(
        run_id=score.run_id,
        scenario_id=score.scenario_id,
        attempt=score.attempt,
        trace_digest=score.trace_digest,
        steps=trace.steps,
        as_of=as_of,
    )


def describe_step(step: AgentStep) -> str:
    """Return the error of a step and its arguments, or what a step without arguments says."""
    if step.error is not None and step.ok is False:
        return f"{step.error}: {value_text(step.arguments)}".removesuffix(": ")
    return value_text(step.arguments if step.kind == TOOL or step.arguments is not None else step.output)
