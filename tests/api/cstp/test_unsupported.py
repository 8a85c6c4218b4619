"""Queries about data that this ledger does not keep: empty answers of the right shape, never false success."""

import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import head

NODE = {"nodeId": "3f2a9c1e"}
LINK = {"sourceId": "a", "targetId": "b", "edgeType": "relates_to"}
ACTION = {"action": {"description": "Drop the table", "category": "tooling", "stakes": "high", "context": {"a": [1]}}}
NOTHING = [
    ("listGuardrails", {}, {"guardrails": [], "count": 0, "agent": "cognition-engines"}),
    ("listGuardrails", {"scope": "p"}, {"guardrails": [], "count": 0, "agent": "cognition-engines"}),
    ("listBreakers", {}, {"breakers": []}),
    ("getNeighbors", NODE, {"nodeId": "3f2a9c1e", "neighbors": [], "total": 0}),
    ("getNeighbors", {"id": "3f2a9c1e"}, {"nodeId": "3f2a9c1e", "neighbors": [], "total": 0}),
    ("getNeighbors", {}, {"nodeId": "", "neighbors": [], "total": 0}),
    ("getGraph", {}, {"centerId": "", "depth": 1, "nodes": [], "edges": []}),
    ("getNeighbors", {"node_id": "x", "direction": "both", "limit": 20, "edgeType": None}, None),
    ("getGraph", {**NODE, "depth": 9}, {"centerId": "3f2a9c1e", "depth": 5, "nodes": [], "edges": []}),
    ("getWisdom", {"minDecisions": 3}, {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}),
]


@pytest.mark.parametrize(("method", "params", "expected"), NOTHING)
def test_there_is_nothing(cstp: Caller, method: str, params: dict[str, object], expected: object) -> None:
    answer = cstp.result(method, params)
    assert expected is None or answer == expected
    assert None not in answer.values()


def test_without_guardrails_everything_is_allowed_and_said_to_be_unchecked(cstp: Caller) -> None:
    answer = cstp.result("checkGuardrails", ACTION)
    assert list(answer)[:6] == ["allowed", "violations", "warnings", "evaluated", "evaluatedAt", "agent"]
    assert (answer["allowed"], answer["violations"], answer["warnings"], answer["evaluated"]) == (True, [], [], 0)
    assert "nothing was evaluated" in answer["note"]
    assert cstp.result("checkGuardrails", {})["allowed"] is True


@pytest.mark.parametrize(
    ("method", "params", "reported"),
    [
        ("linkDecisions", LINK, "error"),
        ("linkDecisions", {"source_id": "a", "target_id": "b", "edge_type": "depends_on", "weight": 0.5}, "error"),
        ("setPreserve", {"decisionId": "a"}, "error"),
        ("setPreserve", {"id": "a", "preserve": False}, "error"),
    ],
)
def test_what_cannot_be_written_is_not_said_to_be(
    cstp: Caller, method: str, params: dict[str, object], reported: str
) -> None:
    before = head(cstp.http)
    answer = cstp.result(method, params)
    assert answer["success"] is False
    assert "nothing was written" in answer[reported]
    assert head(cstp.http) == before


@pytest.mark.parametrize("method", ["getCircuitState", "resetCircuit"])
def test_a_circuit_breaker_that_is_not_there_is_an_error(cstp: Caller, method: str) -> None:
    noun = {"getCircuitState": "circuit breaker", "resetCircuit": "breaker"}[method]
    assert cstp.error(method, {"scope": "stakes:high"}) == (-32602, f"No {noun} found for scope: stakes:high")


def test_reindex_says_what_the_views_hold(cstp: Caller) -> None:
    cstp.record()
    answer = cstp.result("reindex")
    assert list(answer) == ["success", "decisionsIndexed", "errors", "durationMs", "message"]
    assert answer["decisionsIndexed"] == cstp.result("getStats")["total"]
    assert answer["errors"] == 0


def test_nothing_is_compacted_and_everything_is_there_in_full(cstp: Caller) -> None:
    first = cstp.record(category="security", confidence=0.4, reasons=[{"text": "r"}], tags=["t"])
    total = cstp.result("getStats")["byCategory"]["security"]
    levels = {"full": total, "summary": 0, "digest": 0, "wisdom": 0}
    answer = cstp.result("compact", {"category": "security", "dry_run": True})
    assert answer == {"compacted": 0, "preserved": 0, "levels": levels, "dryRun": True}
    answer = cstp.result("getCompacted", {"category": "security", "limit": 1})
    (row,) = answer["decisions"]
    assert (answer["total"], answer["levels"]) == (1, levels)
    assert (row["id"], row["level"], row["confidence"], row["tags"]) == (first, "full", 0.4, ["t"])
    assert cstp.result("getCompacted", {"level": "digest"})["decisions"] == []


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("checkGuardrails", {"action": "go"}, "Validation failed: action: must be an object, got string"),
        ("checkGuardrails", {"action": {"stakes": "low"}}, "Validation failed: action.description: required"),
        ("checkGuardrails", {"action": {"description": "d", "confidence": 2}}, "Validation failed: action.confidence"),
        ("getNeighbors", {"nodeId": 5}, "Validation failed: nodeId: must be a text"),
        ("getGraph", {**NODE, "direction": "up"}, "Validation failed: direction: must be one of {both, incoming,"),
        ("getGraph", {**NODE, "edgeTypes": ["likes"]}, "Validation failed: edgeTypes: must be"),
        ("linkDecisions", {"sourceId": "a"}, "Validation failed: targetId: required field; edgeType: must be one of {"),
        ("linkDecisions", {**LINK, "targetId": "a"}, "Validation failed: targetId: must be another decision"),
        ("linkDecisions", {**LINK, "weight": 0}, "Validation failed: weight: must be above 0"),
        ("getCircuitState", {}, "Validation failed: scope: required field"),
        ("resetCircuit", {"scope": 5}, "Validation failed: scope: must be a text, got number"),
        ("getCompacted", {"level": "none"}, "Validation failed: level: must be one of {digest, full, summary, wisdom}"),
        ("compact", {"dryRun": "yes"}, "Validation failed: dryRun: must be true or false, got string"),
        ("setPreserve", {}, "Validation failed: decisionId: required field"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, method: str, params: dict[str, object], message: str) -> None:
    code, reported = cstp.error(method, params)
    assert code == -32602
    assert reported.startswith(message)
