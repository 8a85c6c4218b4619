"""Answers: each fits its schema, is short by default, rests on one position, and has pages."""

from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.http.discovery_agent import PROBE, model
from tests.api.http.posted_evaluations import finished, scored, started
from tests.api.mcp.connection import EVERY_TOOLSET, Json, answer, connected, refusal, run
from tests.support.server import served

import jsonschema  # type: ignore[import-untyped] # isort: skip - after connection, which skips without the SDK
from mcp.client import Client  # isort: skip

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

ANSWER_BYTES_MAX = 2_000
LONG = "word " * 400
DECISIONS = 30


def fill(url: str) -> None:
    """Record decisions with long texts, and evaluations with many scenarios."""
    drafts: list[Json] = []
    for number in range(DECISIONS):
        decision: Json = {
            "decision_id": f"d{number:02}", "decision": f"Queue {number} {LONG}", "confidence": 0.5 + number / 100,
            "category": ("tooling", "process", "security")[number % 3], "stakes": "low", "context": LONG,
            "pattern": f"pattern {number}", "tags": [f"tag {number}", "queue"], "project": f"project {number % 7}",
            "reasons": [{"type": kind, "text": LONG} for kind in ("analysis", "empirical", "pattern", "intuition")],
        }  # fmt: skip
        drafts.append({"type": "decision.recorded.v2", "data": decision})
        if number % 2:
            review = {"decision_id": f"d{number:02}", "outcome": "success" if number % 3 else "failure"}
            drafts.append({"type": "decision.reviewed.v1", "data": {**review, "lessons": LONG, "actual_result": LONG}})
    for run_id in ("first", "second"):
        drafts.append(started(run_id, "suite", agent="scout", agent_version=run_id))
        drafts += [scored(run_id, f"scenario-{number:02}", 50 + number) for number in range(40)]
        drafts.append(finished(run_id))
    for number in range(1, DECISIONS):
        drafts += [linked(f"d{number:02}", f"d{other:02}") for other in range(number) if not other or number < 5]
    posted = httpx.post(f"{url}/events", json=drafts, timeout=None)
    assert posted.is_success, posted.text


def linked(source: str, target: str) -> Json:
    data = {"source_id": source, "target_id": target, "edge_type": "relates_to", "weight": 0.5, "context": LONG}
    return {"type": "decision.linked.v1", "data": data}


CALLS: tuple[tuple[str, Json], ...] = (
    ("pre_action", {"description": "queue", "category": "tooling", "confidence": 0.7}),
    ("record_decision", {"decision": "Use a queue", "category": "tooling", "confidence": 0.7}),
    ("review_outcome", {"id": "d00", "outcome": "success", "lessons": LONG}),
    ("update_decision", {"id": "d02", "pattern": "queues"}),
    ("record_thought", {"text": "It is short"}),
    ("check_action", {"description": "Drop the queue", "stakes": "high", "confidence": 0.3}),
    ("link_decisions", {"source_id": "d01", "target_id": "d02", "edge_type": "supersedes", "context": LONG}),
    ("get_neighbors", {"node_id": "d01"}),
    ("get_graph", {"node_id": "d01", "depth": 3}),
    ("query_decisions", {"query": "queue"}),
    ("query_decisions", {}),
    ("get_decision", {"id": "d01"}),
    ("get_calibration", {}),
    ("get_calibration", {"group_by": "project"}),
    ("get_reason_stats", {}),
    ("ready", {}),
    ("get_session_context", {"task_description": "queue"}),
    ("start_discovery", {"run_id": "r1", "probe_id": PROBE}),
    ("get_discovery_prompt", {"run_id": "r1"}),
    ("submit_discovery_response", {"run_id": "r1", "attempt": 1, **model("alpha")}),
    ("emit_signal", {"run_id": "r1", "event": "seen"}),
    ("get_signals", {"run_id": "r1"}),
    ("get_discovery_report", {"run_id": "r1"}),
    ("list_evaluations", {}),
    ("show_evaluation", {"run_id": "first"}),
    ("compare_evaluations", {"baseline": "first", "candidate": "second"}),
    ("get_scoreboard", {}),
    ("get_checkpoint", {}),
    ("get_checkpoint", {"as_of": 3}),
    ("get_receipt", {"decision_id": "d01"}),
)

LONG_BY_NATURE = {"get_discovery_prompt", "get_receipt"}
"""A prompt and a proof are not cut."""


