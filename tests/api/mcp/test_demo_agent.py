"""The calls of the demo agent of CSTP's reference server, and what it reads in each answer, over the older protocol."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done
from tests.api.mcp.handshake_client import HandshakeClient
from tests.support.server import Served, served

pytest.importorskip("mcp")

pytestmark = pytest.mark.trial("D1")

AGENT = "demo-agent"
POOL = {
    "description": "Use connection pooling for database access instead of per-request connections",
    "auto_record": True, "stakes": "medium", "category": "architecture", "agent_id": AGENT,
}  # fmt: skip
RISKY = {
    "description": "Deploy untested database migration to production during peak hours",
    "auto_record": True, "stakes": "high", "category": "process", "confidence": 0.4, "agent_id": AGENT,
}  # fmt: skip
RULE = "id: no-risk\ncondition_stakes: high\ncondition_confidence: '< 0.5'\naction: block\nmessage: Too unsure\n"
THOUGHTS = ("a handshake takes 3 ms", "a pool of 15 covers the peak", "decision: a pool in the process")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "team.db") as running:
        yield running


OLDER = [pytest.param(revision, marks=pytest.mark.slow) for revision in ("2024-11-05", "2025-03-26", "2025-11-25")]


@pytest.fixture(params=["2025-06-18", *OLDER])
def agent(request: pytest.FixtureRequest, server: Served) -> Iterator[HandshakeClient]:
    """The agent, with each revision of the protocol that its SDK speaks."""
    with HandshakeClient(f"{server.url}/mcp", request.param) as client:
        yield client


def decided(agent: HandshakeClient) -> str:
    """An architecture decision, as the agent makes and finishes it."""
    given = agent.call("pre_action", **POOL)
    assert given["guardrails"]["allowed"] is True
    decision_id = given["decisionId"]
    for thought in THOUGHTS:
        agent.call("record_thought", text=thought, decision_id=decision_id, agent_id=AGENT)
    agent.call("update_decision", id=decision_id, decision="A pool of 15 connections", context="It is on staging.")
    agent.call("review_outcome", id=decision_id, outcome="success", actual_result="A third faster", lessons="One pool")
    return str(decision_id)


def test_a_decision_from_the_first_check_to_its_outcome(agent: HandshakeClient, server: Served) -> None:
    assert httpx.get(f"{server.url}/health").status_code == 200
    first = decided(agent)
    again = agent.call("pre_action", **POOL)
    assert [row["id"] for row in again["similar_decisions"]] == [first]
    assert again["similar_decisions"][0]["title"][:60] == "A pool of 15 connections"
    stored = agent.call("get_decision", id=first)["decision"]
    assert (stored["outcome"], stored["context"]) == ("success", "It is on staging.")
    assert [step["thought"] for step in stored["deliberation"]["steps"]] == list(THOUGHTS)


def test_a_guardrail_blocks_what_is_risky(agent: HandshakeClient, tmp_path: Path) -> None:
    allowed = agent.call("pre_action", **{**RISKY, "auto_record": False})
    assert allowed["guardrails"] == {"allowed": True, "violations": []}
    (tmp_path / "rules.yaml").write_text(RULE)
    done(tmp_path / "team.db", "guardrail", "set", tmp_path / "rules.yaml")
    blocked = agent.call("pre_action", **RISKY)
    assert blocked["guardrails"]["allowed"] is False
    assert [violation["message"] for violation in blocked["guardrails"]["violations"]] == ["Too unsure"]
    assert blocked["guardrails"]["violations"][0]["name"]
    assert blocked["decisionId"] is None


def test_the_review_of_past_decisions_and_the_context_of_a_session(agent: HandshakeClient) -> None:
    first = decided(agent)
    sure = {"confidence": 0.8, "category": "process", "agent_id": AGENT}
    for number in range(5):
        made = agent.call("log_decision", decision=f"Copy the database, part {number}", **sure)
        agent.call("review_outcome", id=made["id"], outcome="success" if number else "failure", agent_id=AGENT)
    found = agent.call("query_decisions", query="pool of connections", limit=5)["decisions"]
    assert [(row["id"], row["category"], row["reviewed"]) for row in found] == [(first, "architecture", True)]
    stats = agent.call("get_stats")
    assert (stats["total_decisions"], stats["reviewed_decisions"]) == (6, 5)
    assert isinstance(stats["accuracy"], float)
    assert f"{stats['accuracy']:.1%} {stats['brier_score']:.3f}" == "80.0% 0.160"
    context = agent.call("get_session_context", agent_id=AGENT)
    assert len(context["recent_decisions"]) == 5
    assert context["calibration"] == {"accuracy": 0.8, "brier_score": 0.16}
    assert agent.call("ready", agent_id=AGENT)["actions"] == []


def test_what_waits_for_the_agent(agent: HandshakeClient, server: Served) -> None:
    overdue = {"decision": "Copy the database", "confidence": 0.8, "review_by": "2026-01-01T00:00:00Z"}
    posted = httpx.post(f"{server.url}/events", json={"type": "decision.recorded.v2", "data": overdue})
    assert posted.is_success, posted.text
    (action,) = agent.call("ready", agent_id=AGENT)["actions"]
    assert (action["type"], action["description"][:50]) == ("review_outcome", "Copy the database")
    assert action["priority"]


def test_the_agent_lists_the_tools_it_calls(agent: HandshakeClient) -> None:
    listed = {tool["name"] for tool in agent.request("tools/list")["tools"]}
    called = {"pre_action", "record_thought", "update_decision", "review_outcome", "query_decisions", "ready"}
    assert called | {"get_session_context", "check_action", "get_calibration"} <= listed
