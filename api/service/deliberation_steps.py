"""Add thoughts and tracked calls to a deliberation: select those that fit, and number them. Pure functions.

A thought becomes a step. With automatic deliberation, and for tracked calls always, each also becomes an input that its
step uses.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from events.decision import DecisionRecorded, DecisionThought, Deliberation, DeliberationInput, DeliberationStep
from events.envelope import Event, Line, encode_line, timestamp
from events.limits import ITEMS_MAX, LINE_BYTES_MAX
from events.payload import Payload
from events.thought import ThoughtRecorded, ThoughtTracked
from projections.decisions.decision_state import DecisionState

POSITION_MAX = 2**53
"""The largest position, by which the length of a line is estimated."""

STEP_TYPE = "reasoning"
"""The type of a step that was a thought."""

THOUGHT_SOURCE = "cstp:recordThought"
"""The source of an input that was a thought, in the protocol."""

_LETTERS = {"query": "q", "guardrail": "g", "lookup": "l", "stats": "s"}
_STEP_TYPES = {"query": "analysis", "guardrail": "constraint", "lookup": "analysis", "stats": "empirical"}

STEP_NUMBER_MAX = 2**31
"""If a client uses a higher number, further steps are numbered by the count of steps."""

OVERHEAD_BYTES_MAX = 100
"""The most bytes that a deliberation adds to a line beside its inputs and steps: names, brackets, a duration."""


def last_step(deliberation: Deliberation | None) -> int:
    """Return the number of the last step; 0 without steps."""
    steps = deliberation.steps if deliberation is not None else ()
    highest = max((step.step or 0 for step in steps), default=0)
    return max(highest, len(steps)) if highest <= STEP_NUMBER_MAX else len(steps)


def build_deliberation(state: DecisionState) -> Deliberation | None:
    """Return the deliberation of a decision, with each later thought on the decision as a further step."""
    stated = state.decision.deliberation
    thoughts = ((entry.data, entry.time) for entry in state.history)
    later = [(data.text, timestamp(time)) for data, time in thoughts if isinstance(data, DecisionThought)]
    return _with_later_thoughts(stated, later) if later else stated


def select_fitting(
    decision: DecisionRecorded, thoughts: Sequence[Event], source: str, key: str | None, *, auto: bool = False
) -> list[Event]:
    """Select in order the thoughts that fit, by the limits of a list and of a line, into a decision's deliberation."""
    stated = decision.deliberation
    listed = auto or any_tracked(thoughts)
    taken = 0 if stated is None else max(len(stated.steps), len(stated.inputs) if listed else 0)
    steps_left = ITEMS_MAX - taken
    free_bytes = LINE_BYTES_MAX - line_bytes(decision, source, key) - OVERHEAD_BYTES_MAX
    number = last_step(stated) + ITEMS_MAX
    fitting: list[Event] = []
    for thought in thoughts:
        size = len(msgspec.json.encode(_step(number, thought, listed=listed))) + 1
        size += len(msgspec.json.encode(input_of(thought))) + 1 if listed else 0
        if len(fitting) < steps_left and size <= free_bytes:
            fitting.append(thought)
            free_bytes -= size
    return fitting


def line_bytes(decision: DecisionRecorded, source: str, key: str | None) -> int:
    """Return the largest possible length of a decision's line, in bytes."""
    time = timestamp(datetime.max.replace(tzinfo=UTC))
    line = Line(
        specversion="1.0",
        id=key if key is not None else "-" * 36,
        source=source,
        type="decision.recorded.v2",
        subject=f"decision/{decision.decision_id}",
        time=time,
        recordedtime=time,
        position=POSITION_MAX,
        streamversion=1,
        data=decision,
    )
    return len(encode_line(line))


def append_steps(decision: DecisionRecorded, thoughts: Sequence[Event], *, auto: bool = False) -> DecisionRecorded:
    """Return the decision with thoughts and tracked calls as the last steps of its deliberation.

    They are also its last inputs, if one of them is a tracked call, or with `auto`.
    """
    if not thoughts:
        return decision
    listed = auto or any_tracked(thoughts)
    stated = decision.deliberation if decision.deliberation is not None else Deliberation()
    steps = [_step(number, thought, listed=listed) for number, thought in enumerate(thoughts, last_step(stated) + 1)]
    inputs = [input_of(thought) for thought in thoughts] if listed else []
    extended = structs.replace(stated, inputs=(*stated.inputs, *inputs), steps=(*stated.steps, *steps))
    if decision.deliberation is None and len(thoughts) > 1:
        moments = [thought.moment for thought in thoughts]
        duration_ms = round((max(moments) - min(moments)).total_seconds() * 1000)
        extended = structs.replace(extended, total_duration_ms=duration_ms)
    return structs.replace(decision, deliberation=extended)


def _with_later_thoughts(deliberation: Deliberation | None, thoughts: Sequence[tuple[str, str]]) -> Deliberation:
    """Return a deliberation with further steps: texts and times."""
    stated = deliberation if deliberation is not None else Deliberation()
    steps = [
        DeliberationStep(step=number, thought=text, timestamp=time, type=STEP_TYPE)
        for number, (text, time) in enumerate(thoughts, last_step(stated) + 1)
    ]
    return structs.replace(stated, steps=(*stated.steps, *steps))


def _step(number: int, thought: Event, *, listed: bool) -> DeliberationStep:
    data, used = thought.data, (input_of(thought).id,) if listed else ()
    kind = _STEP_TYPES[data.kind] if isinstance(data, ThoughtTracked) else STEP_TYPE
    return DeliberationStep(step=number, thought=text_of(thought), inputs_used=used, timestamp=thought.time, type=kind)


def input_of(thought: Event) -> DeliberationInput:
    """Return a thought or a tracked call as an input of a deliberation."""
    data = thought.data
    return DeliberationInput(
        id=input_id(thought.subject.removeprefix("thought/"), data),
        text=text_of(thought),
        source=data.method if isinstance(data, ThoughtTracked) else THOUGHT_SOURCE,
        timestamp=thought.time,
    )


def input_id(thought_id: str, data: Payload) -> str:
    """Return the id of a thought or of a tracked call as an input: `q-3f2a9c1e` for a query."""
    return f"{_LETTERS[data.kind] if isinstance(data, ThoughtTracked) else 'r'}-{thought_id}"


def any_tracked(thoughts: Sequence[Event]) -> bool:
    """Return whether one of the events is a tracked call."""
    return any(isinstance(thought.data, ThoughtTracked) for thought in thoughts)


def text_of(thought: Event) -> str:
    """Return the text of a thought or of a tracked call."""
    assert isinstance(thought.data, ThoughtRecorded | ThoughtTracked)
    return thought.data.text
