"""The schema of an event type has the definitions that it refers to, and no others."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from api.mcp.resources import RESOURCES
from api.mcp.tool_call import Access
from api.principal import OWNER
from api.service.ledger import LedgerService
from events.registry import VOCABULARY

(SCHEMA,) = (resource for resource in RESOURCES if resource.name == "schema")
ACCESS = Access(cast("LedgerService", None), OWNER)


def schema_of(name: str) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        return await SCHEMA.read(ACCESS, name)

    return asyncio.run(read())


def references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {str(value["$ref"]).rpartition("/")[2]} if "$ref" in value else set()
        return own.union(*map(references, value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


@pytest.mark.trial("N12")
@pytest.mark.parametrize("name", ["decision.recorded.v2", "decision.reviewed.v1", "eval.scored.v3", "webhook.ended.v1"])
def test_a_schema_is_whole_and_small(name: str) -> None:
    schema = schema_of(name)
    assert references(schema) == set(schema["$defs"])
    assert len(msgspec.json.encode(schema)) < 24_000


@pytest.mark.trial("N12")
def test_every_type_has_one() -> None:
    assert min(len(msgspec.json.encode(schema_of(name))) for name in VOCABULARY.type_names[:8]) > 500
