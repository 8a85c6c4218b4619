"""The registry of event types: payload, stream, life in the stream, decoders, and upcasters of old versions."""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial, reduce
from operator import or_
from typing import Any, TypeVar

import msgspec

from events.decision import DecisionAmended, DecisionAsked, DecisionRecorded, DecisionReviewed, DecisionThought
from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.discovery import DiscoveryAttempted, DiscoveryFinished, DiscoverySignalled, DiscoveryStarted
from events.envelope import Draft, Event, EventFacts
from events.errors import InvalidEvent
from events.evaluation import EvalFinished, EvalScenarioCaptured, EvalScenarioRevised, EvalScored, EvalStarted
from events.evidence import EvidenceErased, EvidenceStored
from events.limits import STREAM_ID_CHARS_MAX
from events.model import ModelAliased, ModelRegistered
from events.payload import Payload
from events.probe import ProbeScored
from events.thought import ThoughtAdopted, ThoughtRecorded

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

    @property
    def begins(self) -> bool:
        return self in (Life.OPENS, Life.SINGLE)

    @property
    def ends(self) -> bool:
        return self in (Life.CLOSES, Life.SINGLE)


class EventType:
    """One event type: its name, payload, stream and life, and the envelope structs made for it."""

    def __init__(self, name: str, payload: type[Payload], stream: str, id_field: str, life: Life) -> None:
        self.name = name
        self.payload = payload
        self.stream = stream
        self.id_field = id_field
        self.life = life
        self.begins = life.begins
        self.ends = life.ends
        self.draft = self._envelope(Draft)
        self.event = self._envelope(Event)
        self.fact = self._envelope(EventFacts)

    def _envelope(self, base: type[_Envelope]) -> type[_Envelope]:
        envelope = msgspec.defstruct(
            f"{self.payload.__name__}{base.__name__}",
            [("data", self.payload)],
            bases=(base,),
            tag=self.name,
            kw_only=True,
            module=__name__,
        )
        envelope.name = self.name  # type: ignore[attr-defined]
        return envelope  # type: ignore[return-value]

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


class Vocabulary:
    """A set of event types, with decoders for the drafts of clients and for stored lines.

    `upcasters` maps the name of an old type to the function that makes the next version's payload. Reading applies
    them until the version is current, so that folds know only current shapes. The stored bytes do not change.
    """

    def __init__(self, event_types: Iterable[EventType], upcasters: Mapping[str, Upcaster] | None = None) -> None:
        self.event_types = {event_type.name: event_type for event_type in event_types}
        self.type_names = tuple(self.event_types)
        self._upcasters = dict(upcasters or {})
        self._by_payload = {event_type.payload: event_type for event_type in self.event_types.values()}
        drafts: Any = reduce(or_, (event_type.draft for event_type in self.event_types.values()))
        events: Any = reduce(or_, (event_type.event for event_type in self.event_types.values()))
        facts: Any = reduce(or_, (event_type.fact for event_type in self.event_types.values()))
        self._fact = msgspec.json.Decoder(facts)
        self._draft = msgspec.json.Decoder(drafts)
        self._drafts = msgspec.json.Decoder(list[drafts])
        self._event = msgspec.json.Decoder(events)

    def draft(self, body: bytes) -> Draft:
        """Decode one event as a client posts it. Errors: MalformedInput, InvalidEvent with its field."""
        try:
            draft: Draft = self._draft.decode(body)
        except DECODE_ERRORS as error:
            raise explain_decode_error(error, self.type_names) from None
        return draft

    def drafts(self, body: bytes) -> list[Draft]:
        """Decode a JSON array of events. Errors: as `draft`, with the index of the event."""
        try:
            drafts: list[Draft] = self._drafts.decode(body)
        except DECODE_ERRORS as error:
            raise explain_decode_error(error, self.type_names) from None
        return drafts

    def draft_lines(self, body: bytes) -> list[Draft]:
        """Decode NDJSON, one event a line. Errors: as `draft`, with the 0-based index of the event."""
        try:
            drafts: list[Draft] = self._draft.decode_lines(body)
        except DECODE_ERRORS as error:
            self._refuse_line(body)
            raise explain_decode_error(error, self.type_names) from None
        return drafts

    def _refuse_line(self, body: bytes) -> None:
        """Decode line by line and raise the error of the first wrong line."""
        lines = [line for line in body.split(b"\n") if line.strip()]
        for index, line in enumerate(lines):
            try:
                self._draft.decode(line)
            except DECODE_ERRORS as error:
                raise explain_decode_error(error, self.type_names, index) from None

    def stored(self, line: bytes) -> Event:
        """Decode one stored line in the version in which it was written."""
        event: Event = self._event.decode(line)
        return event

    def event(self, line: bytes) -> Event:
        """Decode one stored line, upcast to the current version."""
        return self._current(self.stored(line))

    def events(self, lines: bytes) -> list[Event]:
        """Decode stored lines (NDJSON), each upcast to the current version."""
        events: list[Event] = self._event.decode_lines(lines)
        return [self._current(event) for event in events] if self._upcasters else events

    def facts(self, lines: bytes) -> list[EventFacts]:
        """Decode the attributes that a fold needs of stored lines (NDJSON), upcast to the current version."""
        facts: list[EventFacts] = self._fact.decode_lines(lines)
        return [self._current(fact) for fact in facts] if self._upcasters else facts

    def _current(self, fact: _Fact) -> _Fact:
        while (upcast := self._upcasters.get(fact.name)) is not None:
            data = upcast(fact.data)
            event_type = self._by_payload[type(data)]
            envelope: Any = event_type.event if isinstance(fact, Event) else event_type.fact
            attributes = {name: getattr(fact, name) for name in fact.__struct_fields__}
            fact = envelope(**{**attributes, "data": data})
        return fact


