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
    values = (value for place in places for member in members_of(place) for value in _values(member))
    return tuple(dict.fromkeys(map(str, values)))


def field_names(shape: Any, path: str) -> tuple[str, ...]:  # noqa: ANN401 - as above
    """Return the names of the fields of the struct at a path; none if there is no struct."""
    places = [inspect.type_info(shape)]
    for step in _step.findall(path):
        places = [inner for place in places for inner in _inside(place, step)]
    structs = (member for place in places for member in members_of(place) if isinstance(member, inspect.StructType))
    return tuple(dict.fromkeys(field.encode_name for struct in structs for field in struct.fields))


def members_of(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types of a union, without annotations."""
    if isinstance(info, inspect.Metadata):
        yield from members_of(info.type)
    elif isinstance(info, inspect.UnionType):
        for member in info.types:
            yield from members_of(member)
    else:
        yield info


def _inside(info: inspect.Type, step: str) -> Iterator[inspect.Type]:
    """Yield the types of the values at one step inside a value of a type: a field, or an item as `[0]`."""
    for member in members_of(info):
        if isinstance(member, inspect.StructType):
            yield from (field.type for field in member.fields if field.encode_name == step)
        elif isinstance(member, inspect.VarTupleType | inspect.ListType) and step.startswith("["):
            yield member.item_type
        elif isinstance(member, inspect.DictType) and step.startswith("["):
            yield member.value_type


def _values(info: inspect.Type) -> tuple[Any, ...]:
    return info.values if isinstance(info, inspect.LiteralType) else ()
