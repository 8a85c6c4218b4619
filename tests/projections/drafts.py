"""Drafts of decisions, thoughts and links as agents post them, each by a short name."""

from datetime import datetime
from itertools import count

from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
)
from events.envelope import Draft, source_of
from events.link import DecisionLinked, LinkType
from events.payload import Payload
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from tallystick.shapes.decisions import Outcome

_link_numbers = count()


def post(payload: Payload, *, name: str | None = None, agent: str = "ada", time: datetime | None = None) -> Draft:
    """A payload as an agent posts it, on the stream of a name."""
    (kind,) = (kind for kind in VOCABULARY.event_types.values() if kind.payload is type(payload))
    if name is not None:
        fields = {field: getattr(payload, field) for field in payload.__struct_fields__}
        payload = type(payload)(**{**fields, kind.id_field: name})
    return VOCABULARY.draft_of(payload, source=source_of(agent), time=time)


def record(name: str, confidence: float | None = None, *, agent: str = "ada", **more: object) -> Draft:
    """A decision.recorded; `time` among the rest is the envelope's, all else the payload's."""
    time = more.pop("time", None)
    assert time is None or isinstance(time, datetime)
    payload = DecisionRecorded(decision_id=name, decision="ship", confidence=confidence, **more)  # type: ignore[arg-type]
    return post(payload, agent=agent, time=time)


def amend(name: str, **changes: object) -> Draft:
    """A decision.amended."""
    return post(DecisionAmended(decision_id=name, **changes))  # type: ignore[arg-type]


def review(name: str, outcome: Outcome = "success", *, agent: str = "ada", **more: object) -> Draft:
    """A decision.reviewed."""
    return post(DecisionReviewed(decision_id=name, outcome=outcome, **more), agent=agent)  # type: ignore[arg-type]


def retract(name: str, reason: str = "twice", *, agent: str = "ada") -> Draft:
    """A decision.retracted."""
    return post(DecisionRetracted(decision_id=name, reason=reason), agent=agent)


def ask(name: str, question: str) -> Draft:
    """A decision.asked."""
    return post(DecisionAsked(decision_id=name, question=question))


def think(name: str, text: str) -> Draft:
    """A decision.thought."""
    return post(DecisionThought(decision_id=name, text=text))


def ponder(name: str, text: str = "hmm", *, agent: str = "ada", time: datetime | None = None, **scope: str) -> Draft:
    """A thought.recorded; `scope` is what the client states of agent_id and decision_id."""
    return post(ThoughtRecorded(thought_id=name, text=text, **scope), agent=agent, time=time)


def adopt(name: str, decision: str, *, agent: str = "ada") -> Draft:
    """A thought.adopted."""
    return post(ThoughtAdopted(thought_id=name, decision_id=decision), agent=agent)


def link(source: str, target: str, edge_type: LinkType = "relates_to", **more: object) -> Draft:
    """A decision.linked, on a stream of its own."""
    payload = DecisionLinked(source_id=source, target_id=target, edge_type=edge_type, **more)  # type: ignore[arg-type]
    return post(payload, name=f"link{next(_link_numbers)}")
