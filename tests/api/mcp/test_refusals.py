"""Refusals: each names the field, and its advice, applied by a program, makes the call succeed."""

import re
from pathlib import Path

import msgspec
import pytest

from tests.api.http.discovery_agent import PROBE, model
from tests.api.mcp.connection import Json, answer, connected, refusal, run

from mcp.client import Client  # isort: skip - after connection, which skips these tests without the SDK

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

DECIDE: Json = {"decision": "Use a queue", "confidence": 0.7, "category": "tooling"}

REFUSED: tuple[tuple[str, Json, str], ...] = (
    ("record_decision", {**DECIDE, "confidence": 3}, "confidence"),
    ("record_decision", {**DECIDE, "confidence": "high"}, "confidence"),
    ("record_decision", {"confidence": 0.7}, "decision"),
    ("record_decision", {**DECIDE, "decision": ""}, "decision"),
    ("record_decision", {**DECIDE, "category": "cooking"}, "category"),
    ("record_decision", {**DECIDE, "stakes": "huge"}, "stakes"),
    ("record_decision", {**DECIDE, "confidance": 0.7}, "confidance"),
    ("record_decision", {**DECIDE, "tags": "queue"}, "tags"),
    ("record_decision", {**DECIDE, "reasons": [{"type": "guess", "text": "x"}]}, "reasons"),
    ("record_decision", {**DECIDE, "reasons": [{"text": "x"}]}, "reasons"),
    ("record_decision", {**DECIDE, "pr": -1}, "pr"),
    ("record_decision", {**DECIDE, "agent_id": "two words"}, "agent_id"),
    ("record_decision", {**DECIDE, "review_in": "soon"}, "review_in"),
    ("record_decision", {**DECIDE, "review_by": "soon"}, "review_by"),
    ("record_decision", {**DECIDE, "bridge": {"function": 3}}, "bridge"),
    ("pre_action", {"category": "tooling"}, "description"),
    ("pre_action", {"action": "Use a queue"}, "action"),
    ("pre_action", {"description": "x", "options": {"query_limit": "many"}}, "options"),
    ("check_action", {}, "description"),
    ("check_action", {"description": "x", "confidence": 3}, "confidence"),
    ("check_action", {"description": "x", "context": "prod"}, "context"),
    ("check_action", {"description": "x", "deliberation": "yes"}, "deliberation"),
    ("query_decisions", {"query": "x", "deliberation": "yes"}, "deliberation"),
    ("record_decision", {**DECIDE, "deliberation": "yes"}, "deliberation"),
    ("record_decision", {**DECIDE, "related_to": ["DECISION"]}, "related_to"),
    ("record_decision", {**DECIDE, "related_to": [{"summary": "x"}]}, "related_to"),
    ("record_decision", {**DECIDE, "check_id": "none"}, "check_id"),
    ("record_decision", {**DECIDE, "embedding": [0.5]}, "embedding_model"),
    ("query_decisions", {"query": "x", "embedding": ["a"], "embedding_model": "text"}, "embedding"),
    ("link_decisions", {"source_id": "DECISION", "target_id": "b"}, "edge_type"),
    ("link_decisions", {"source_id": "DECISION", "target_id": "b", "edge_type": "causes"}, "edge_type"),
    ("link_decisions", {"source_id": "DECISION", "target_id": "DECISION", "edge_type": "supersedes"}, "target_id"),
    ("link_decisions", {"source_id": "a", "target_id": "b", "edge_type": "relates_to", "weight": 0}, "weight"),
    ("link_decisions", {"source_id": "a", "target_id": "b", "edge_type": "relates_to", "weight": 2}, "weight"),
    ("link_decisions", {"source_id": "a b", "target_id": "b", "edge_type": "relates_to"}, "source_id"),
    ("get_neighbors", {"node_id": "none"}, "node_id"),
    ("get_neighbors", {"node_id": "DECISION", "direction": "up"}, "direction"),
    ("get_graph", {"node_id": "none"}, "node_id"),
    ("get_graph", {"node_id": "DECISION", "depth": 9}, "depth"),
    ("get_graph", {"node_id": "DECISION", "edge_types": ["causes"]}, "edge_types"),
    ("get_graph", {"node_id": "DECISION", "cursor": "mine"}, "cursor"),
    ("review_outcome", {"id": "DECISION", "outcome": "good"}, "outcome"),
    ("review_outcome", {"id": "none", "outcome": "success"}, "id"),
    ("review_outcome", {"outcome": "success"}, "id"),
    ("update_decision", {"id": "none", "pattern": "x"}, "id"),
    ("update_decision", {"id": "DECISION"}, "decision"),
    ("record_thought", {}, "text"),
    ("query_decisions", {"limit": 0}, "limit"),
    ("query_decisions", {"limit": 1000}, "limit"),
    ("query_decisions", {"cursor": "mine"}, "cursor"),
    ("query_decisions", {"cursor": "ä"}, "cursor"),
    ("query_decisions", {"filters": {"stakes": ["huge"]}}, "filters"),
    ("query_decisions", {"filters": {"date_after": "yesterday"}}, "filters"),
    ("query_decisions", {"filters": {"date_after": "2026-02-01", "date_before": "2026-01-01"}}, "filters.date_after"),
    ("query_decisions", {"filters": {"min_confidence": 0.9, "max_confidence": 0.1}}, "filters.min_confidence"),
    ("query_decisions", {"as_of": 9_999}, "as_of"),
    ("query_decisions", {"as_of": "never"}, "as_of"),
    ("query_decisions", {"as_of": -1}, "as_of"),
    ("get_decision", {"id": "none"}, "id"),
    ("get_decision", {"id": "no such id"}, "id"),
    ("get_calibration", {"window": "7d"}, "window"),
    ("get_calibration", {"since": "yesterday"}, "since"),
    ("get_calibration", {"group_by": "colour"}, "group_by"),
    ("ready", {"min_priority": "urgent"}, "min_priority"),
    ("get_session_context", {"include": ["everything"]}, "include"),
    ("start_discovery", {"probe_id": "none"}, "probe_id"),
    ("start_discovery", {"max_iterations": 0}, "max_iterations"),
    ("get_discovery_prompt", {"run_id": "none"}, "run_id"),
    ("get_discovery_prompt", {}, "run_id"),
    ("get_discovery_prompt", {"session_id": "none", "run_id": "r1"}, "session_id"),
    ("submit_discovery_response", {"run_id": "r1", "attempt": 1}, "response"),
    ("submit_discovery_response", {"run_id": "r1", "attempt": 9, **model("alpha")}, "attempt"),
    ("get_scoreboard", {"group_by": "colour"}, "group_by"),
    ("get_receipt", {}, "position"),
    ("get_receipt", {"position": 9_999}, "position"),
    ("verify_receipt", {"receipt": "mine"}, "receipt"),
    ("verify_receipt", {"receipt": "RECEIPT", "key": "mine"}, "key"),
)