_decision = partial(EventType, stream="decision", id_field="decision_id")
_thought = partial(EventType, stream="thought", id_field="thought_id")
_discovery = partial(EventType, stream="discovery", id_field="run_id")
_model = partial(EventType, stream="model", id_field="key")
_evidence = partial(EventType, stream="evidence", id_field="digest")
_scenario = partial(EventType, stream="scenario", id_field="scenario_id")
_evaluation = partial(EventType, stream="evaluation", id_field="run_id")

VOCABULARY = Vocabulary(
    [
        _decision("decision.recorded.v1", DecisionRecorded, life=Life.OPENS),
        _decision("decision.amended.v1", DecisionAmended, life=Life.CONTINUES),
        _decision("decision.thought.v1", DecisionThought, life=Life.CONTINUES),
        _decision("decision.asked.v1", DecisionAsked, life=Life.CONTINUES),
        _decision("decision.reviewed.v1", DecisionReviewed, life=Life.CONTINUES),
        _thought("thought.recorded.v1", ThoughtRecorded, life=Life.OPENS),
        _thought("thought.adopted.v1", ThoughtAdopted, life=Life.CLOSES),
        _discovery("discovery.started.v1", DiscoveryStarted, life=Life.OPENS),
        _discovery("discovery.attempted.v1", DiscoveryAttempted, life=Life.CONTINUES),
        _discovery("discovery.signalled.v1", DiscoverySignalled, life=Life.CONTINUES),
        _discovery("discovery.finished.v1", DiscoveryFinished, life=Life.CLOSES),
        _model("model.registered.v1", ModelRegistered, life=Life.OPENS),
        _model("model.aliased.v1", ModelAliased, life=Life.CONTINUES),
        EventType("probe.scored.v1", ProbeScored, stream="probe", id_field="score_id", life=Life.SINGLE),
        _scenario("eval.scenario_captured.v1", EvalScenarioCaptured, life=Life.OPENS),
        _scenario("eval.scenario_revised.v1", EvalScenarioRevised, life=Life.CONTINUES),
        _evaluation("eval.started.v1", EvalStarted, life=Life.OPENS),
        _evaluation("eval.scored.v1", EvalScored, life=Life.CONTINUES),
        _evaluation("eval.finished.v1", EvalFinished, life=Life.CLOSES),
        _evidence("evidence.stored.v1", EvidenceStored, life=Life.OPENS),
        _evidence("evidence.erased.v1", EvidenceErased, life=Life.CLOSES),
    ]
)
"""The event types of this version of Tallystick."""
