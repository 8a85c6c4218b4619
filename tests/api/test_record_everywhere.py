"""The same odd value through every interface that records a decision: what is stored, or why it is refused."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.record_everywhere import AGENT, INTERFACES, Fields, Result, stored_line

TYPED = ("events", "decisions", "client", "append")
"""Interfaces for programs: a value has the type that is declared."""

CLOSED = "architecture"
"""A word of the message that lists the categories."""

ROWS: dict[str, tuple[Fields, Result, dict[str, Result]]] = {
    "what is not stated is not stored": ({}, {}, {}),
    "a blank text": ({"decision": " "}, "decision: it holds only blanks.", {
        "cstp": "decision: required field", "import": "decision is missing",
    }),
    "an empty text": ({"decision": ""}, "decision: expected `string` of length >= 1", {
        "cstp": "decision: required field", "import": "decision is missing",
    }),
    "blanks around a text": ({"decision": " Use it\n"}, {"decision": " Use it\n"}, {"import": {"decision": "Use it"}}),
    "a blank label": ({"project": " "}, "project: it holds only blanks.", {"import": {}}),
    "an empty label": ({"project": ""}, "project: expected `string` of length >= 1", {"cstp": {}, "import": {}}),
    "blanks around a label": ({"project": " a "}, {"project": " a "}, {"import": {"project": "a"}}),
    "a closed word in other letters": ({"stakes": "High"}, "'High'", {
        "cstp": "must be one of {critical, high, low, medium}", "import": {"stakes": "high"},
    }),
    "a closed word with a blank": ({"stakes": "high "}, "'high '", {
        "cstp": "must be one of {critical, high, low, medium}", "import": {"stakes": "high"},
    }),
    "a category in other letters": ({"category": "Security"}, {"category": "Security"}, {
        "cstp": CLOSED, "mcp": CLOSED,
    }),
    "a number in a text": ({"confidence": "0.8"}, {"confidence": 0.8}, dict.fromkeys(TYPED, "got `string`")),
    "a number that is too great": ({"confidence": 85}, "confidence", {}),
    "null": ({"stakes": None}, {}, {"record": "'None' is not one of the choices"}),
}  # fmt: skip


@pytest.mark.trial("N10")
@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("row", ROWS)
def test_every_interface_stores_the_same_or_says_why_not(
    empty_client: httpx.Client, tmp_path: Path, row: str, interface: str
) -> None:
    stated, common, otherwise = ROWS[row]
    expected = otherwise.get(interface, common)
    found = INTERFACES[interface](empty_client, tmp_path, {"decision": "x", **stated})
    if isinstance(expected, str):
        assert isinstance(found, str), found
        assert expected in found
        assert empty_client.get("/status").json()["head"]["position"] == 0
        return
    whole: dict[str, Any] = {"decision": "x", **expected}
    assert found == whole


@pytest.mark.parametrize("interface", INTERFACES)
def test_every_interface_stores_the_same_line(empty_client: httpx.Client, tmp_path: Path, interface: str) -> None:
    fields: Fields = {
        "decision": "Use a queue",
        "confidence": 0.8,
        "category": "architecture",
        "stakes": "high",
        "project": "shop",
    }
    assert INTERFACES[interface](empty_client, tmp_path, fields) == fields
    assert stored_line(empty_client) == {
        "specversion": "1.0",
        "source": f"/agents/{AGENT}",
        "type": "decision.recorded.v1",
        "streamversion": 1,
        "data": fields,
    }
