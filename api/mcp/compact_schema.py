"""JSON Schemas of structs, as short as they can be: a model reads each byte of them before it calls a tool."""

from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from api.type_description import strip_annotations
from events.payload import COUNT_MAX

JsonSchema = dict[str, Any]

_CHECKED_ANYWAY = (
    "$ref", "title", "default", "description", "maxLength", "maxItems", "minLength", "pattern", "format",
    "examples", "additionalProperties", "exclusiveMinimum",
)  # fmt: skip
"""Keywords that a schema does not repeat: the arguments are checked, and a refusal says what is wrong."""

_NULL = {"type": "null"}


@cache
def compact_schema(struct: type[msgspec.Struct], *, nullable: bool) -> JsonSchema:
    """Return the schema of a struct without references; with `nullable`, null where it may be."""
    (schema,), components = msgspec.json.schema_components([struct], ref_template="{name}")
    return _compact(schema, components, nullable)


def _compact(schema: JsonSchema, components: dict[str, JsonSchema], nullable: bool) -> JsonSchema:
    if "$ref" in schema:
        schema = components[schema["$ref"]]
    short = {name: value for name, value in schema.items() if name not in _CHECKED_ANYWAY}
    if "anyOf" in short:
        kept = (member for member in short["anyOf"] if nullable or member != _NULL)
        return _join([_compact(member, components, nullable) for member in kept])
    if "enum" in short:
        short.pop("type", None)
    _shorten_bounds(short)
    if "properties" in short:
        inner = {name: _compact(value, components, nullable) for name, value in short["properties"].items()}
        short["properties"] = inner
        if not short.get("required"):
            short.pop("required", None)
    if isinstance(short.get("items"), dict):
        short["items"] = _compact(short["items"], components, nullable)
        if short["items"] == {"type": "object"}:
            del short["items"]
    return short


def _join(members: list[JsonSchema]) -> JsonSchema:
    """Return the schema of a value that fits one of several."""
    if len(members) == 1:
        return members[0]
    if all(member.keys() == {"type"} for member in members):
        return {"type": [member["type"] for member in members]}
    return {"anyOf": members}


def _shorten_bounds(schema: JsonSchema) -> None:
    """Write bounds as integers, and leave out the one of every count."""
    for bound in ("minimum", "maximum"):
        if bound in schema:
            schema[bound] = int(schema[bound])
    if schema.get("maximum") == COUNT_MAX:
        del schema["maximum"]


def example_value(info: inspect.Type) -> object:
    """Return a value that a type accepts, for the advice of a refusal."""
    if isinstance(info, inspect.UnionType):
        return example_value(next(member for member in info.types if not isinstance(member, inspect.NoneType)))
    if isinstance(info, inspect.Metadata) and (stated := info.extra_json_schema):
        for values in filter(None, (stated.get("examples"), stated.get("enum"))):
            return values[0]
    return _plain_example(info)


def _plain_example(info: inspect.Type) -> object:
    match strip_annotations(info):
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.FloatType():
            return 0.8
        case inspect.IntType(ge=low):
            return max(low or 0, 1)
        case inspect.BoolType():
            return True
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return [example_value(item)]
        case inspect.StructType(fields=fields):
            return {field.encode_name: example_value(field.type) for field in fields if field.required}
        case inspect.DictType():
            return {}
        case _:
            return "text"
