"""Pass MCP over standard input and output on to the `/mcp` of a server. Needs the extra `mcp`."""

from importlib.metadata import version
from typing import Any
from urllib.parse import urlencode

import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server
from mcp.shared._httpx_utils import create_mcp_http_client

from api.mcp.sdk_server import INSTRUCTIONS, Context
from api.mcp.stdio import run_on_standard_streams
from api.mcp.toolsets import Offer


async def serve_server(url: str, token: str | None, offer: Offer) -> None:
    """Serve the tools of a server until standard input ends."""
    parameters = {"tools": ",".join(offer.toolsets), **({"read_only": "true"} if offer.read_only else {})}
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    address = f"{url.rstrip('/')}/mcp?{urlencode(parameters)}"
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, cache=None) as client:
            await run_on_standard_streams(_relay(client))


def _relay(client: Client) -> "Server[Any]":
    """Return a server that passes each request on. Errors of the other server are passed back."""

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await client.list_tools()

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.session.report_progress(progress, total, message)

        return await client.call_tool(params.name, params.arguments or {}, progress_callback=report)

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return await client.list_resources()

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return await client.list_resource_templates()

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await client.read_resource(params.uri)

    async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return await client.list_prompts()

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await client.get_prompt(params.name, params.arguments)

    return Server(
        "tallystick",
        version=version("tallystick"),
        title="Tallystick",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
