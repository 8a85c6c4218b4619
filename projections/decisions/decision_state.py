"""The current state of one decision with its history, folded from the events of its stream."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec
from msgspec import structs

from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionPreserved,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
)
from events.envelope import Event
from events.registry import VOCABULARY
from tallystick.shapes.decisions import Retraction, Review


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One event in the history of a decision."""

    position: int
    streamversion: int
    type: str
    agent: str
    time: datetime
    data: Any
    """The payload of the event, a struct of its type."""

    def __post_init__(self) -> None:
        if isinstance(self.data, dict):  # it was decoded from the answer of a server
            kind = VOCABULARY.event_types.get(self.type)
            if kind is None:
                raise ValueError(f"{self.type!r} is not an event type")
            structs.force_setattr(self, "data", msgspec.convert(self.data, kind.current))


class DecisionState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The current state of a decision. `decision` has the recorded fields with every amendment applied.

    `confidence_at_review` is the confidence just before the first review, which calibration uses; None without a
    review. `question` is the question that the decision answers, if one was stated. `retracted` is present only if the
    decision was retracted. `superseded_by` are the decisions linked as superseding it; the fold of one stream does not
    know them. `preserve` is present, and true, only if views that shorten old decisions show this one in full.
    """

    decision_id: str
    agent: str
    recorded_at: datetime
    updated_at: datetime
    position: int
    streamversion: int
    decision: DecisionRecorded
    question: str | None = None
    review: Review | None = None
    confidence_at_review: float | None = None
    thoughts: tuple[str, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    retracted: Retraction | None = None
    superseded_by: tuple[str, ...] = ()
    preserve: bool = False


def fold_decision(events: Iterable[Event]) -> DecisionState | None:
    """Fold the events of one decision, oldest first; return None without events."""
    state: DecisionState | None = None
    history: list[HistoryEntry] = []
    thoughts: list[str] = []
    for event in events:
        history.append(_entry(event))
        if isinstance(event.data, DecisionThought):
            thoughts.append(event.data.text)
        previous = state if state is not None else _open(event)
        changes = _changes(previous, event)
        state = structs.replace(previous, updated_at=event.moment, streamversion=event.streamversion, **changes)
    if state is None:
        return None
    return structs.replace(state, history=tuple(history), thoughts=tuple(thoughts))


def _open(event: Event) -> DecisionState:
    data = event.data
    assert isinstance(data, DecisionRecorded), "a decision opens with decision.recorded"
    return DecisionState(
        decision_id=data.decision_id or "",
        agent=event.agent,
        recorded_at=event.moment,
        updated_at=event.moment,
        position=event.position,
        streamversion=event.streamversion,
        decision=data,
    )


def _changes(state: DecisionState, event: Event) -> dict[str, Any]:
    data = event.data
    if isinstance(data, DecisionAmended):
        return {"decision": apply_amendment(state.decision, data)}
    if isinstance(data, DecisionAsked):
        return {"question": data.question}
    if isinstance(data, DecisionPreserved):
        return {"preserve": data.preserve}
    if isinstance(data, DecisionRetracted):
        return {"retracted": Retraction(at=event.moment, by=event.agent, reason=data.reason)}
    if isinstance(data, DecisionReviewed):
        fields = {name: getattr(data, name) for name in data.__struct_fields__ if name != "decision_id"}
        review = Review(reviewed_at=event.moment, reviewed_by=event.agent, **fields)
        first = state.review is None
        return {
            "review": review,
            "confidence_at_review": state.decision.confidence if first else state.confidence_at_review,
        }
    return {}


def apply_amendment(recorded: DecisionRecorded, amendment: DecisionAmended) -> DecisionRecorded:
    """Return a recorded decision with an amendment applied."""
    values = {name: getattr(amendment, name) for name in amendment.__struct_fields__ if name != "decision_id"}
    return structs.replace(recorded, **{name: value for name, value in values.items() if value is not None})


def _entry(event: Event) -> HistoryEntry:
    return HistoryEntry(
        position=event.position,
        streamversion=event.streamversion,
        type=event.name,
        agent=event.agent,
        time=event.moment,
        data=event.data,
    )
