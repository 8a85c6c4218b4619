"""What is done over MCP and over CSTP is the same: checks, links, related decisions, and automatic deliberation."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from api.service.agent_calls.decision_json import without_defaults
from tests.api.cli.command import done
from tests.api.cstp.client import Caller
from tests.api.mcp.connection import EVERY_TOOLSET, Json, answer, refusal, run
from tests.support.server import Served, served

from mcp.client import Client  # isort: skip - after connection, which skips these tests without the SDK
from mcp.client.streamable_http import streamable_http_client  # isort: skip
from mcp.shared._httpx_utils import create_mcp_http_client  # isort: skip

pytestmark = [pytest.mark.slow, pytest.mark.trial("D1")]

RULE = """
id: review
condition_category: tooling
requires_code_review: true
action: block
message: Have it reviewed first
"""
OURS = ("evaluatedAt", "checkId", "agent", "queryTimeMs", "as_of", "next", "total")


@asynccontextmanager
async def connected(server: Served, secret: str | None = None, more: str = "") -> AsyncIterator[Client]:
    headers = {} if secret is None else {"authorization": f"Bearer {secret}"}
    async with create_mcp_http_client(headers=headers) as http:
        address = f"{server.url}/mcp?tools={EVERY_TOOLSET}{more}"
        async with Client(streamable_http_client(address, http_client=http)) as client:
            yield client


def same(one: Json, other: Json) -> None:
    """Compare an answer of MCP with one of CSTP, without what each has of its own and without CSTP's defaults."""
    other = without_defaults(other)
    assert {k: v for k, v in one.items() if k not in OURS} == {k: v for k, v in other.items() if k not in OURS}


def test_a_check_is_the_same_and_its_id_counts_for_the_decision(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULE)
    done(tmp_path / "team.db", "guardrail", "set", tmp_path / "rules.yaml")

    async def session(server: Served) -> None:
        async with connected(server) as client:
            blocked = await answer(client, "check_action", description="Renew the linter", category="tooling")
            assert not blocked["allowed"]
            (violation,) = blocked["violations"]
            assert violation == {
                "guardrail_id": "review", "name": "review", "message": "Have it reviewed first", "severity": "block",
            }  # fmt: skip
            action: Json = {"description": "Renew the linter", "category": "tooling"}
            with Caller(server.url) as cstp:
                over_cstp = cstp.result("checkGuardrails", {"action": action})
            over_cstp["violations"][0]["guardrail_id"] = over_cstp["violations"][0].pop("guardrailId")
            same(blocked, over_cstp)
            reviewed = await answer(client, "check_action", **action, context={"code_review": True})
            assert (reviewed["allowed"], reviewed["evaluated"]) == (True, 1)
            decision = {"decision": "Renew the linter", "category": "tooling", "confidence": 0.8}
            warned = await answer(client, "record_decision", **decision)
            assert [warning["guardrail_id"] for warning in warned["guardrail_warnings"]] == ["review"]
            allowed = await answer(client, "record_decision", **decision, check_id=reviewed["checkId"])
            assert "guardrail_warnings" not in allowed

    with served(tmp_path / "team.db") as server:
        asyncio.run(session(server))


