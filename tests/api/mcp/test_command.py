"""`tallystick mcp`: its help, what it says when it cannot serve, and a server that is killed behind it."""

import socket
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from api.cli.commands.mcp import TOOLSETS as OFFERED
from api.mcp.tool import TOOLSETS
from tests.api.cli.command import done, refused, tally
from tests.api.mcp.connection import EVERY_TOOLSET, answer, run, stdio
from tests.api.mcp.hidden_sdk import hide_sdk
from tests.support.server import Served, served

from mcp import MCPError  # isort: skip - after connection, which skips these tests without the SDK
from mcp.client import Client  # isort: skip

pytestmark = pytest.mark.trial("D1")


def test_the_command_offers_every_toolset() -> None:
    assert OFFERED == TOOLSETS == tuple(EVERY_TOOLSET.split(","))


def test_the_help_says_what_is_needed(tmp_path: Path) -> None:
    text = " ".join(done(tmp_path / "team.db", "mcp", "--help").text.split())
    assert "It needs the extra mcp" in text
    assert "--tools decisions,proof" in text


def test_what_cannot_be_served_is_named(tmp_path: Path) -> None:
    ledger = tmp_path / "team.db"
    unknown = refused(ledger, "mcp", "--tools", "decisions,proofs")
    assert "'proofs' is not one of the choices" in unknown
    assert "links, discovery" in unknown
    assert "There is no folder" in refused(tmp_path / "missing" / "team.db", "mcp")
    assert "There is no ledger" in refused(ledger, "mcp", "--read-only")
    assert not ledger.exists()
    (tmp_path / "text.db").write_text("not a ledger")
    assert "text.db cannot be used" in refused(tmp_path / "text.db", "mcp")


@pytest.mark.slow
@pytest.mark.trial("P1")
def test_what_a_file_asks_is_answered_before_the_command_ends(tmp_path: Path) -> None:
    ledger = tmp_path / "team.db"
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"name": "record_decision", "arguments": {"decision": "x"}}
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
        {"id": 3, "method": "tools/call", "params": call},
    ]
    given = b"".join(msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n" for message in asked)
    half = msgspec.json.encode({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"text": "HALF"}})
    given += half.replace(b"HALF", rb"\ud83d")
    answers = [msgspec.json.decode(line) for line in done(ledger, "mcp", given=given).out.splitlines()]
    by_id = {answer["id"]: answer for answer in answers}
    assert sorted(by_id) == [1, 2, 3, 4]
    assert "half of a surrogate pair" in by_id.pop(4)["error"]["message"]
    assert not any(answer["result"].get("isError") for answer in by_id.values())
    assert msgspec.json.decode(done(ledger, "decisions", "--json").out)["total"] == 2


@pytest.mark.slow
def test_a_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    ledger = tmp_path / "team.db"
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert "Is the server running there?" in refused(ledger, "--url", address, "mcp", code=1)
    secret = done(ledger, "token", "add", "scout").text.strip()
    with served(ledger) as server:
        assert "--token" in refused(ledger, "--url", server.url, "mcp")
        assert "--token" in refused(ledger, "--url", server.url, "--token", "wrong", "mcp")
        ended = tally(ledger, "--url", server.url, "--token", secret, "mcp")
        assert (ended.code, ended.out, ended.err) == (0, b"", "")


@pytest.mark.slow
def test_a_server_without_the_extra_is_named(tmp_path: Path) -> None:
    server = Served(tmp_path / "team.db", environment=hide_sdk(tmp_path))
    try:
        said = refused(tmp_path / "other.db", "--url", server.url, "mcp")
        assert server.url in said
        assert "pip install 'tallystick[mcp]'" in said
    finally:
        server.stop()


@pytest.mark.slow
def test_a_server_may_be_killed_and_started_again_behind_the_command(tmp_path: Path) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ledger = tmp_path / "team.db"
    decision = {"decision": "Go on", "confidence": 0.5, "idempotency_key": "once"}
    server = Served(ledger, "--port", port)

    async def session() -> None:
        nonlocal server
        async with Client(stdio("--url", server.url, "mcp")) as client:
            made = await answer(client, "record_decision", **decision)
            server.process.kill()
            server.process.wait()
            with pytest.raises(MCPError) as error:
                await client.call_tool("record_decision", decision)
            assert "did not answer" in error.value.message
            assert "idempotency_key" in error.value.data["advice"]
            server = Served(ledger, "--port", port)
            assert (await answer(client, "record_decision", **decision))["id"] == made["id"]
            assert (await answer(client, "query_decisions"))["total"] == 1

    try:
        run(session)
    finally:
        server.stop()
