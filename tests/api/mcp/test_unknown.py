"""Unknown ids and names are reported as unknown, and answers have none of CSTP's defaults."""

from typing import Any

import httpx
import pytest

from tests.api.mcp.tool_calls import call, mcp_address

pytestmark = pytest.mark.trial("N9")


@pytest.fixture
def mcp(empty_client: httpx.Client) -> str:
    return mcp_address(empty_client)


def answer(mcp: str, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured answer of a tool."""
    structured: dict[str, Any] = call(mcp, tool, **arguments)["structuredContent"]
    return structured


def test_a_thought_for_an_unknown_decision_says_so(mcp: str) -> None:
    found = answer(mcp, "record_thought", text="hmm", decision_id="nope")
    assert (found["mode"], found["unknown"]) == ("pre-decision", ["nope"])


def test_a_link_to_an_unknown_decision_says_so(mcp: str) -> None:
    assert answer(mcp, "record_decision", decision="Use a queue", related_to=[{"id": "nope"}])["unknown"] == ["nope"]


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("get_calibration", {"agent": "scuot"}),
        ("query_decisions", {"query": "queue", "filters": {"agent": "scuot"}}),
        ("get_reason_stats", {"filters": {"agent": "scuot"}}),
    ],
)
def test_an_unknown_agent_is_named(mcp: str, tool: str, asked: dict[str, object]) -> None:
    answer(mcp, "record_decision", decision="Use a queue", agent_id="scout")
    assert answer(mcp, tool, **asked)["unknownNames"] == [{"parameter": "agent", "value": "scuot", "nearest": "scout"}]


def test_a_decision_of_later_says_when_it_was_recorded(mcp: str) -> None:
    first = answer(mcp, "record_decision", decision="Use a file")["id"]
    later = answer(mcp, "record_decision", decision="Use a queue")["id"]
    refused = call(mcp, "get_decision", id=later, as_of=1)
    assert refused["isError"]
    (content,) = refused["content"]
    assert f"Decision not found as of position 1: {later}" in content["text"]
    assert "It was recorded at position 2: ask as of that position, or a later one." in content["text"]
    assert answer(mcp, "get_decision", id=first, as_of=1)["decision"]["decision"] == "Use a file"


@pytest.mark.trial("N10")
def test_what_was_not_stated_is_not_in_an_answer(mcp: str) -> None:
    decision_id = answer(mcp, "record_decision", decision="Use a queue")["id"]
    shown = answer(mcp, "get_decision", id=decision_id)["decision"]
    (row,) = answer(mcp, "query_decisions", query="queue")["decisions"]
    assert {"category", "stakes", "unstated"}.isdisjoint({*shown, *row})
