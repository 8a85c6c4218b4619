"""Arguments that a client wrote in another form of their type: as JSON in a text, or a whole number as 42.0.

Some clients write every list, object, number and boolean as text, which the model that uses them cannot mend.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from events.allowed_values import members_of

TEXTS_MAX = 100
"""Values of one call that are read again."""

_Params = TypeVar("_Params", bound=msgspec.Struct)

_refused = re.compile(r"Expected `[^`]+`, got `(?:str|float)` - at `\$\.(?P<path>[^`]+)`")
_step = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def convert_arguments(arguments: Mapping[str, Any], params: type[_Params]) -> tuple[_Params, Mapping[str, Any]]:
    """Return the parameters of a call, and its arguments as they were read. Errors: msgspec.ValidationError."""
    arguments = {name: _object_of(value) if name in _either(params) else value for name, value in arguments.items()}
    first: msgspec.ValidationError | None = None
    for _ in range(TEXTS_MAX):
        try:
            return msgspec.convert(arguments, params), arguments
        except msgspec.ValidationError as error:
            first = first or error
            found = _refused.match(str(error))
            if found is None or not _read_again(arguments, found["path"]):
                raise
    assert first is not None
    raise first


def _either(params: type[msgspec.Struct]) -> set[str]:
    """Return the names of parameters that are an object or a word: a text with a JSON object in it is the object."""
    return {
        known.encode_name
        for known in msgspec.structs.fields(params)
        if {inspect.StructType, inspect.LiteralType} <= {*map(type, members_of(inspect.type_info(known.type)))}
    }


def _object_of(value: object) -> object:
    """Return the JSON object in a text; anything else as it is."""
    read = _json_of(value)
    return read if isinstance(read, dict) else value


def _read_again(arguments: dict[str, Any], path: str) -> bool:
    """Replace the value at a path by the value that its text has as JSON, or by its whole number; say if it could."""
    place: Any = arguments
    steps = [int(index) if index else name for index, name in _step.findall(path)]
    for step in steps[:-1]:
        place[step] = type(place[step])(place[step])  # a copy: the caller's arguments stay as they are
        place = place[step]
    value = place[steps[-1]]
    read: object = int(value) if isinstance(value, float) and value.is_integer() else _json_of(value)
    if read is None or isinstance(read, str):
        return False
    place[steps[-1]] = read
    return True


def _json_of(value: object) -> object:
    """Return the value that a text has as JSON; None if it is not JSON, or no text."""
    if not isinstance(value, str):
        return None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
