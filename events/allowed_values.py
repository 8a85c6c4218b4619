"""Find the allowed values of an enumeration by its path in a struct, such as `data.reasons[0].type`."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

_step = re.compile(r"\[[^\]]*\]|[^.\[\]]+")


def allowed_values(shape: Any, path: str) -> tuple[str, ...]:  # noqa: ANN401 - any type that msgspec can decode
    """Return the values of the enumeration at a path; none if there is no enumeration."""
    places = [inspect.type_info(shape)]
    for step in _step.findall(path):
        places = [inner for place in places for inner in _inside(place, step)]
    values = (value for place in places for member in _members(place) for value in _values(member))
    return tuple(dict.fromkeys(map(str, values)))


def _members(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types of a union, without annotations."""
    if isinstance(info, inspect.Metadata):
        yield from _members(info.type)
    elif isinstance(info, inspect.UnionType):
        for member in info.types:
            yield from _members(member)
    else:
        yield info


def _inside(info: inspect.Type, step: str) -> Iterator[inspect.Type]:
    """Yield the types of the values at one step inside a value of a type: a field, or an item as `[0]`."""
    for member in _members(info):
        if isinstance(member, inspect.StructType):
            yield from (field.type for field in member.fields if field.encode_name == step)
        elif isinstance(member, inspect.VarTupleType | inspect.ListType) and step.startswith("["):
            yield member.item_type
        elif isinstance(member, inspect.DictType) and step.startswith("["):
            yield member.value_type


def _values(info: inspect.Type) -> tuple[Any, ...]:
    return info.values if isinstance(info, inspect.LiteralType) else ()
