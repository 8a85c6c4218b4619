"""Pass MCP over standard input and output on to the `/mcp` of a server. Needs the extra `mcp`."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any, TypeVar
from urllib.parse import urlencode

import httpx2
import mcp_types as types
from mcp import MCPError
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.lowlevel import Server

from api.client.open_store import open_remote_store
from api.errors import ExtraMissing
from api.mcp.sdk_server import INSTRUCTIONS, Context
from api.mcp.stdio import run_on_standard_streams
from api.mcp.toolsets import Offer

CONNECT_S, SILENCE_S = 30.0, 300.0
"""Seconds to connect to the server, and seconds without a part of its answer, after which a request fails."""

REVISION = "2026-07-28"
"""The revision that is spoken with the server. Its requests need no session, so a server may stop in between."""

_DISCOVER: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "tallystick", "version": version("tallystick")},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}

_Result = TypeVar("_Result")


async def serve_server(url: str, token: str | None, offer: Offer) -> None:
    """Serve the tools of a server until standard input ends.

    Errors: LedgerUnavailable, UnexpectedAnswer, and those that the server answers, if it offers no MCP now.
    """
    parameters = {"tools": ",".join(offer.toolsets), **({"read_only": "true"} if offer.read_only else {})}
    path = f"/mcp?{urlencode(parameters)}"
    announced = {"mcp-protocol-version": REVISION, "mcp-method": _DISCOVER["method"]}
    async with open_remote_store(url, token) as store:
        try:
            await store.post("/mcp", _DISCOVER, dict[str, Any], params=parameters, headers=announced)
        except ExtraMissing as error:
            raise ExtraMissing(f"The server at {url} cannot answer: {error.detail}", error.advice) from None
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    timeout = httpx2.Timeout(CONNECT_S, read=SILENCE_S)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout) as connections:
        await run_on_standard_streams(_relay(_RemoteServer(url, path, connections)))


class _RemoteServer:
    """The server that answers. Each request is sent by itself, so the server may be started again between two."""

    def __init__(self, url: str, path: str, connections: httpx2.AsyncClient) -> None:
        self._url = url
        self._address = f"{url.rstrip('/')}{path}"
        self._connections = connections

    async def ask(self, call: Callable[[Client], Awaitable[_Result]]) -> _Result:
        """Return the answer to one request. Errors: MCPError, also if there is no answer."""
        try:
            transport = streamable_http_client(self._address, http_client=self._connections)
            async with Client(transport, mode=REVISION, cache=None) as client:
                try:
                    return await call(client)
                except MCPError as error:
                    refused = error
        except ExceptionGroup as failed:
            raise _unreachable(self._url, failed) from failed
        raise refused


def _unreachable(url: str, failed: ExceptionGroup[Exception]) -> MCPError:
    """Return the error for a request that was not answered."""
    cause: Exception = failed
    while isinstance(cause, ExceptionGroup):
        cause = cause.exceptions[0]
    advice = "Repeat the call when the server runs; with idempotency_key nothing is written twice."
    return MCPError(types.INTERNAL_ERROR, f"{url} did not answer: {cause}.", {"advice": advice})


def _relay(server: _RemoteServer) -> "Server[Any]":
    """Return a server that passes each request on. Errors of the other server are passed back."""

    async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await server.ask(lambda client: client.list_tools())

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.session.report_progress(progress, total, message)

        arguments = params.arguments or {}
        return await server.ask(lambda client: client.call_tool(params.name, arguments, progress_callback=report))

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return await server.ask(lambda client: client.list_resources())

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return await server.ask(lambda client: client.list_resource_templates())

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await server.ask(lambda client: client.read_resource(params.uri))

    async def list_prompts(context: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return await server.ask(lambda client: client.list_prompts())

    async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return await server.ask(lambda client: client.get_prompt(params.name, params.arguments))

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
