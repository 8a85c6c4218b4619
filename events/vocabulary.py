"""Event types and vocabularies of them: payloads, places in streams, decoders, and upcasters of old versions."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from operator import or_
from typing import Any, TypeVar

import msgspec

from events.draft_decoder import DraftDecoder
from events.envelope import Draft, Event, EventFacts
from events.errors import InvalidEvent
from events.extensions import AddedAttributes
from events.life import Author, Life
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE, Payload

Upcaster = Callable[[Any], Payload]
"""A pure, total function from the payload of one version to the payload of the next."""

_Envelope = TypeVar("_Envelope", Draft, Event, EventFacts)
_Fact = TypeVar("_Fact", bound=EventFacts)
_stream_id = re.compile(STREAM_ID_PATTERN)


class EventType:
    """One event type: its name, payload, stream and life, who may append it, and the envelope structs made for it.

    `linked` names the stream and the field of another stream that must have the same owner. `read_as` is the payload of
    a later version that only adds fields or values: stored lines are decoded straight into it, which costs nothing. A
    payload that adds values has `fits_older_version`.
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
        self.reopens = life.reopens

    @cached_property
    def draft(self) -> type[Draft]:
        """The struct of an event before it is stored."""
        return self._envelope(Draft, self.payload)

    @cached_property
    def event(self) -> type[Event]:
        """The struct of a stored event as it was written."""
        return self._envelope(Event, self.payload)

    @cached_property
    def current_event(self) -> type[Event]:
        """The struct as which a stored event is read."""
        return self._envelope(Event, self.current)

    @cached_property
    def fact(self) -> type[EventFacts]:
        """The struct as which a fold reads a stored event."""
        return self._envelope(EventFacts, self.current)

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
        envelope.payload = data  # type: ignore[attr-defined]
        return envelope  # type: ignore[return-value]

    @cached_property
    def extended_draft(self) -> type[Draft]:
        """The struct of a draft that has added attributes. No decoder makes it: a client cannot post `added`."""
        return self._other_draft("ExtendedDraft", [("added", AddedAttributes)])

    @cached_property
    def own_draft(self) -> type[Draft]:
        """The struct of a draft that the ledger itself makes (`Author.LEDGER`). No decoder makes it."""
        return self._other_draft("OwnDraft", [], by_ledger=True)

    def _other_draft(self, ending: str, fields: list[tuple[str, type]], **constants: object) -> type[Draft]:
        name = f"{self.payload.__name__}{ending}"
        return msgspec.defstruct(  # type: ignore[return-value]
            name, fields, bases=(self.draft,), namespace=constants, tag=self.name, kw_only=True, module=__name__
        )

    def stream_id(self, data: Payload) -> str | None:
        """Return the checked stream id of a payload; None where the ledger must make one.

        Errors: InvalidEvent, naming the field.
        """
        value: str | None = getattr(data, self.id_field)
        if value is not None and (len(value) > STREAM_ID_CHARS_MAX or _stream_id.fullmatch(value) is None):
            raise InvalidEvent(
                f"{self.id_field} {value!r} is not {STREAM_ID_SHAPE}.",
                "Choose an id of that shape.",
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
        self._older: dict[type[Payload], list[EventType]] = {}
        for kind in self.event_types.values():
            if kind.current is not kind.payload:
                self._older.setdefault(kind.current, []).append(kind)

    @cached_property
    def _drafts(self) -> DraftDecoder:
        return DraftDecoder(
            {name: event_type.draft for name, event_type in self.event_types.items()},
            {name: event_type.extended_draft for name, event_type in self.event_types.items()},
        )

    @cached_property
    def _written(self) -> "msgspec.json.Decoder[Any]":
        return _decoder(event_type.event for event_type in self.event_types.values())

    @cached_property
    def _event(self) -> "msgspec.json.Decoder[Any]":
        return _decoder(event_type.current_event for event_type in self.event_types.values())

    @cached_property
    def _fact(self) -> "msgspec.json.Decoder[Any]":
        return _decoder(event_type.fact for event_type in self.event_types.values())

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
        older = next((kind for kind in self._older.get(type(data), ()) if _can_state(kind, data)), None)
        if older is None:
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


def _decoder(envelopes: Iterable[type[_Envelope]]) -> "msgspec.json.Decoder[Any]":
    """Return a decoder of lines, each as the struct of its type."""
    union: Any = reduce(or_, envelopes)
    return msgspec.json.Decoder(union)


def _can_state(older: EventType, data: Any) -> bool:  # noqa: ANN401 - a payload of the version as which `older` is read
    """Return whether an older version can state a payload: it states none of the added fields, and no wider value."""
    if any(getattr(data, name) is not None for name in added_fields(older)):
        return False
    return not hasattr(data, "fits_older_version") or bool(data.fits_older_version())


def added_fields(older: EventType) -> tuple[str, ...]:
    """Return the fields that the version adds as which a type is read. Each is None where it is not stated."""
    first = len(older.payload.__struct_fields__)
    return older.current.__struct_fields__[first:]