def test_links_are_the_same(tmp_path: Path) -> None:
    async def session(server: Served) -> None:
        async with connected(server) as client:
            first = await answer(client, "record_decision", decision="Poll the queue", confidence=0.7)
            second = await answer(
                client, "record_decision", decision="Subscribe to the queue", confidence=0.8,
                related_to=[{"id": first["id"], "summary": "Poll", "distance": 0.25}],
            )  # fmt: skip
            assert second["related_count"] == 1
            ends: Json = {"source_id": second["id"], "target_id": first["id"], "weight": 1}
            key = "supersedes/1"
            made = await answer(
                client, "link_decisions", **ends, edge_type="supersedes", context="A core less", idempotency_key=key
            )
            again = await answer(
                client, "link_decisions", **ends, edge_type="supersedes", context="A core less", idempotency_key=key
            )
            assert (made["success"], again) == (True, made)
            assert (made["edge"]["weight"], made["edge"]["context"]) == (1.0, "A core less")
            unknown = await answer(client, "link_decisions", **{**ends, "target_id": "later"}, edge_type="depends_on")
            assert unknown["unknown"] == ["later"]
            neighbors = await answer(client, "get_neighbors", node_id=second["id"])
            beginning = next(first["id"][:n] for n in range(6, 9) if not second["id"].startswith(first["id"][:n]))
            graph = await answer(client, "get_graph", node_id=beginning, depth=2, limit=50)
            ambiguous = await refusal(client, "get_graph", node_id=first["id"][:4])  # of the position
            assert ambiguous["advice"].endswith("begins more than one id.")
            incoming = await answer(client, "get_neighbors", node_id=first["id"], direction="incoming")
            with Caller(server.url) as cstp:
                over_cstp = cstp.result("getNeighbors", {"nodeId": second["id"]})
                same(neighbors, over_cstp)
                assert neighbors["total"] == over_cstp["total"] == 3
                same(graph, cstp.result("getGraph", {"nodeId": first["id"], "depth": 2}))
                same(incoming, cstp.result("getNeighbors", {"nodeId": first["id"], "direction": "incoming"}))
            assert neighbors["neighbors"][0]["edge"]["edgeType"] == "supersedes"
            shown = await answer(client, "get_decision", id=first["id"])
            assert shown["decision"]["superseded_by"] == [second["id"]]
            only = await answer(client, "get_graph", node_id=first["id"], edge_types=["relates_to"])
            assert [edge["edgeType"] for edge in only["edges"]] == ["relates_to"]

    with served(tmp_path / "team.db") as server:
        asyncio.run(session(server))


def test_calls_before_a_decision_become_its_inputs(tmp_path: Path) -> None:
    ledger = tmp_path / "team.db"
    auto = done(ledger, "token", "add", "scout", "--deliberation", "auto").text.strip()
    plain = done(ledger, "token", "add", "plain").text.strip()

    async def inputs(client: Client, made: Json) -> list[str]:
        stored = (await answer(client, "get_decision", id=made["id"], detail="full"))["decision"]
        return [given["id"] for given in (stored.get("deliberation") or {}).get("inputs", [])]

    async def session(server: Served) -> None:
        async with connected(server, plain) as client:
            earlier = await answer(client, "record_decision", decision="Rotate the secrets", confidence=0.8)
            found = await answer(client, "query_decisions", query="secrets")
            assert "tracked" not in found
            asked = await answer(client, "query_decisions", query="secrets", deliberation="auto")
            made = await answer(client, "record_decision", decision="Rotate them", deliberation="auto")
            assert (made["deliberation_auto"], made["related_count"]) == (True, 1)
            assert await inputs(client, made) == asked["tracked"]
        async with connected(server, auto) as client:
            query = await answer(client, "query_decisions", query="rotate secrets")
            check = await answer(client, "check_action", description="Rotate all at once")
            lookup = await answer(client, "get_decision", id=earlier["id"])
            stats = await answer(client, "get_reason_stats")
            assert list(query)[-1] == "as_of"
            tracked = [*query["tracked"], *check["tracked"], *lookup["tracked"], *stats["tracked"]]
            assert [name[:2] for name in tracked] == ["q-", "g-", "l-", "s-"]
            past = await answer(client, "query_decisions", query="rotate secrets", as_of=query["as_of"]["position"])
            assert "tracked" not in past
            made = await answer(client, "record_decision", decision="Rotate one secret after the other", confidence=0.7)
            assert (made["deliberation_auto"], made["bridge_auto"]) == (True, True)
            async with connected(server, plain) as other:
                assert await inputs(other, made) == tracked
        async with connected(server, auto, "&read_only=true") as client:
            position = (await answer(client, "query_decisions", query="rotate"))["as_of"]["position"]
            found = await answer(client, "query_decisions", query="rotate")
            assert ("tracked" in found, found["as_of"]["position"]) == (False, position)

    with served(ledger) as server:
        asyncio.run(session(server))


def test_without_tokens_the_agent_of_a_query_is_named(tmp_path: Path) -> None:
    async def session(server: Served) -> None:
        async with connected(server) as client:
            who: dict[str, Any] = {"agent_id": "scout", "deliberation": "auto"}
            asked = await answer(client, "query_decisions", query="secrets", **who)
            assert len(asked["tracked"]) == 1
            made = await answer(client, "record_decision", decision="Rotate them", **who)
            assert made["deliberation_auto"]

    with served(tmp_path / "team.db") as server:
        run(lambda: session(server))