def test_every_answer_fits_its_schema_and_is_short(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db") as client:
            fill(str(httpx.URL(client.server).copy_with(path="", query=None)).rstrip("/"))  # type: ignore[arg-type]
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            called = {name for name, _ in CALLS}
            assert called == tools.keys() - {"verify_receipt"}
            for name, arguments in CALLS:
                given = await answer(client, name, **arguments)
                check(tools[name].output_schema, name, given)
            receipt = (await answer(client, "get_receipt", position=3))["receipt"]
            verified = await answer(client, "verify_receipt", receipt=receipt)
            check(tools["verify_receipt"].output_schema, "verify_receipt", {**verified, "event": ""})
            assert (verified["valid"], verified["position"]) == (True, 3)

    run(session)


def check(schema: Json | None, name: str, given: Json) -> None:
    """Check an answer with the schema of its tool, its size, and its end."""
    assert schema is not None
    jsonschema.validate(given, schema)
    size = len(msgspec.json.encode(given))
    assert size <= ANSWER_BYTES_MAX or name in LONG_BY_NATURE, (name, size)
    if "as_of" in schema["properties"]:
        assert list(given)[-1] == "as_of"
        assert set(given["as_of"]) == {"position", "time", "root"}


def name_of(row: Json) -> str:
    """What names a row of a page: a decision, an evaluation, a neighbour or a link."""
    if "edge" in row:
        row = row["edge"]
    return row.get("id") or row.get("run_id") or f"{row['sourceId']} {row['targetId']}"


def test_pages_go_to_the_end_and_rest_on_one_position(tmp_path: Path) -> None:
    async def pages(client: Client, tool: str, key: str, **arguments: object) -> list[str]:
        seen: list[str] = []
        bases, cursor = set(), None
        while True:
            more: Json = {} if cursor is None else {"cursor": cursor}
            page = await answer(client, tool, **arguments, **more)
            seen += [name_of(row) for row in page[key]]
            bases.add((page["as_of"]["position"], page["as_of"]["root"]))
            total, cursor = page["total"], page["next"]
            if cursor is None:
                break
            await answer(client, "record_decision", decision="Queue in between", confidence=0.5)
        assert len(bases) == 1
        assert len(seen) == len(set(seen)) == total
        return seen

    async def session(url: str) -> None:
        async with Client(f"{url}/mcp?tools={EVERY_TOOLSET}") as client:
            assert len(await pages(client, "query_decisions", "decisions", query="queue")) == DECISIONS
            assert len(await pages(client, "query_decisions", "decisions", limit=7)) >= DECISIONS
            assert len(await pages(client, "list_evaluations", "evaluations", limit=1)) == 2
            assert len(await pages(client, "get_neighbors", "neighbors", node_id="d00")) == DECISIONS - 1
            assert len(await pages(client, "get_graph", "edges", node_id="d00")) == DECISIONS - 1
            assert len(await pages(client, "get_graph", "edges", node_id="d00", depth=2, limit=4)) == DECISIONS + 5
            graph = await answer(client, "get_graph", node_id="d00")
            ends = {edge[end] for edge in graph["edges"] for end in ("sourceId", "targetId")}
            assert {node["id"] for node in graph["nodes"]} == ends
            page = await answer(client, "query_decisions", query="queue", limit=2)
            wrong = await refusal(client, "query_decisions", query="other", cursor=page["next"])
            assert wrong["field"] == "cursor"

    with served(tmp_path / "team.db") as server:
        fill(server.url)
        run(lambda: session(server.url))


def test_an_answer_as_of_a_position_never_changes(tmp_path: Path) -> None:
    roots: list[tuple[int, str]] = []
    reading = [(name, given) for name, given in CALLS if name not in ("get_checkpoint", "get_receipt")]

    async def session(url: str) -> None:
        async with Client(f"{url}/mcp?tools={EVERY_TOOLSET}") as client:
            await answer(client, "start_discovery", run_id="r1", probe_id=PROBE)
            readers = {
                tool.name
                for tool in (await client.list_tools()).tools
                if tool.annotations is not None and tool.annotations.read_only_hint
            }
            position = (await answer(client, "query_decisions"))["as_of"]["position"]
            calls = [(name, given) for name, given in reading if name in readers]
            before = [await answer(client, name, **given, as_of=position) for name, given in calls]
            live = [await answer(client, name, **given) for name, given in calls]
            assert [it["as_of"] for it in live] == [it["as_of"] for it in before]
            for number in range(6):
                made = await answer(client, "record_decision", decision=f"Queue later {number}", confidence=0.9)
                await answer(client, "review_outcome", id=made["id"], outcome="failure")
            await answer(client, "emit_signal", run_id="r1", event="later")
            await answer(client, "submit_discovery_response", run_id="r1", attempt=1, **model("alpha"))
            after = [await answer(client, name, **given, as_of=position) for name, given in calls]
            assert after == before
            moment = before[0]["as_of"]["time"]
            assert (await answer(client, "query_decisions", as_of=moment))["as_of"] == before[0]["as_of"]
            roots.append((position, before[0]["as_of"]["root"]))

    with served(tmp_path / "team.db") as server:
        fill(server.url)
        run(lambda: session(server.url))
        for position, root in roots:
            proof = httpx.get(f"{server.url}/proofs/consistency", params={"from": position}).json()
            assert proof["from_root"] == root
