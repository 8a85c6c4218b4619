"""Whole sessions: decide, think, review, ask; a run of discovery; and a server that is killed in between."""

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest

from ledger.sqlite.lock import find_writer
from tests.api.http.discovery_agent import PROBE, model
from tests.api.mcp.connection import EVERY_TOOLSET, TRANSPORTS, answer, connected, mode_of, refusal, run, stdio
from tests.support.server import Served, served

from mcp.client import Client  # isort: skip - after connection, which skips these tests without the SDK

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

EVENTS, BATCH = 12_000, 1_000

each_transport = pytest.mark.parametrize(
    "transport", [name if name == "http" else pytest.param(name, marks=pytest.mark.slow) for name in TRANSPORTS]
)


@each_transport
def test_an_agent_decides_thinks_reviews_and_asks(transport: str, tmp_path: Path) -> None:
    async def session() -> None:
        async with connected(transport, tmp_path / "team.db", "decisions") as client:
            asked = await answer(
                client, "pre_action", description="Keep the queue in SQLite", category="tooling", confidence=0.8,
                stakes="low", auto_record=True,
            )  # fmt: skip
            decision = asked["decisionId"]
            assert asked["allowed"]
            assert asked["relevantDecisions"] == []
            thought = await answer(client, "record_thought", text="It is one file", decision_id=decision)
            assert (thought["mode"], thought["step_number"]) == ("post-decision", 1)
            before = await answer(client, "record_thought", text="Backups are easy")
            assert before["mode"] == "pre-decision"
            second = await answer(
                client, "log_decision", decision="Copy it every night", confidence=0.9, category="process",
                reasons=[{"type": "empirical", "text": "It took a second"}], tags=["backup"],
            )  # fmt: skip
            changed = await answer(client, "update_decision", id=decision, pattern="One file per service")
            assert changed["updated_fields"] == ["pattern"]
            for id_ in (decision, second["id"]):
                reviewed = await answer(client, "review_outcome", id=id_, outcome="success", lessons="Fine")
                assert reviewed["status"] == "reviewed"
            figures = await answer(client, "get_stats", window="all")
            assert figures["overall"] is None
            assert "Only 2 reviewed decisions" in figures["recommendations"][0]["message"]
            shown = (await answer(client, "get_decision", id=decision, detail="full"))["decision"]
            assert (shown["pattern"], shown["outcome"], shown["lessons"]) == (
                "One file per service",
                "success",
                "Fine",
            )
            found = await answer(client, "query_decisions", query="queue SQLite")
            assert [row["id"] for row in found["decisions"]] == [decision]
            context = await answer(client, "get_session_context", task_description="queue")
            assert context["agentProfile"]["totalDecisions"] == 2
            assert (await answer(client, "ready"))["actions"] == []

    run(session)


