"""Turn a decoder's error into an `InvalidEvent` that names the event and the field and says what to do."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec

from events.allowed_values import allowed_values, field_names
from events.errors import InvalidEvent, MalformedInput
from events.json_check import half_surrogate_error

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of a JSON decoder on a client's bytes: not JSON, not UTF-8, or nested too deeply."""

LEDGER_FIELDS = frozenset({"position", "recordedtime", "streamversion"})
"""Attributes that only the ledger sets."""

SHOWN_CHARS_MAX = 80
"""Characters of a wrong value that a message quotes."""

_JSON_TYPES = {
    "str": "string", "float": "number", "int": "number", "bool": "boolean", "datetime": "string", "bytes": "string",
    "NoneType": "null", "dict": "object", "list": "array", "tuple": "array",
}  # fmt: skip
"""The types of JSON by those of Python that a decoder's message, or the type of a decoded value, names."""

_located = re.compile(r"^(?P<message>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_path = re.compile(r"^\$(?:\[(?P<index>\d+)\])?\.?(?P<field>.*)$")
_types = re.compile(r"`[a-z |]+`")
_type = re.compile(r"[a-z]+")
_enumerated = re.compile(r"^Invalid enum value (?P<value>.*)$", re.DOTALL)
_named_field = re.compile(r"field `(?P<name>[^`]+)`")


def explain_decode_error(
    error: Exception,
    types: Collection[str],
    index: int | None = None,
    fields: Collection[str] = (),
    shape: Any = None,  # noqa: ANN401 - any type that msgspec can decode
    body: bytes | msgspec.Raw = b"",
    whole: str | None = None,
) -> InvalidEvent:
    """Return the error to raise in place of a decoder's error.

    `types` are the known type names. `index` is the event's 0-based place in its batch, if the decoder got that
    event alone. `fields` are the field names of a request that is not an event. `shape` is the type of the event or
    request, if it is known: the values of its enumerations are then listed. `body` is what could not be decoded.
    `whole` names what is decoded, in a message about no field of it; None: the event, or the body of a request.
    """
    if not isinstance(error, msgspec.ValidationError):
        return half_surrogate_error(body, index) or MalformedInput(
            f"Not well-formed JSON: {error}.", "Send UTF-8 JSON; NaN and Infinity are not JSON numbers.", index=index
        )
    located = _located.match(str(error))
    assert located is not None
    message, path = located["message"], _path.match(located["path"] or "$")
    assert path is not None
    field = path["field"].rstrip(".")
    whole = whole or ("the body" if fields else "the event")
    if path["index"] is not None:
        index = int(path["index"])
    if match := _named_field.search(message):
        field = f"{field}.{match['name']}".lstrip(".")
    value = _enumerated.match(message)
    allowed = allowed_values(shape, field) if value is not None and shape is not None else ()
    if value is not None and allowed:
        detail = f"{field}: {_shown(value['value'])} is not an allowed value."
        advice = f"Use one of: {', '.join(allowed)}."
    else:
        inside = field_names(shape, field.rpartition(".")[0]) if "." in field and shape is not None else ()
        detail, advice = _explain(in_json_words(message), field, types, (inside or fields) if fields else (), whole)
        if not fields and message.startswith("Object contains unknown field"):
            near = get_close_matches(field.rpartition(".")[2], inside, n=1)
            advice = f"Did you mean {near[0]}? {advice}" if near else advice
    return InvalidEvent(detail, advice, field=field or None, index=index)


def locate_decode_error(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of a value that does not fit, such as `.config.x` or `[3]`, and what is wrong in JSON words."""
    located = _located.match(str(error))
    assert located is not None
    message = in_json_words(located["message"])
    return (located["path"] or "$")[1:].rstrip("."), f"{message[0].lower()}{message[1:]}"


def in_json_words(message: str) -> str:
    """Replace Python's names of types in a decoder's message by those of JSON: `float | null` by `number | null`."""
    expected, got, found = message.partition(", got ")
    return f"{_rename_types(expected, {**_JSON_TYPES, 'int': 'integer'})}{got}{_rename_types(found, _JSON_TYPES)}"


def json_type(value: object) -> str:
    """Return the JSON type of a decoded value."""
    return _JSON_TYPES[type(value).__name__]


def _rename_types(text: str, names: Mapping[str, str]) -> str:
    return _types.sub(lambda types: _type.sub(lambda name: names.get(name[0], name[0]), types[0]), text)


def _explain(message: str, field: str, types: Collection[str], fields: Collection[str], whole: str) -> tuple[str, str]:
    if field == "type" and message.startswith("Invalid value"):
        value = message.removeprefix("Invalid value ")
        near = get_close_matches(value.strip("'"), types, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known types: {', '.join(sorted(types))}."
        return f"type {_shown(value)} is not in the vocabulary.", hint
    if message.startswith("Object contains unknown field"):
        if field in LEDGER_FIELDS:
            return f"{field} is set by the ledger.", "Leave it out."
        if field.rpartition(".")[2] == "agent" and types:
            detail = f"{field} is not a field of this event: its agent is in the attribute source."
            return detail, 'Write "source": "/agents/NAME" beside "type".'
        if fields:
            near = get_close_matches(field.rpartition(".")[2], fields, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            return f"{field} is not a field here.", f"{hint}Leave it out, or use one of: {', '.join(fields)}."
        return f"{field} is not a field of this event.", "Leave it out, or see `tallystick schema` for its name."
    if message.startswith("Object missing required field"):
        return (
            f"{field} is required and missing.",
            "Add it." if fields else "Add it; `tallystick schema` shows its type.",
        )
    if message.endswith("with a timezone component"):
        return f"{field}: the time has no zone.", "Write Z for UTC, or an offset: 2026-02-05T14:30:00+01:00."
    return f"{field or whole}: {message[0].lower()}{message[1:]}.", "Correct the value."


def _shown(value: str) -> str:
    """Return a quoted value of a client, cut if it is long."""
    return value if len(value) <= SHOWN_CHARS_MAX else f"{value[:SHOWN_CHARS_MAX]}…'"
