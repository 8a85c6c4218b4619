"""The calls of the demo agent of CSTP's reference server, and what it reads in each answer, over the older protocol."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done
from tests.api.mcp.handshake_client import HandshakeClient
from tests.support.server import Served, served

pytest.importorskip("mcp")

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

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


EARLIER = {"decision": "Poll the queue every second", "confidence": 0.7, "category": "tooling", "decision_id": "d1"}

CALLS: tuple[tuple[str, dict[str, object], set[str]], ...] = (
    (
        "query_decisions",
        {
            "query": "queue", "limit": 50, "retrieval_mode": "hybrid", "bridge_side": "structure",
            "filters": {
                "category": "tooling", "stakes": ["medium"], "status": ["pending", "reviewed"], "project": "shop",
                "feature": "search", "pr": 1, "min_confidence": 0.1, "max_confidence": 0.9, "has_outcome": False,
            },
        },
        {"decisions", "total", "retrievalMode"},
    ),
    (
        "check_action",
        {
            "description": "Drop it", "category": "tooling", "stakes": "high", "confidence": 0.3,
            "context": {"code_review": True},
        },
        {"allowed", "violations", "warnings", "evaluated"},
    ),
    (
        "log_decision",
        {
            "decision": "Subscribe to the queue", "confidence": 0.8, "category": "tooling", "stakes": "medium",
            "context": "A core less", "reasons": [{"type": "empirical", "text": "measured"}], "tags": ["queue"],
            "project": "shop", "feature": "search", "pr": 1, "agent_id": AGENT, "decision_id": "d1",
            "deliberation": {
                "inputs": [{"id": "i1", "text": "a measurement"}],
                "steps": [{"step": 1, "thought": "It waits", "inputs_used": ["i1"], "type": "analysis"}],
                "total_duration_ms": 5,
            },
            "bridge": {
                "structure": "A queue", "function": "To wait less", "tolerance": ["order"], "enforcement": ["tests"],
                "prevention": ["polling"],
            },
        },
        {"success", "id"},
    ),
    (
        "review_outcome",
        {"id": "ID", "outcome": "partial", "actual_result": "Faster", "lessons": "One", "notes": "None"},
        {"success", "id", "status"},
    ),
    ("get_stats", {"category": "tooling", "project": "shop", "window": "90d"}, {"overall", "byConfidenceBucket"}),
    ("get_decision", {"id": "ID"}, {"found", "decision"}),
    (
        "get_reason_stats",
        {"filters": {"category": "tooling", "stakes": "medium", "project": "shop"}, "min_reviewed": 50},
        {"byReasonType", "totalDecisions", "reviewedDecisions"},
    ),
    (
        "update_decision",
        {"id": "ID", "decision": "Subscribe", "confidence": 0.7, "context": "New", "tags": ["q"], "pattern": "push"},
        {"success", "id"},
    ),
    ("record_thought", {"text": "It waits", "agent_id": AGENT, "decision_id": "ID"}, {"mode", "step_number"}),
    ("record_thought", {"text": "It waits", "agent_id": AGENT}, {"mode", "tracker_key"}),
    (
        "pre_action",
        {
            "action": {
                "description": "Drop it", "category": "tooling", "stakes": "low", "confidence": 0.9,
                "context": {"code_review": True},
            },
            "options": {"query_limit": 20, "auto_record": True},
            "reasons": [{"type": "intuition", "text": "It is old"}], "tags": ["queue"], "pattern": "push",
            "agent_id": AGENT,
        },
        {"allowed", "decisionId", "relevantDecisions", "guardrailResults", "calibrationContext", "patternsSummary"},
    ),
    (
        "get_session_context",
        {
            "task_description": "queue", "include": ["decisions", "guardrails", "calibration", "ready", "patterns"],
            "decisions_limit": 50, "ready_limit": 20, "format": "json", "agent_id": AGENT,
        },
        {
            "agentProfile", "relevantDecisions", "activeGuardrails", "calibrationByCategory", "readyQueue",
            "confirmedPatterns",
        },
    ),
    ("get_session_context", {"format": "markdown"}, {"markdown"}),
    (
        "ready",
        {
            "min_priority": "low", "action_types": ["review_outcome", "calibration_drift", "stale_pending"],
            "limit": 50, "category": "tooling", "agent_id": AGENT,
        },
        {"actions", "total"},
    ),
    (
        "link_decisions",
        {"source_id": "ID", "target_id": "OTHER", "edge_type": "supersedes", "weight": 1, "context": "Push"},
        {"success", "edge"},
    ),
    (
        "get_graph",
        {"node_id": "ID", "depth": 5, "edge_types": ["supersedes"], "direction": "both"},
        {"centerId", "depth", "nodes", "edges"},
    ),
    (
        "get_neighbors",
        {"node_id": "ID", "direction": "both", "edge_type": "supersedes", "limit": 100},
        {"nodeId", "neighbors", "total"},
    ),
)  # fmt: skip
"""Every parameter of the tools of CSTP's MCP server, and fields of the answers."""


def test_every_parameter_of_its_tools_is_accepted(server: Served) -> None:
    with HandshakeClient(f"{server.url}/mcp?tools=decisions,links") as agent:
        other = agent.call("log_decision", **EARLIER)["id"]
        known = {"OTHER": other, "ID": agent.call("log_decision", **EARLIER)["id"]}
        for name, arguments, fields in CALLS:
            filled = {key: known.get(str(value), value) for key, value in arguments.items()}
            given = agent.call(name, **filled)
            assert fields <= given.keys(), (name, given)
            known["ID"] = given["id"] if name == "log_decision" else known["ID"]
