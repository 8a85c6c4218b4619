"""Add thoughts to a deliberation as further steps: select those that fit, and number them. Pure functions."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from events.decision import DecisionRecorded, DecisionThought, Deliberation, DeliberationStep
from events.envelope import Event, Line, encode_line, timestamp
from events.limits import ITEMS_MAX, LINE_BYTES_MAX
from events.thought import ThoughtRecorded
from projections.decisions.decision_state import DecisionState

POSITION_MAX = 2**53
"""The largest position, by which the length of a line is estimated."""

STEP_TYPE = "reasoning"
"""The type of a step that was a thought."""

STEP_NUMBER_MAX = 2**31
"""If a client uses a higher number, further steps are numbered by the count of steps."""

OVERHEAD_BYTES_MAX = 80
"""The most bytes that a deliberation adds to a line beside its steps: names, brackets, a duration."""


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


def select_fitting(decision: DecisionRecorded, thoughts: Sequence[Event], source: str, key: str | None) -> list[Event]:
    """Select in order the thoughts that fit, by the limits of a list and of a line, into a decision's deliberation."""
    stated = decision.deliberation
    steps_left = ITEMS_MAX - (len(stated.steps) if stated is not None else 0)
    free_bytes = LINE_BYTES_MAX - _line_bytes(decision, source, key) - OVERHEAD_BYTES_MAX
    number = last_step(stated) + ITEMS_MAX
    fitting: list[Event] = []
    for thought in thoughts:
        size = len(msgspec.json.encode(_step(number, *text_and_time(thought)))) + 1
        if len(fitting) < steps_left and size <= free_bytes:
            fitting.append(thought)
            free_bytes -= size
    return fitting


def _line_bytes(decision: DecisionRecorded, source: str, key: str | None) -> int:
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


def append_steps(decision: DecisionRecorded, thoughts: Sequence[Event]) -> DecisionRecorded:
    """Return the decision with thoughts as the last steps of its deliberation."""
    if not thoughts:
        return decision
    extended = _with_later_thoughts(decision.deliberation, [text_and_time(thought) for thought in thoughts])
    if decision.deliberation is None and len(thoughts) > 1:
        moments = [thought.moment for thought in thoughts]
        duration_ms = round((max(moments) - min(moments)).total_seconds() * 1000)
        extended = structs.replace(extended, total_duration_ms=duration_ms)
    return structs.replace(decision, deliberation=extended)


def _with_later_thoughts(deliberation: Deliberation | None, thoughts: Sequence[tuple[str, str]]) -> Deliberation:
    """Return a deliberation with further steps: texts and times."""
    stated = deliberation if deliberation is not None else Deliberation()
    steps = [_step(number, text, time) for number, (text, time) in enumerate(thoughts, last_step(stated) + 1)]
    return structs.replace(stated, steps=(*stated.steps, *steps))


def _step(number: int, text: str, time: str) -> DeliberationStep:
    return DeliberationStep(step=number, thought=text, timestamp=time, type=STEP_TYPE)


def text_and_time(thought: Event) -> tuple[str, str]:
    """Return the text and the time of a thought."""
    assert isinstance(thought.data, ThoughtRecorded)
    return thought.data.text, thought.time