def test_nested_and_flat_actions_are_the_same(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db", "decisions") as client:
            action = {"description": "Add an index", "category": "tooling", "stakes": "low", "confidence": 0.6}
            flat = await answer(client, "pre_action", **action, query_limit=3, auto_record=True)
            nested = await answer(client, "pre_action", action=action, options={"query_limit": 3, "auto_record": True})
            one, other = [
                (await answer(client, "get_decision", id=it["decisionId"]))["decision"] for it in (flat, nested)
            ]
            ours = {"id", "created_at", "updated_at"}
            assert {k: v for k, v in one.items() if k not in ours} == {k: v for k, v in other.items() if k not in ours}
            without = await answer(client, "pre_action", description="Add an index", auto_record=False)
            assert without["decisionId"] is None
            assert len(without["relevantDecisions"]) == 2

    run(session)


async def drive(client: Client, run_id: str, answers: list[dict[str, Any]]) -> None:
    """Answer the prompts of a run, as a simulated router does."""
    for reply in answers:
        prompt = await answer(client, "get_discovery_prompt", run_id=run_id)
        assert not prompt["done"]
        assert prompt["prompt"]
        result = await answer(client, "submit_discovery_response", run_id=run_id, attempt=prompt["attempt"], **reply)
        again = await answer(client, "submit_discovery_response", run_id=run_id, attempt=prompt["attempt"], **reply)
        assert again == result


@each_transport
def test_a_discovery_finds_the_models(transport: str, tmp_path: Path) -> None:
    async def session() -> None:
        async with connected(transport, tmp_path / "team.db") as client:
            started = await answer(client, "start_discovery", run_id="r1", probe_id=PROBE, max_iterations=5)
            assert started == {
                "run_id": "r1", "session_id": "r1", "duplicate": False, "status": "running", "probe_id": PROBE,
                "max_iterations": 5,
            }  # fmt: skip
            again = await answer(client, "start_discovery", run_id="r1", probe_id=PROBE, max_iterations=5)
            assert again["duplicate"]
            await answer(client, "emit_signal", run_id="r1", event="begun", agent="scout")
            await drive(client, "r1", [model("alpha"), model("beta"), model("alpha")])
            done = await answer(client, "get_discovery_prompt", run_id="r1")
            assert done["done"]
            report = await answer(client, "get_discovery_report", run_id="r1")
            assert report["status"] == "done"
            assert sorted(report["model_names"]) == ["alpha", "beta"]
            signals = await answer(client, "get_signals", run_id="r1")
            assert signals["total"] == len(signals["signals"])
            assert signals["signals"][0]["event"] == "begun"

    run(session)


def test_a_killed_server_loses_nothing_and_the_handle_goes_on(tmp_path: Path) -> None:
    ledger = tmp_path / "team.db"

    async def first(url: str) -> None:
        async with Client(f"{url}/mcp?tools={EVERY_TOOLSET}") as client:
            await answer(client, "start_discovery", run_id="r1", probe_id=PROBE, max_iterations=5)
            await drive(client, "r1", [model("alpha")])
            await answer(client, "record_decision", decision="Go on", confidence=0.5, idempotency_key="once")

    async def second(url: str) -> None:
        async with Client(f"{url}/mcp?tools={EVERY_TOOLSET}") as client:
            prompt = await answer(client, "get_discovery_prompt", run_id="r1")
            assert prompt["attempt"] == 2
            await answer(client, "submit_discovery_response", run_id="r1", attempt=1, **model("alpha"))
            await drive(client, "r1", [model("beta")])
            await answer(client, "record_decision", decision="Go on", confidence=0.5, idempotency_key="once")
            report = await answer(client, "get_discovery_report", run_id="r1")
            assert sorted(report["model_names"]) == ["alpha", "beta"]
            assert (await answer(client, "query_decisions"))["total"] == 1

    server = Served(ledger)
    run(lambda: first(server.url))
    server.process.kill()
    server.process.wait()
    server = Served(ledger)
    try:
        run(lambda: second(server.url))
        events = httpx.get(f"{server.url}/events", params={"subject": "discovery/r1"}).json()["events"]
        kinds = [event["type"] for event in events]
        assert kinds.count("discovery.attempted.v1") == 2
    finally:
        server.stop()


def test_a_killed_command_loses_nothing_and_the_handle_goes_on(tmp_path: Path) -> None:
    words = ("--ledger", str(tmp_path / "team.db"), "mcp", "--tools", EVERY_TOOLSET)

    async def session() -> None:
        async with Client(stdio(*words)) as client:
            await answer(client, "start_discovery", run_id="r1", probe_id=PROBE, max_iterations=5)
            await drive(client, "r1", [model("alpha")])
            kill_writer(tmp_path / "team.db")
        async with Client(stdio(*words), mode=mode_of("stdio-legacy")) as client:
            prompt = await answer(client, "get_discovery_prompt", run_id="r1")
            assert prompt["attempt"] == 2
            await drive(client, "r1", [model("beta")])
            report = await answer(client, "get_discovery_report", run_id="r1")
            assert sorted(report["model_names"]) == ["alpha", "beta"]

    run(session)


def kill_writer(ledger: Path) -> None:
    """Kill the process that writes a ledger."""
    writer = find_writer(ledger)
    assert writer is not None
    os.kill(writer.pid, signal.SIGKILL)


def test_the_first_call_reports_progress_while_it_folds(tmp_path: Path) -> None:
    with served(tmp_path / "team.db") as server:
        for first in range(0, EVENTS, BATCH):
            drafts = [
                {"type": "decision.recorded.v2", "data": {"decision_id": f"d{number}", "decision": "Go on"}}
                for number in range(first, first + BATCH)
            ]
            assert httpx.post(f"{server.url}/events", json=drafts, timeout=None).is_success
    for views in tmp_path.glob("team.db.views.db*"):
        views.unlink()
    seen: list[tuple[float, float | None]] = []

    async def report(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total))

    async def session() -> None:
        async with Client(stdio("--ledger", str(tmp_path / "team.db"), "mcp", "--read-only")) as client:
            result = await client.call_tool("query_decisions", {}, progress_callback=report)
            assert result.structured_content is not None
            assert result.structured_content["total"] == EVENTS

    run(session)
    assert seen == sorted(seen)
    assert {total for _, total in seen} == {EVENTS}


def test_clients_of_metacal_name_the_handle_session_id(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db") as client:
            started = await answer(client, "start_discovery", probe_id=PROBE, max_iterations=5)
            handle = {"session_id": started["session_id"]}
            assert started["session_id"] == started["run_id"]
            await answer(client, "emit_signal", **handle, event="begun", agent="scout")
            for name in ("alpha", "alpha"):
                prompt = await answer(client, "get_discovery_prompt", **handle)
                assert prompt["session_id"] == started["run_id"]
                given = await answer(client, "submit_discovery_response", **handle, **model(name))
                assert given["session_id"] == given["run_id"] == started["run_id"]
            assert (await answer(client, "get_signals", **handle, since=0))["signals"][0]["event"] == "begun"
            ended = await refusal(client, "submit_discovery_response", **handle, **model("beta"))
            assert "start_discovery" in ended["advice"]
            report = await answer(client, "get_discovery_report", **handle)
            assert (report["session_id"], report["unique_models"]) == (started["run_id"], 1)

    run(session)
