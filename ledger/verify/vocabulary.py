"""Hold each line to the vocabulary: its bytes must be those that the log writes for a valid event.

The lines of one type on a page are decoded and encoded again in one call each, and the bytes compared. That finds
unknown types and fields, values out of range, keys that occur twice, another order and another encoding. Only the lines
of a page that differs are examined one by one.
"""

import json
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Literal

import msgspec

from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.envelope import ZEROED_TIME, Line, encode_extended_line, is_timestamp, zeroed
from events.errors import InvalidEvent
from events.extensions import ExtensionValue, check_added_attributes
from events.vocabulary import EventType, Vocabulary
from ledger.verify.findings import Check

SOURCE_PREFIX = "/agents/"

SECOND_CHARS = 19
"""Length of `2026-11-21T08:30:00`."""

_whole_number = re.compile(rb"(?<=[:,\[])(-?[0-9]+)\.0(?=[,}\]])")
_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encode_lines = msgspec.json.Encoder().encode_lines


class VocabularyCheck:
    """Checks that lines are valid events, each in the form and under the subject that an append gives it."""

    def __init__(self, check: Check, vocabulary: Vocabulary) -> None:
        self._check = check
        self._vocabulary = vocabulary
        self._decoders = {name: _line_decoder(event_type) for name, event_type in vocabulary.event_types.items()}

    def add(self, lines: Sequence[bytes], types: Sequence[str], positions: Sequence[int]) -> None:
        """Check the next lines, of the given types, at the given positions."""
        self._check.count += len(lines)
        groups: dict[str, list[int]] = {}
        for index, name in enumerate(types):
            groups.setdefault(name, []).append(index)
        faults: list[tuple[int, str]] = []
        for name, indexes in groups.items():
            chosen = [lines[index] for index in indexes]
            if not self._right(name, chosen):
                for index, line in zip(indexes, chosen, strict=True):
                    if (detail := self._describe(name, line)) is not None:
                        faults.append((positions[index], detail))
        for position, detail in sorted(faults):
            self._check.fault(f"position {position:,}: {detail}", position)

    def _right(self, name: str, lines: Sequence[bytes]) -> bool:
        """Return whether all lines of a type are right. After False, some may be right nevertheless."""
        if name not in self._decoders:
            return False
        joined = b"\n".join(lines)
        try:
            events = self._decoders[name].decode_lines(joined)
        except DECODE_ERRORS:
            return False
        if len(events) != len(lines) or _encode_lines(events) != joined + b"\n":
            return False
        return _envelopes_right(self._vocabulary.event_types[name], events)

    def _describe(self, name: str, line: bytes) -> str | None:
        """Return what is wrong with a line; None if nothing is."""
        if name not in self._decoders:
            return f"the type {name[:80]!r} is not in the vocabulary; a newer Tallystick may know it."
        try:
            event, extensions = _decode_extended(self._decoders[name], line)
        except DECODE_ERRORS as error:
            return explain_decode_error(error, self._vocabulary.type_names).detail
        except InvalidEvent as error:
            return error.detail
        canonical = encode_extended_line(event, extensions) if extensions else msgspec.json.encode(event)
        return _form_fault(line, canonical) or _envelope_fault(self._vocabulary.event_types[name], event)


def _line_decoder(event_type: EventType) -> "msgspec.json.Decoder[Any]":
    """Return a decoder of the lines of a type: the attributes in their order, and none besides them."""
    form = msgspec.defstruct(
        f"{event_type.payload.__name__}Line",
        [("specversion", Literal["1.0"]), ("type", Literal[event_type.name]), ("data", event_type.payload)],
        bases=(Line,),
        kw_only=True,
        frozen=True,
        omit_defaults=True,
        forbid_unknown_fields=True,
    )
    return msgspec.json.Decoder(form)


def _decode_extended(decoder: "msgspec.json.Decoder[Any]", line: bytes) -> tuple[Line, dict[str, ExtensionValue]]:
    """Return a line without its extension attributes, and these. Errors: DECODE_ERRORS, InvalidEvent."""
    attributes = _attributes.decode(line)
    plain = {name: value for name, value in attributes.items() if name in Line.__struct_fields__}
    if len(plain) == len(attributes):
        return decoder.decode(line), {}
    others = {name: value for name, value in attributes.items() if name not in plain}
    return decoder.decode(msgspec.json.encode(plain)), check_added_attributes(others).extensions


def _form_fault(line: bytes, canonical: bytes) -> str | None:
    """Return how a line differs from the encoding of its event; `1` and `1.0` are the same number."""
    if line == canonical or _whole_number.sub(rb"\1", line) == _whole_number.sub(rb"\1", canonical):
        return None
    twice: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> list[tuple[str, object]]:
        keys = [key for key, _ in items]
        twice.extend(key for key in keys if keys.count(key) > 1)
        return items

    actual, expected = json.loads(line, object_pairs_hook=pairs), json.loads(canonical, object_pairs_hook=pairs)
    if twice:
        return f"the key {twice[0][:80]!r} occurs twice."
    if actual != expected:
        return "its keys are not those that the log writes for this event, in that order."
    return "its values are right, but not encoded as the log encodes them."


def _envelopes_right(event_type: EventType, events: Sequence[Line]) -> bool:
    """Return whether `_envelope_fault` finds nothing in any event, in a third of the time."""
    prefix, stream_id = f"{event_type.stream}/", attrgetter(f"data.{event_type.id_field}")
    versions, times = [event.streamversion for event in events], [event.time for event in events]
    ids = [event.id for event in events]
    return (
        [event.subject for event in events] == [f"{prefix}{id_}" for id_ in map(stream_id, events)]
        and (event_type.begins or 1 not in versions)
        and (event_type.follows or versions.count(1) == len(versions))
        and zeroed("\n".join(times)) == b"\n".join([ZEROED_TIME] * len(times))
        and all(map(is_timestamp, {f"{time[:SECOND_CHARS]}.000000Z" for time in set(times)}))
        and all(ids)
        and "".join(ids).isprintable()
        and all(source.startswith(SOURCE_PREFIX) for source in {event.source for event in events})
    )


def _envelope_fault(event_type: EventType, event: Line) -> str | None:
    """Return what is wrong with the attributes of an event whose payload is valid."""
    stream_id = getattr(event.data, event_type.id_field)
    if event.subject != f"{event_type.stream}/{stream_id}":
        return f"the subject {event.subject[:80]!r} is not the stream of its payload, {event_type.stream}/{stream_id}."
    if not (event_type.begins if event.streamversion == 1 else event_type.follows):
        if event_type.begins:
            return f"{event_type.name} must be the first event of {event.subject}; it is number {event.streamversion}."
        return f"{event_type.name} is the first event of {event.subject}, which is not open before it."
    if not is_timestamp(event.time):
        return f"time {event.time[:80]!r} is not a time as the log writes it."
    if not event.id.isprintable() or not event.id:
        return f"the id {event.id[:80]!r} is empty, or has characters that are not printable."
    if not event.source.startswith(SOURCE_PREFIX) and event.source != getattr(event.data, "own_source", None):
        return f"the source {event.source[:80]!r} does not name an agent."
    return None
