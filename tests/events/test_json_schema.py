"""The JSON Schema covers all that can be said."""

import re
from typing import Any

import pytest

from events.life import Life
from events.registry import VOCABULARY
from events.schema import json_schema

SCHEMA = json_schema()


def references(node: object) -> set[str]:
    """Every `$ref` under a node."""
    if isinstance(node, dict):
        here = {node["$ref"]} if "$ref" in node else set()
        return here.union(*(references(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(references(value) for value in node))
    return set()


def drafts_by_type() -> dict[str, dict[str, Any]]:
    drafts = [SCHEMA["$defs"][one["$ref"].removeprefix("#/$defs/")] for one in SCHEMA["oneOf"]]
    return {draft["properties"]["type"]["enum"][0]: draft for draft in drafts}


def test_each_type_is_one_of_what_may_be_posted() -> None:
    assert tuple(drafts_by_type()) == VOCABULARY.type_names


@pytest.mark.parametrize("type_", VOCABULARY.type_names)
def test_a_draft_tells_its_life_its_stream_and_its_fields(type_: str) -> None:
    kind, draft = VOCABULARY.event_types[type_], drafts_by_type()[type_]
    assert Life(draft["x-life"]) is kind.life
    assert draft["x-stream"] == f"{kind.stream}/ID"
    assert draft["required"] == ["type", "data"]
    assert draft["propertyNames"] == {"pattern": "^[a-z0-9]{1,64}$"}
    payload = SCHEMA["$defs"][kind.payload.__name__]
    assert list(payload["properties"]) == list(kind.payload.__struct_fields__)
    assert payload["additionalProperties"] is False


def test_every_reference_leads_somewhere() -> None:
    found = references(SCHEMA)
    assert found
    assert {ref.removeprefix("#/$defs/") for ref in found} <= set(SCHEMA["$defs"])


def test_the_place_of_the_parts_can_be_chosen() -> None:
    found = references(json_schema(ref_template="#/components/schemas/{name}"))
    assert found
    assert all(re.match("#/components/schemas/", ref) for ref in found)
