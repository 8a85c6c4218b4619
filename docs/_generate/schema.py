"""JSON Schema in words: the type of a field, with its range."""

from collections.abc import Container, Mapping
from typing import Any

from docs._generate.markdown import code
from docs._generate.program import COUNT_MAX

Schema = Mapping[str, Any]

_LISTED_MAX = 16
"""More values than this are the types of the vocabulary, which have a page of their own."""

_formats = {"date-time": "time", "date": "date", "binary": "bytes", "uri": "address"}


def words(schema: Schema, headings: Container[str] = ()) -> str:
    """Describe what a schema admits: `number, 0 to 1`; a struct by its name, linked where the page has its heading."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{code(name)}](#{name.lower()})" if name in headings else code(name)
    if "enum" in schema:
        if len(schema["enum"]) > _LISTED_MAX:
            return "event type"
        return ", ".join(code(str(value)) for value in schema["enum"])
    if "const" in schema:
        return code(str(schema["const"]))
    if either := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(words(each, headings) for each in either if each.get("type") != "null"))
    kind = schema.get("type", "any value")
    if isinstance(kind, list):
        kind = " or ".join(each for each in kind if each != "null")
    if kind == "array":
        return f"list{_of(schema.get('items', {}), headings)}{_range(schema, 'Items', 'items')}"
    if kind == "object":
        return f"object{_of(schema.get('additionalProperties') or {}, headings)}"
    if kind == "string":
        return f"{_formats.get(schema.get('format', ''), 'text')}{_range(schema, 'Length', 'characters')}"
    return f"{kind}{_bounds(schema)}"


def default(schema: Schema) -> str:
    """Return a schema's default as text; empty without one."""
    value = schema.get("default")
    return "" if value in (None, [], {}, "") else str(value).lower() if isinstance(value, bool) else str(value)


def _of(items: Any, headings: Container[str]) -> str:  # noqa: ANN401 - a schema, or true
    return f" of {words(items, headings)}" if isinstance(items, Mapping) and items else ""


def _range(schema: Schema, suffix: str, unit: str) -> str:
    least, most = schema.get(f"min{suffix}"), schema.get(f"max{suffix}")
    if most is not None and least == most:
        return f", {most:,} {unit}"
    if most is not None:
        return f", {least or 0} to {most:,} {unit}"
    return f", at least {least} {unit}" if least and least > 1 else ""


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    most = None if most is not None and most >= COUNT_MAX else most
    least = None if least is not None and least <= -COUNT_MAX else least
    if least is not None and most is not None:
        return f", {least:g} to {most:g}"
    if most is not None and (above := schema.get("exclusiveMinimum")) is not None:
        return f", above {above:g} to {most:g}"
    return f", at least {least:g}" if least is not None else ""