def mended(arguments: Json, refused: Json, known: Json) -> Json:
    """Return the arguments as the advice says: with the example's value, without the field, or with an id it lists."""
    advice, field = refused["advice"], refused["field"].partition(".")[0].partition("[")[0]
    if example := re.search(r"\{.*?\}+(?=$|[;. ])", advice):
        return {**arguments, **msgspec.json.decode(example[0])} | ids(arguments, example[0], known)
    if "eave it out" in advice or f"eave {field} out" in advice:
        return {name: value for name, value in arguments.items() if name != field}
    if limits := re.search(r"\d+ to (\d+)", advice):
        return {**arguments, field: int(limits[1])}
    if newest := re.search(r"the head, (\d+)", refused["error"]):
        return {**arguments, field: int(newest[1])}
    if one_of := re.search(r"Use one of: ([\w-]+)", advice):
        return {**arguments, field: one_of[1]}
    return {**arguments, field: known[field]}


def ids(arguments: Json, example: str, known: Json) -> Json:
    """An example of an id stands for an id that exists."""
    return {name: known[name] for name in ("id", "run_id", "node_id") if name in msgspec.json.decode(example)}


def test_the_advice_of_each_refusal_mends_the_call(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db") as client:
            made = await answer(client, "record_decision", **DECIDE)
            await answer(client, "start_discovery", run_id="r1", probe_id=PROBE, keep_going=True)
            receipt = (await answer(client, "get_receipt", position=1))["receipt"]
            known = {"id": made["id"], "node_id": made["id"], "run_id": "r1", "receipt": receipt}
            for name, arguments, field in REFUSED:
                given = {
                    key: {"DECISION": made["id"], "RECEIPT": receipt}.get(str(value), value)
                    for key, value in arguments.items()
                }
                head = (await answer(client, "get_checkpoint"))["as_of"]["position"]
                refused = await refusal(client, name, **given)
                assert refused.get("field", "").startswith(field), (name, arguments, refused)
                assert (await answer(client, "get_checkpoint"))["as_of"]["position"] == head
                due = (await answer(client, "get_discovery_prompt", run_id="r1"))["attempt"]
                mend = mended(given, refused, {**known, "attempt": due})
                result = await client.call_tool(name, mend)
                assert not result.is_error, (name, arguments, refused, mend, result)

    run(session)


def test_arguments_that_are_no_object_are_refused(tmp_path: Path) -> None:
    async def session(client: Client) -> None:
        refused = await refusal(client, "query_decisions", filters=["x"])
        assert refused["field"] == "filters"

    async def main() -> None:
        async with connected("http", tmp_path / "team.db", "decisions") as client:
            await session(client)

    run(main)
