"""Decode the events that clients post.

The strict decoder knows the attributes of `Draft` and is fast. Only what it refuses is decoded again, one event at a
time, to find extension attributes, `data_base64`, a `datacontenttype` with parameters, and what the ledger sets.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from operator import or_
from typing import Any

import msgspec

from events.decode_error_messages import DECODE_ERRORS, LEDGER_FIELDS, explain_decode_error
from events.envelope import Draft
from events.errors import InvalidEvent
from events.extensions import AddedAttributes, check_added_attributes, separate_attributes
from events.json_check import check_json
from events.limits import BATCH_EVENTS_MAX
from events.whole_numbers import may_lack_whole_numbers, write_whole_numbers

ATTRIBUTES = frozenset({"type", *Draft.__struct_fields__})
"""The attributes that the strict decoder knows."""

MISSPELT_RATIO = 0.75
"""Similarity from which an unknown name is taken for a misspelt attribute. Those of CloudEvents' documented extensions
are less similar."""

NOT_EXTENSIONS = frozenset({"agent"})
"""Names that are refused: users mean an attribute of the envelope."""

_attributes = msgspec.json.Decoder(dict[str, msgspec.Raw])
_events = msgspec.json.Decoder(list[msgspec.Raw])
_encode = msgspec.json.Encoder().encode


class _TypeOnly(msgspec.Struct):
    """The one attribute of a draft that says what its others must be."""

    type: str


_type = msgspec.json.Decoder(_TypeOnly)


class DraftDecoder:
    """Decodes drafts of some types. `extended` has the struct of each type for drafts with added attributes."""

    def __init__(self, drafts: Mapping[str, type[Draft]], extended: Mapping[str, type[Draft]]) -> None:
        union: Any = reduce(or_, drafts.values())
        self._types = drafts
        self._type_names = tuple(drafts)
        self._extended = extended
        self._draft = msgspec.json.Decoder(union)
        self._drafts = msgspec.json.Decoder(list[union])

    def draft(self, body: bytes) -> Draft:
        """Decode one event. Errors: MalformedInput, InvalidEvent with its field."""
        try:
            draft: Draft = self._draft.decode(body)
        except DECODE_ERRORS as error:
            draft = self._decode_again(body, error, None)
        check_json(body)
        return draft

    def drafts(self, body: bytes) -> list[Draft]:
        """Decode a JSON array of events. Errors: as `draft`, with the index of the event."""
        try:
            drafts: list[Draft] = self._drafts.decode(body)
        except DECODE_ERRORS as error:
            drafts = self._decode_each(self._events_of(body, error), error)
        for index, event in enumerate(_events.decode(body)):
            check_json(event, index)
        return drafts

    def draft_lines(self, body: bytes) -> list[Draft]:
        """Decode NDJSON, one event a line. Errors: as `draft`, with the 0-based index of the event."""
        try:
            drafts: list[Draft] = self._draft.decode_lines(body)
        except DECODE_ERRORS as error:
            drafts = self._decode_each([line for line in body.split(b"\n") if line.strip()], error)
        for index, line in enumerate(line for line in body.split(b"\n") if line.strip()):
            check_json(line, index)
        return drafts

    def _events_of(self, body: bytes, error: Exception) -> list[msgspec.Raw]:
        """Return the events of an array. Errors: InvalidEvent that explains `error`, if it is not an array."""
        try:
            return _events.decode(body)
        except DECODE_ERRORS:
            raise explain_decode_error(error, self._type_names, body=body) from None

    def _decode_each(self, events: Sequence[bytes | msgspec.Raw], error: Exception) -> list[Draft]:
        """Decode one by one the events that cannot be decoded together because of `error`."""
        if len(events) > BATCH_EVENTS_MAX:
            raise explain_decode_error(error, self._type_names)
        return [self._decode_one(event, index) for index, event in enumerate(events)]

    def _decode_one(self, event: bytes | msgspec.Raw, index: int) -> Draft:
        try:
            draft: Draft = self._draft.decode(event)
        except DECODE_ERRORS as error:
            return self._decode_again(event, error, index)
        return draft

    def _decode_again(self, event: bytes | msgspec.Raw, error: Exception, index: int | None) -> Draft:
        """Decode an event that the strict decoder refused with `error`. Errors: InvalidEvent."""
        try:
            attributes = _attributes.decode(event) if isinstance(error, msgspec.ValidationError) else {}
        except DECODE_ERRORS:
            attributes = {}
        try:
            plain, others, changed = separate_attributes(attributes, ATTRIBUTES)
            draft = self._decode_plain(_encode(plain)) if changed else self._decode_numbers(event, error)
            self._check_names(draft, others.keys() - LEDGER_FIELDS)
            return self._extend(draft, check_added_attributes(others)) if others else draft
        except DECODE_ERRORS as again:
            raise explain_decode_error(again, self._type_names, index, shape=self._shape(event), body=event) from None
        except InvalidEvent as refusal:
            refusal.index = index if refusal.index is None else refusal.index
            raise

    def _shape(self, event: bytes | msgspec.Raw) -> type[Draft] | None:
        """Return the struct of an event that cannot be decoded, by its type; None if that cannot be read."""
        try:
            return self._types.get(_type.decode(event).type)
        except DECODE_ERRORS:
            return None

    def _decode_plain(self, event: bytes) -> Draft:
        """Decode an event that has only the attributes of `Draft`. Errors: DECODE_ERRORS."""
        try:
            draft: Draft = self._draft.decode(event)
        except msgspec.ValidationError as error:
            return self._decode_numbers(event, error)
        return draft

    def _decode_numbers(self, event: bytes | msgspec.Raw, error: Exception) -> Draft:
        """Decode an event again that `error` may refuse because of an integer like `7.0`. Errors: DECODE_ERRORS."""
        if not may_lack_whole_numbers(error):
            raise error
        draft: Draft = self._draft.decode(write_whole_numbers(event))
        return draft

    def _check_names(self, draft: Draft, names: set[str]) -> None:
        """Refuse names that are probably mistakes: of an attribute, or of a field of the payload."""
        for name in sorted(names):
            if name in draft.data.__struct_fields__:
                raise InvalidEvent(
                    f"{name} is a field of the payload, not of the envelope.", "Move it into data.", field=name
                )
            near = get_close_matches(name, ATTRIBUTES | LEDGER_FIELDS, n=1, cutoff=MISSPELT_RATIO)
            if name in NOT_EXTENSIONS or near:
                unknown = msgspec.ValidationError(f"Object contains unknown field `{name}`")
                refusal = explain_decode_error(unknown, self._type_names)
                if near:
                    refusal.advice = f"Did you mean '{near[0]}'? {refusal.advice}"
                raise refusal

    def _extend(self, draft: Draft, added: AddedAttributes) -> Draft:
        return self._extended[draft.name](**msgspec.structs.asdict(draft), added=added)  # type: ignore[call-arg]
