"""From a decoder's complaint to an answer a person can act on: what, in which field, of which event, and what to do."""

import re
from collections.abc import Collection
from difflib import get_close_matches

import msgspec

from events.errors import InvalidEvent, MalformedInput

UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What a JSON decoder raises of bytes of others: no JSON, no text, or nested too deep."""

LEDGER_SETS = frozenset({"position", "recordedtime", "streamversion"})

SHOWN_CHARS_MAX = 80
"""Characters of a wrong value that an answer repeats."""

_place = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?$", re.DOTALL)
_path = re.compile(r"^\$(?:\[(?P<index>\d+)\])?\.?(?P<field>.*)$")
_named = re.compile(r"field `(?P<name>[^`]+)`")


def refuse(
    error: Exception, types: Collection[str], index: int | None = None, fields: Collection[str] = ()
) -> InvalidEvent:
    """The error to raise for what a decoder raised.

    `types` are the known type names; `index` is the event's place where the decoder saw one event of many. `fields`
    are those of what is no event, but a request of its own.
    """
    if not isinstance(error, msgspec.ValidationError):
        return MalformedInput(
            f"Not well-formed JSON: {error}.",
            "Send UTF-8 JSON; NaN and Infinity are not JSON numbers. Nothing was written.",
            index=index,
        )
    match = _place.match(str(error))
    assert match is not None
    what, path = match["what"], _path.match(match["path"] or "$")
    assert path is not None
    field = path["field"].rstrip(".")
    at = int(path["index"]) if path["index"] is not None else index
    if named := _named.search(what):
        field = f"{field}.{named['name']}".lstrip(".")
    detail, advice = _explain(what, field, types, fields)
    return InvalidEvent(detail, f"{advice} Nothing was written.", field=field or None, index=at)


def _explain(what: str, field: str, types: Collection[str], fields: Collection[str]) -> tuple[str, str]:
    if field == "type" and what.startswith("Invalid value"):
        given = what.removeprefix("Invalid value ")
        near = get_close_matches(given.strip("'"), types, n=1, cutoff=0.5)
        hint = f"Did you mean '{near[0]}'?" if near else f"Known types: {', '.join(sorted(types))}."
        shown = given if len(given) <= SHOWN_CHARS_MAX else f"{given[:SHOWN_CHARS_MAX]}…'"
        return f"type {shown} is not in the vocabulary.", hint
    if what.startswith("Object contains unknown field"):
        if field in LEDGER_SETS:
            return f"{field} is set by the ledger.", "Leave it out."
        if fields:
            return f"{field} is not a field here.", f"Leave it out, or choose of: {', '.join(fields)}."
        return f"{field} is not a field of this event.", "Leave it out, or see `tallystick schema` for its name."
    if what.startswith("Object missing required field"):
        return (
            f"{field} is required and missing.",
            "Add it." if fields else "Add it; `tallystick schema` shows its type.",
        )
    return f"{field or ('the body' if fields else 'the event')}: {what[0].lower()}{what[1:]}.", "Correct the value."
