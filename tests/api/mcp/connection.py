"""Connections of the SDK's client to Tallystick: over HTTP, over standard streams, and passed on to a server."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.paths import ROOT
from tests.support.server import served

pytest.importorskip("mcp")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

Json = dict[str, Any]
EVERY_TOOLSET = "decisions,links,discovery,evaluations,proof"
TRANSPORTS = ("http", "http-legacy", "stdio", "stdio-legacy", "relay")
"""HTTP and standard streams, each in both eras of the protocol, and standard streams that a server answers."""


def mode_of(transport: str) -> str:
    """Which era the client speaks."""
    return "legacy" if transport.endswith("legacy") else "auto"


def stdio(*words: str) -> StdioServerParameters:
    """The command that a client starts."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "tallystick", *words], env=dict(os.environ), cwd=str(ROOT)
    )


@asynccontextmanager
async def connected(transport: str, ledger: Path, tools: str = EVERY_TOOLSET) -> AsyncIterator[Client]:
    """Connect to a ledger."""
    mode: Any = mode_of(transport)
    if transport.startswith("stdio"):
        async with Client(stdio("--ledger", str(ledger), "mcp", "--tools", tools), mode=mode) as client:
            yield client
        return
    with served(ledger) as server:
        target: Any = f"{server.url}/mcp?tools={tools}"
        if transport == "relay":
            target = stdio("--url", server.url, "mcp", "--tools", tools)
        async with Client(target, mode=mode) as client:
            yield client


def run(work: Callable[[], Awaitable[None]]) -> None:
    """Run a scenario."""

    async def main() -> None:
        await work()

    asyncio.run(main())


async def answer(client: Client, tool: str, **arguments: object) -> Json:
    """The structured answer of a tool, which equals its text."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert content.type == "text"
    assert not result.is_error, content.text
    structured = result.structured_content
    assert isinstance(structured, dict)
    assert msgspec.json.decode(content.text) == structured
    return structured


async def refusal(client: Client, tool: str, **arguments: object) -> Json:
    """What a refused call says."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result
    assert result.structured_content is None
    (content,) = result.content
    assert content.type == "text"
    decoded: Json = msgspec.json.decode(content.text)
    assert set(decoded) <= {"error", "field", "advice"}
    return decoded
