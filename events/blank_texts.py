"""The rule about texts of blanks: what is stated says something; surrounding blanks are kept."""

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from events.errors import InvalidEvent


def check_texts(payload: msgspec.Struct, index: int) -> None:
    """Check that no text or label of a payload holds only blanks. Errors: InvalidEvent, naming the field."""
    for name in _texts_of(type(payload)):
        value: Any = getattr(payload, name)
        if value and (value.isspace() if type(value) is str else any(map(str.isspace, value))):
            advice = "Write a text, or leave it out."
            raise InvalidEvent(f"data.{name}: it holds only blanks.", advice, field=f"data.{name}", index=index)


@cache
def _texts_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the names of the fields of a payload that are texts, or lists of them, which cannot be empty."""
    return tuple(field.name for field in msgspec.structs.fields(kind) if _is_text(inspect.type_info(field.type)))


def _is_text(shape: inspect.Type) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(map(_is_text, shape.types))
    if isinstance(shape, inspect.VarTupleType):
        return _is_text(shape.item_type)
    return isinstance(shape, inspect.StrType) and shape.min_length == 1
