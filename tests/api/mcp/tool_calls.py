"""Call tools of the application in this process, without the SDK's client."""

from typing import Any

import httpx

from tests.api.mcp.test_tools_list import post


def mcp_address(client: httpx.Client) -> str:
    """The address of MCP on the server of a client."""
    return f"{str(client.base_url).rstrip('/')}/mcp"


def call(address: str, tool: str, **arguments: object) -> dict[str, Any]:
    """The result of a call of a tool."""
    result: dict[str, Any] = post(address, "tools/call", name=tool, arguments=arguments).json()["result"]
    return result
