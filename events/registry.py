"""The registry of event types: payload, stream, life in the stream, decoders, and upcasters of old versions."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial, reduce
from operator import or_
from typing import Any, TypeVar

import msgspec

from events.alert import AlertCheckpointUnsigned, AlertDriftDetected, AlertGateJudged, AlertReviewOverdue
from events.breaker import BreakerReset, BreakersConfigured
from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionRecorded,
    DecisionRecordedV1,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
)
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, DiscoveryStarted
from events.draft_decoder import DraftDecoder
from events.envelope import Draft, Event, EventFacts
from events.errors import InvalidEvent
from events.evaluation import (
    EvalFinished,
    EvalScenarioCaptured,
    EvalScenarioRevised,
    EvalScored,
    EvalScoredV1,
    EvalStarted,
)
from events.evidence import EvidenceErased, EvidenceStored
from events.extensions import AddedAttributes
from events.guardrail import GuardrailEvaluated, GuardrailRetired, GuardrailSet
from events.limits import STREAM_ID_CHARS_MAX
from events.link import DecisionLinked
from events.model import ModelAliased, ModelRegistered
from events.observation import AttestationRecorded, ObservationRecorded
from events.payload import Payload
from events.probe import ProbeScored, ProbeScoredV1
from events.thought import ThoughtAdopted, ThoughtRecorded, ThoughtTracked
from events.vector import DecisionEmbedded, ThoughtEmbedded
from events.webhook import WebhookAbandoned, WebhookDelivered, WebhookEnded, WebhookStarted

Upcaster = Callable[[Any], Payload]
"""A pure, total function from the payload of one version to the payload of the next."""

_Envelope = TypeVar("_Envelope", Draft, Event, EventFacts)
_Fact = TypeVar("_Fact", bound=EventFacts)
_stream_id = re.compile(rf"[A-Za-z0-9._-]{{1,{STREAM_ID_CHARS_MAX}}}")


class Life(Enum):
    """The place that a type may have in its stream."""

    OPENS = "opens"
    """The first event, once."""
    CONTINUES = "continues"
    """Any later event, while the stream is open."""
    CLOSES = "closes"
    """The last event."""
    SINGLE = "single"
    """The only event of its stream."""
    REPEATS = "repeats"
    """The first event or any later one, while the stream is open."""

    @property
    def begins(self) -> bool:
        return self in (Life.OPENS, Life.SINGLE, Life.REPEATS)

    @property
    def follows(self) -> bool:
        return self in (Life.CONTINUES, Life.CLOSES, Life.REPEATS)

    @property
    def ends(self) -> bool:
        return self in (Life.CLOSES, Life.SINGLE)


class Author(Enum):
    """Who may append events of a type. The ledger excepts callers that may act for others."""

    ANYONE = "anyone"
    """Any source."""
    OWNER = "owner"
    """The source of the first event of the stream."""
    FIRST = "first"
    """Any source, as long as the stream has no event of this kind; then only the source of that event."""
    SERVER = "server"
    """The server that holds the ledger; no caller."""


class EventType:
    """One event type: its name, payload, stream and life, who may append it, and the envelope structs made for it.

    `linked` names the stream and the field of another stream that must have the same owner. `read_as` is the payload of
    a later version that only adds fields: stored lines are decoded straight into it, which costs nothing.
    """

    def __init__(
        self,
        name: str,
        payload: type[Payload],
        stream: str,
        id_field: str,
        life: Life,
        *,
        by: Author = Author.ANYONE,
        linked: tuple[str, str] | None = None,
        read_as: type[Payload] | None = None,
    ) -> None:
        self.name = name
        self.payload = payload
        self.current = payload if read_as is None else read_as
        """The payload as which a stored event is read."""
        self.stream = stream
        self.id_field = id_field
        self.life = life
        self.by = by
        self.linked = linked
        self.begins = life.begins
        self.follows = life.follows
        self.ends = life.ends
        self.draft = self._envelope(Draft, payload)
        self.extended_draft = self._extended_draft()
        self.event = self._envelope(Event, payload)
        """The struct of a stored event as it was written."""
        self.current_event = self._envelope(Event, self.current)
        """The struct as which a stored event is read, as is `fact`."""
        self.fact = self._envelope(EventFacts, self.current)

    def _envelope(self, base: type[_Envelope], data: type[Payload]) -> type[_Envelope]:
        envelope = msgspec.defstruct(
            f"{self.payload.__name__}{base.__name__}",
            [("data", data)],
            bases=(base,),
            tag=self.name,
            kw_only=True,
            module=__name__,
        )
        envelope.name = self.name  # type: ignore[attr-defined]
        return envelope  # type: ignore[return-value]

    def _extended_draft(self) -> type[Draft]:
        """Make the struct of a draft that has added attributes. No decoder makes it: a client cannot post `added`."""
        return msgspec.defstruct(  # type: ignore[return-value]
            f"{self.payload.__name__}ExtendedDraft",
            [("added", AddedAttributes)],
            bases=(self.draft,),
            tag=self.name,
            kw_only=True,
            module=__name__,
        )

    def stream_id(self, data: Payload) -> str | None:
        """Return the checked stream id of a payload; None where the ledger must make one.

        Errors: InvalidEvent, naming the field.
        """
        value: str | None = getattr(data, self.id_field)
        if value is not None and _stream_id.fullmatch(value) is None:
            raise InvalidEvent(
                f"{self.id_field} {value!r} is not 1..{STREAM_ID_CHARS_MAX} of letters, digits, '.', '_' and '-'.",
                "Choose an id of that shape. Nothing was written.",
                field=f"data.{self.id_field}",
            )
        return value

    def owned_subjects(self, subject: str, data: Payload) -> tuple[str, ...]:
        """Return the streams that must belong to the source of an event that is for owners only."""
        if self.linked is None:
            return (subject,)
        stream, field = self.linked
        return (subject, f"{stream}/{getattr(data, field)}")


class Vocabulary:
    """A set of event types, with decoders for the drafts of clients and for stored lines.

    `upcasters` maps the name of an old type to the function that makes the next version's payload. Reading applies
    them until the version is current, so that folds know only current shapes. A type with `read_as` needs none: its
    lines are decoded as the current shape, under the name with which they were written. The stored bytes do not change.
    """

    def __init__(self, event_types: Iterable[EventType], upcasters: Mapping[str, Upcaster] | None = None) -> None:
        self.event_types = {event_type.name: event_type for event_type in event_types}
        self.type_names = tuple(self.event_types)
        self.first_author_types = tuple(kind.name for kind in self.event_types.values() if kind.by is Author.FIRST)
        self._upcasters = dict(upcasters or {})
        self._by_payload = {event_type.payload: event_type for event_type in self.event_types.values()}
        written: Any = reduce(or_, (event_type.event for event_type in self.event_types.values()))
        events: Any = reduce(or_, (event_type.current_event for event_type in self.event_types.values()))
        facts: Any = reduce(or_, (event_type.fact for event_type in self.event_types.values()))
        self._fact = msgspec.json.Decoder(facts)
        self._drafts = DraftDecoder(
            {name: event_type.draft for name, event_type in self.event_types.items()},
            {name: event_type.extended_draft for name, event_type in self.event_types.items()},
        )
        self._written = msgspec.json.Decoder(written)
        self._event = msgspec.json.Decoder(events)
        self._older = {kind.current: kind for kind in self.event_types.values() if kind.current is not kind.payload}

    def draft(self, body: bytes) -> Draft:
        """Decode one event as a client posts it. Errors: MalformedInput, InvalidEvent with its field."""
        return self._drafts.draft(body)

    def drafts(self, body: bytes) -> list[Draft]:
        """Decode a JSON array of events. Errors: as `draft`, with the index of the event."""
        return self._drafts.drafts(body)

    def draft_lines(self, body: bytes) -> list[Draft]:
        """Decode NDJSON, one event a line. Errors: as `draft`, with the 0-based index of the event."""
        return self._drafts.draft_lines(body)

    def stored(self, line: bytes) -> Event:
        """Decode one stored line in the version in which it was written."""
        event: Event = self._written.decode(line)
        return event

    def event(self, line: bytes) -> Event:
        """Decode one stored line, upcast to the current version."""
        event: Event = self._event.decode(line)
        return self._current(event)

    def events(self, lines: bytes) -> list[Event]:
        """Decode stored lines (NDJSON), each upcast to the current version."""
        events: list[Event] = self._event.decode_lines(lines)
        return [self._current(event) for event in events] if self._upcasters else events

    def facts(self, lines: bytes) -> list[EventFacts]:
        """Decode the attributes that a fold needs of stored lines (NDJSON), upcast to the current version."""
        facts: list[EventFacts] = self._fact.decode_lines(lines)
        return [self._current(fact) for fact in facts] if self._upcasters else facts

    def draft_of(self, data: Payload, **attributes: Any) -> Draft:  # noqa: ANN401 - the attributes of a draft
        """Return the draft of a payload, in the oldest version that can state it.

        A program that knows only the older version can then read what it could always read, and the repetition of a
        post from before an update is still a retry.
        """
        older = self._older.get(type(data))
        if older is None or any(getattr(data, name) is not None for name in added_fields(older)):
            return self._by_payload[type(data)].draft(data=data, **attributes)
        names = older.payload.__struct_fields__
        return older.draft(data=older.payload(**{name: getattr(data, name) for name in names}), **attributes)

    def names_of(self, *payloads: type[Payload]) -> tuple[str, ...]:
        """Return the names of the types whose events are read as these payloads, in every version."""
        return tuple(name for name, kind in self.event_types.items() if kind.current in payloads)

    def _current(self, fact: _Fact) -> _Fact:
        while (upcast := self._upcasters.get(fact.name)) is not None:
            data = upcast(fact.data)
            event_type = self._by_payload[type(data)]
            envelope: Any = event_type.event if isinstance(fact, Event) else event_type.fact
            attributes = {name: getattr(fact, name) for name in fact.__struct_fields__}
            fact = envelope(**{**attributes, "data": data})
        return fact


def added_fields(older: EventType) -> tuple[str, ...]:
    """Return the fields that the version adds as which a type is read. Each is None where it is not stated."""
    first = len(older.payload.__struct_fields__)
    return older.current.__struct_fields__[first:]


_decision = partial(EventType, stream="decision", id_field="decision_id")
_link = partial(EventType, stream="link", id_field="link_id")
_thought = partial(EventType, stream="thought", id_field="thought_id")
_discovery = partial(EventType, stream="discovery", id_field="run_id")
_model = partial(EventType, stream="model", id_field="key")
_probe = partial(EventType, stream="probe", id_field="score_id")
_evidence = partial(EventType, stream="evidence", id_field="digest")
_observation = partial(EventType, stream="observation", id_field="observation_id")
_attestation = partial(EventType, stream="attestation", id_field="attestation_id")
_breakers = partial(EventType, stream="breakers", id_field="config_id")
_reset = partial(EventType, stream="reset", id_field="reset_id")
_scenario = partial(EventType, stream="scenario", id_field="scenario_id")
_evaluation = partial(EventType, stream="evaluation", id_field="run_id")
_guardrail = partial(EventType, stream="guardrail", id_field="guardrail_id")
_check = partial(EventType, stream="check", id_field="check_id")
_alert = partial(EventType, stream="alert", id_field="alert_id", life=Life.SINGLE, by=Author.SERVER)
_webhook = partial(EventType, stream="webhook", id_field="endpoint_id", by=Author.SERVER)

VOCABULARY = Vocabulary(
    [
        _decision("decision.recorded.v1", DecisionRecordedV1, life=Life.OPENS, read_as=DecisionRecorded),
        _decision("decision.recorded.v2", DecisionRecorded, life=Life.OPENS),
        _decision("decision.amended.v1", DecisionAmended, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.thought.v1", DecisionThought, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.asked.v1", DecisionAsked, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.reviewed.v1", DecisionReviewed, life=Life.CONTINUES, by=Author.FIRST),
        _decision("decision.embedded.v1", DecisionEmbedded, life=Life.CONTINUES, by=Author.OWNER),
        _decision("decision.retracted.v1", DecisionRetracted, life=Life.CLOSES, by=Author.OWNER),
        _link("decision.linked.v1", DecisionLinked, life=Life.SINGLE),
        _thought("thought.recorded.v1", ThoughtRecorded, life=Life.OPENS),
        _thought("thought.tracked.v1", ThoughtTracked, life=Life.OPENS),
        _thought("thought.embedded.v1", ThoughtEmbedded, life=Life.CONTINUES, by=Author.OWNER),
        _thought(
            "thought.adopted.v1",
            ThoughtAdopted,
            life=Life.CLOSES,
            by=Author.OWNER,
            linked=("decision", "decision_id"),
        ),
        _discovery("discovery.started.v1", DiscoveryStarted, life=Life.OPENS),
        _discovery("discovery.attempted.v1", DiscoveryAttempted, life=Life.CONTINUES),
        _discovery("discovery.signalled.v1", DiscoverySignalled, life=Life.CONTINUES),
        _discovery("discovery.finished.v1", DiscoveryFinished, life=Life.CLOSES),
        _model("model.registered.v1", ModelRegistered, life=Life.OPENS),
        _model("model.aliased.v1", ModelAliased, life=Life.CONTINUES),
        _probe("probe.scored.v1", ProbeScoredV1, life=Life.SINGLE, read_as=ProbeScored),
        _probe("probe.scored.v2", ProbeScored, life=Life.SINGLE),
        _scenario("eval.scenario_captured.v1", EvalScenarioCaptured, life=Life.OPENS),
        _scenario("eval.scenario_revised.v1", EvalScenarioRevised, life=Life.CONTINUES),
        _evaluation("eval.started.v1", EvalStarted, life=Life.OPENS),
        _evaluation("eval.scored.v1", EvalScoredV1, life=Life.CONTINUES, read_as=EvalScored),
        _evaluation("eval.scored.v2", EvalScored, life=Life.CONTINUES),
        _evaluation("eval.finished.v1", EvalFinished, life=Life.CLOSES),
        _evidence("evidence.stored.v1", EvidenceStored, life=Life.OPENS),
        _evidence("evidence.erased.v1", EvidenceErased, life=Life.CLOSES),
        _guardrail("guardrail.set.v1", GuardrailSet, life=Life.REPEATS),
        _guardrail("guardrail.retired.v1", GuardrailRetired, life=Life.CONTINUES),
        _check("guardrail.evaluated.v1", GuardrailEvaluated, life=Life.SINGLE),
        _observation("observation.recorded.v1", ObservationRecorded, life=Life.SINGLE),
        _attestation("attestation.recorded.v1", AttestationRecorded, life=Life.SINGLE),
        _breakers("breakers.configured.v1", BreakersConfigured, life=Life.SINGLE),
        _reset("breaker.reset.v1", BreakerReset, life=Life.SINGLE),
        _alert("alert.drift_detected.v1", AlertDriftDetected),
        _alert("alert.gate_judged.v1", AlertGateJudged),
        _alert("alert.review_overdue.v1", AlertReviewOverdue),
        _alert("alert.checkpoint_unsigned.v1", AlertCheckpointUnsigned),
        _webhook("webhook.started.v1", WebhookStarted, life=Life.OPENS),
        _webhook("webhook.delivered.v1", WebhookDelivered, life=Life.CONTINUES),
        _webhook("webhook.abandoned.v1", WebhookAbandoned, life=Life.CONTINUES),
        _webhook("webhook.ended.v1", WebhookEnded, life=Life.CLOSES),
    ]
)
"""The event types of this version of Tallystick."""
