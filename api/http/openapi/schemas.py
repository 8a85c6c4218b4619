"""Build the schemas of the OpenAPI document from the structs of the operations and from the vocabulary."""

from collections.abc import Collection
from typing import Any

import msgspec

from api.http.operation import reference
from api.parameters import CURSOR_SCHEMA, POSITION_SCHEMA, JsonSchema
from events.life import Author
from events.limits import PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from events.schema import json_schema
from projections.decisions.decision_state import HistoryEntry

_TEMPLATE: str = reference("{name}")["$ref"]


def make_schemas(structs: Collection[type[msgspec.Struct]]) -> JsonSchema:
    """Return every schema by name: of the structs, of the vocabulary, and of an event, draft or payload of any type."""
    vocabulary = json_schema(ref_template=_TEMPLATE)
    _, schemas = msgspec.json.schema_components(structs, schema_hook=_any_json, ref_template=_TEMPLATE)
    schemas[HistoryEntry.__name__]["properties"]["data"] = reference("Payload")
    kinds = VOCABULARY.event_types.values()
    for struct in structs:
        schemas[struct.__name__] |= getattr(struct, "json_schema_rules", {})
    posted = [kind for kind in kinds if kind.by is not Author.LEDGER]  # evidence has routes of its own
    for kind in kinds:
        if kind not in posted:
            del vocabulary["$defs"][kind.draft.__name__]
    made = {name: _for_generators(schema) for name, schema in {**schemas, **vocabulary["$defs"]}.items()}
    return {
        **made,
        "Draft": {
            "description": vocabulary["description"],
            **_one_of({kind.name: kind.draft.__name__ for kind in posted}),
        },
        "Event": {
            "description": "An event as it is stored, byte for byte.",
            **_one_of({kind.name: kind.event.__name__ for kind in kinds}),
        },
        "Payload": {
            "description": "The data of an event.",
            "anyOf": [reference(kind.payload.__name__) for kind in kinds],
        },
        "EventPage": {
            "type": "object",
            "description": "Stored events. `next` is the position to continue after (before, in descending order), "
            "null on the last page; `head` is the newest position.",
            "properties": {
                "events": {"type": "array", "items": reference("Event"), "maxItems": PAGE_EVENTS_MAX},
                "next": {"anyOf": [POSITION_SCHEMA, {"type": "null"}]},
                "head": CURSOR_SCHEMA,
            },
            "required": ["events", "next", "head"],
            "additionalProperties": False,
        },
    }


def _for_generators(node: Any) -> Any:  # noqa: ANN401 # any part of a JSON Schema
    """Return a schema that generators of clients understand, and that describes the same values.

    They cannot read `items: false` after `prefixItems`, which `maxItems` states, too. From an empty default they
    conclude that the field is always present. A field that is `OMITTED` where it has its default is never null.
    """
    if isinstance(node, list):
        return [_for_generators(each) for each in node]
    if not isinstance(node, dict):
        return node
    if "omitted" in node:
        kinds = node.get("anyOf", [{"type": node.get("type")}])
        node = next(kind for kind in kinds if kind != {"type": "null"})
    return {
        key: _for_generators(value)
        for key, value in node.items()
        if not (key == "items" and value is False and "maxItems" in node)
        and not (key == "default" and value in (None, (), [], {}, ""))
    }


def _one_of(names: dict[str, str]) -> JsonSchema:
    """Return the schema of an event of any type, from schema names by type."""
    mapping = {kind: str(reference(name)["$ref"]) for kind, name in names.items()}
    return {
        "oneOf": [{"$ref": target} for target in mapping.values()],
        "discriminator": {"propertyName": "type", "mapping": mapping},
    }


def _any_json(kind: type) -> JsonSchema:
    assert kind is object, f"{kind} has no JSON Schema"
    return {"description": "Any JSON."}
