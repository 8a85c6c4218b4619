"""The reference of the event types, from the vocabulary: each type's place in its stream and its fields."""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from docs._generate import docstrings, schema
from docs._generate.markdown import code, joined, prose, table
from docs._generate.program import VOCABULARY, vocabulary_schema

_places = {
    "opens": "First event of the stream {}.",
    "continues": "Any event after the first of the stream {}, while it is open.",
    "closes": "Last event of the stream {}, unless a later one reopens it.",
    "reopens": "Event of the stream {} after its last one: others can follow it again.",
    "repeats": "Any event of the stream {}, also its first, while it is open.",
    "single": "The only event of the stream {}.",
}
_authors = {
    "anyone": "",
    "owner": " Only the owner of the stream may append it.",
    "first": " After the first one, only its author may append another.",
    "observer": " Only a caller with the scope `observe` appends it.",
    "reviewer": " Only a caller whose token may review appends it.",
    "admin": " Only a caller with the scope `admin` appends it.",
    "ledger": " The ledger appends it, as it does what a caller asks.",
    "importer": " The ledger appends it, as it does what a caller asks; so may a caller with the scope `import`.",
    "server": " Only the server appends it.",
}
_source = re.compile(r"\s*Source: (.+?)\.?$", re.DOTALL)


def reference() -> str:
    """Return every type with its fields, and every part that fields are made of."""
    shapes = vocabulary_schema()["$defs"]
    types = [_type(kind, shapes) for kind in VOCABULARY.event_types.values()]
    payloads = {kind.payload.__name__ for kind in VOCABULARY.event_types.values()}
    parts = [
        joined([f"### {code(name)}", prose(_about(part)), _fields(part, shapes[name])])
        for name, part in sorted(_parts().items())
        if name in shapes and name not in payloads
    ]
    return joined([*types, "## Parts of payloads", *parts])


def _type(kind: Any, shapes: Mapping[str, Any]) -> str:  # noqa: ANN401 - the vocabulary's Kind
    return joined(
        [
            f"### {code(kind.name)}",
            f"{prose(_about(kind.payload))} {_place(kind)}",
            _fields(kind.payload, shapes[kind.payload.__name__]),
        ]
    )


def _place(kind: Any) -> str:  # noqa: ANN401 - as `_type`
    return _places[kind.life.value].format(code(f"{kind.stream}/{kind.id_field}")) + _authors[kind.by.value]


def _about(kind: type) -> str:
    return inspect.getdoc(kind) or ""


def _fields(kind: type, shape: Mapping[str, Any]) -> str:
    docs = docstrings.of_fields(kind)
    needed = shape.get("required", ())
    rows = (
        [code(name), schema.words(each), "yes" if name in needed else "", *_meaning(docs.get(name, ""), each)]
        for name, each in shape.get("properties", {}).items()
        if name != "type" or "const" not in each
    )
    return table(["field", "type", "required", "what it means", "source"], rows)


def _meaning(text: str, shape: Mapping[str, Any]) -> Iterator[str]:
    text = text or str(shape.get("description", ""))
    source = _source.search(text)
    yield prose(_source.sub("", text) if source else text)
    yield prose(source[1]) if source else ""


def _parts() -> dict[str, type]:
    """Return every struct of the modules that define payloads, by its name."""
    modules = {inspect.getmodule(kind.payload) for kind in VOCABULARY.event_types.values()}
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "__struct_fields__")
    }
