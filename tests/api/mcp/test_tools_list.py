"""The list of tools: its size, its schemas, and who sees which tool."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.mcp.connection import EVERY_TOOLSET, connected, run, stdio
from tests.support.server import Served, served

import jsonschema  # type: ignore[import-untyped] # isort: skip - after connection, which skips without the SDK
from mcp import MCPError  # isort: skip
from mcp.client import Client  # isort: skip
from mcp.shared._httpx_utils import create_mcp_http_client  # isort: skip
from mcp.client.streamable_http import streamable_http_client  # isort: skip

from api.mcp.parameter_texts import OWN_TEXTS, PARAMETER_TEXTS
from api.principal import Scope
from api.token_store import TokenStore
from ledger.clock import system_clock

pytestmark = pytest.mark.trial("D1")

TOOLS_LIST_BYTES_MAX = 16_000
DEFAULT_TOOLS_MAX = 12

HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def post(url: str, method: str, **params: object) -> httpx.Response:
    """Send one message of the newest revision."""
    headers = {**HEADERS, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = str(params["name"])
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    return httpx.post(url, json=body, headers=headers, timeout=None)


def test_the_default_list_is_short_and_always_the_same(server: Served) -> None:
    answers = {post(f"{server.url}/mcp", "tools/list").content for _ in range(3)}
    (whole,) = answers
    assert len(whole) <= TOOLS_LIST_BYTES_MAX
    tools = msgspec.json.decode(whole)["result"]["tools"]
    assert len(tools) <= DEFAULT_TOOLS_MAX


@pytest.mark.trial("N7")
def test_every_parameter_is_described(server: Served) -> None:
    answer = post(f"{server.url}/mcp?tools={EVERY_TOOLSET}", "tools/list").json()
    listed = {
        (tool["name"], name): schema.get("description")
        for tool in answer["result"]["tools"]
        for name, schema in tool["inputSchema"]["properties"].items()
    }
    assert [parameter for parameter, text in listed.items() if not text] == []
    assert {name for _, name in listed} >= PARAMETER_TEXTS.keys()
    assert listed.keys() >= OWN_TEXTS.keys()


def test_the_list_is_the_same_after_a_restart(tmp_path: Path) -> None:
    lists = set()
    for _ in range(2):
        with served(tmp_path / "team.db") as server:
            lists.add(post(f"{server.url}/mcp?tools={EVERY_TOOLSET}", "tools/list").content)
    assert len(lists) == 1


def test_each_tool_has_title_hints_and_valid_schemas(server: Served) -> None:
    tools = post(f"{server.url}/mcp?tools={EVERY_TOOLSET}", "tools/list").json()["result"]["tools"]
    for tool in tools:
        assert tool["title"]
        assert tool["description"]
        hints = tool["annotations"]
        assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert not hints["destructiveHint"]
        for name in ("inputSchema", "outputSchema"):
            assert tool[name]["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(tool[name])
        assert ("as_of" in tool["inputSchema"]["properties"]) == hints["readOnlyHint"]
        assert ("as_of" in tool["outputSchema"]["required"]) == hints["readOnlyHint"]


def test_toolsets_are_chosen_by_the_address(server: Served) -> None:
    def names(query: str) -> list[str]:
        return [tool["name"] for tool in post(f"{server.url}/mcp{query}", "tools/list").json()["result"]["tools"]]

    assert names("?tools=proof") == ["get_checkpoint", "get_receipt", "verify_receipt"]
    assert names("") == names("?tools=decisions")
    reading = names("?read_only=true")
    assert "record_decision" not in reading
    assert "query_decisions" in reading
    refused = post(f"{server.url}/mcp?tools=decision", "tools/list")
    assert (refused.status_code, refused.json()["field"]) == (400, "tools")
    assert "decisions" in refused.json()["advice"]
    assert post(f"{server.url}/mcp?toolz=proof", "tools/list").status_code == 400


def test_other_methods_of_http_are_refused(server: Served) -> None:
    for method in ("GET", "DELETE"):
        answer = httpx.request(method, f"{server.url}/mcp")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.slow
def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db", "decisions") as client:
            for name in ("nothing", "get_receipt"):
                with pytest.raises(MCPError) as error:
                    await client.call_tool(name, {})
                assert error.value.code == -32602
                assert error.value.data["advice"]

    run(session)


@asynccontextmanager
async def with_token(server: Served, secret: str) -> AsyncIterator[Client]:
    """A client that sends a token."""
    async with create_mcp_http_client(headers={"authorization": f"Bearer {secret}"}) as http:
        transport = streamable_http_client(f"{server.url}/mcp?tools={EVERY_TOOLSET}", http_client=http)
        async with Client(transport) as client:
            yield client


@pytest.mark.slow
def test_a_token_speaks_for_its_agent_and_sees_what_it_may_use(tmp_path: Path) -> None:
    tokens, scopes = TokenStore(tmp_path / "team.db"), dict[str, tuple[Scope, ...]]()
    scopes = {"scout": ("append", "read"), "reader": ("read",)}
    secrets = {agent: tokens.add(agent, given, system_clock())[1] for agent, given in scopes.items()}

    async def session(server: Served) -> None:
        async with with_token(server, secrets["scout"]) as client:
            refused = await client.call_tool("record_decision", {"decision": "Mine", "agent_id": "other"})
            assert refused.is_error
            stated = msgspec.json.decode(refused.content[0].text)  # type: ignore[union-attr]
            assert stated["field"] == "agent_id"
            assert '"scout"' in stated["advice"]
            made = await client.call_tool("record_decision", {"decision": "Mine", "agent_id": "scout"})
            assert made.structured_content is not None
            shown = await client.call_tool("get_decision", {"id": made.structured_content["id"]})
            assert shown.structured_content is not None
            assert shown.structured_content["decision"]["recorded_by"] == "scout"
        async with with_token(server, secrets["reader"]) as client:
            listed = await client.list_tools()
            assert listed.tools
            assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in listed.tools)
            with pytest.raises(MCPError) as error:
                await client.call_tool("record_decision", {"decision": "Mine"})
            assert "append" in error.value.data["advice"]

    with served(tmp_path / "team.db") as server:
        assert post(f"{server.url}/mcp", "tools/list").status_code == 401
        asyncio.run(session(server))


@pytest.mark.slow
def test_without_tokens_the_agent_is_who_it_says(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db", "decisions") as client:
            made = await client.call_tool("record_decision", {"decision": "Mine", "agent_id": "scout"})
            assert made.structured_content is not None
            found = await client.call_tool("query_decisions", {"filters": {"agent": "scout"}})
            assert found.structured_content is not None
            assert found.structured_content["total"] == 1

    run(session)


@pytest.mark.slow
def test_the_command_can_offer_only_tools_that_read(tmp_path: Path) -> None:
    async def session() -> None:
        ledger = str(tmp_path / "team.db")
        async with Client(stdio("--ledger", ledger, "mcp")) as client:
            await client.call_tool("record_decision", {"decision": "Mine"})
        async with Client(stdio("--ledger", ledger, "mcp", "--read-only")) as client:
            assert all("record" not in tool.name for tool in (await client.list_tools()).tools)
            found = await client.call_tool("query_decisions", {})
            assert found.structured_content is not None
            assert found.structured_content["total"] == 1

    run(session)


@pytest.mark.slow
def test_resources_and_prompts_answer(tmp_path: Path) -> None:
    async def session() -> None:
        async with connected("http", tmp_path / "team.db", "decisions") as client:
            made = await client.call_tool("record_decision", {"decision": "Mine", "agent_id": "scout"})
            assert made.structured_content is not None
            id_ = made.structured_content["id"]
            paths = (
                "checkpoint", "calibration", "calibration/scout", f"decision/{id_}", "scoreboard/none",
                "schema/decision.recorded.v2",
            )  # fmt: skip
            for path in paths:
                (content,) = (await client.read_resource(f"tallystick://{path}")).contents
                assert msgspec.json.decode(content.text)  # type: ignore[union-attr]
            for path in ("nothing", "decision/none", "schema/none"):
                with pytest.raises(MCPError) as error:
                    await client.read_resource(f"tallystick://{path}")
                assert error.value.code == -32602
                assert error.value.data["uri"] == f"tallystick://{path}"
            prompts = (await client.list_prompts()).prompts
            assert [prompt.name for prompt in prompts] == ["before_deciding", "after_the_outcome", "weekly_review"]
            for prompt in prompts:
                needed = {it.name: "x{y}" for it in prompt.arguments or [] if it.required}
                (message,) = (await client.get_prompt(prompt.name, needed)).messages
                assert message.content.type == "text"
            for name, arguments in (("nothing", {}), ("before_deciding", {}), ("weekly_review", {"agant": "x"})):
                with pytest.raises(MCPError) as error:
                    await client.get_prompt(name, arguments)
                assert error.value.code == -32602

    run(session)
