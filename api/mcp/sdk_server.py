"""The server of the SDK: its handlers decode, call a tool, a resource or a prompt, encode. Needs the extra `mcp`."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from api.errors import INVALID_PARAMS
from api.mcp.prompts import PROMPTS, PromptArgument, find_prompt
from api.mcp.refusal import Refusal
from api.mcp.resources import RESOURCES, read_resource
from api.mcp.tool import Answer, Tool
from api.mcp.tool_call import Access, Work, call_tool
from api.mcp.toolsets import TOOLS, Offer, make_offer
from api.principal import Principal
from api.service.ledger import LedgerService
from api.text_format import to_json
from projections.engine import Progress

Context = ServerRequestContext[Any, Any]
Session = tuple[Access, Offer]
"""Who calls, and what the connection offers."""

LIST_TTL_MS = 300_000
"""How long a client may keep the lists, which only a new version of the server changes."""

JSON = "application/json"

INSTRUCTIONS = (
    "A ledger of decisions. Before a decision call pre_action; record it with record_decision and your confidence;"
    " when the outcome is known call review_outcome. Answers of tools that read end with as_of: the position and the"
    " root of the log that they rest on. A refusal names the field and says what to send instead."
)


def make_server(session_of: Callable[[Context], Session]) -> "Server[Any]":
    """Return the server; `session_of` returns who calls, and what the connection offers."""
    handlers = _Handlers(session_of)
    lists = CacheHint(ttl_ms=LIST_TTL_MS, scope="private")
    return Server(
        "tallystick",
        version=version("tallystick"),
        title="Tallystick",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": lists,
            "resources/list": lists,
            "resources/templates/list": lists,
            "prompts/list": lists,
            "server/discover": lists,
        },
        get_tool_input_schema=_SCHEMAS.get,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


_SCHEMAS = {name: tool.input_schema for tool in TOOLS for name in (tool.name, *tool.also)}


def make_session(
    context: Context,
    *,
    ledger: LedgerService,
    caller: Principal,
    run_view: Callable[[Work], Awaitable[Answer]],
    toolsets: tuple[str, ...],
    read_only: bool,
) -> Session:
    """Return who calls over HTTP, and what the connection offers."""
    offer = make_offer(toolsets, read_only)
    return Access(ledger, offer.limit(caller), run_view, progress_of(context)), offer


def progress_of(context: Context) -> Progress:
    """Return a function that tells the client how far a call is, if it asked for that."""
    waiting: list[asyncio.Task[None]] = []

    def report(position: int, head: int) -> None:
        if not waiting or waiting[-1].done():
            waiting.append(asyncio.create_task(_send(context, position, head)))

    return report


async def _send(context: Context, position: int, head: int) -> None:
    await context.session.report_progress(position, head, f"{position:,} of {head:,} events folded")


class _Handlers:
    def __init__(self, session_of: Callable[[Context], Session]) -> None:
        self._session_of = session_of

    async def list_tools(self, context: Context, params: Any) -> types.ListToolsResult:  # noqa: ANN401 - the SDK's
        access, offer = self._session_of(context)
        return types.ListToolsResult(tools=[_tool(tool) for tool in offer.tools(access.caller)])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        access, offer = self._session_of(context)
        tool = offer.find(access.caller, params.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}", _unknown_tool(params.name, access, offer))
        try:
            answer = await call_tool(tool, access, params.arguments or {})
        except Refusal as refusal:
            return types.CallToolResult(content=[_text(refusal.to_answer())], is_error=True)
        return types.CallToolResult(content=[_text(answer)], structured_content=answer)

    async def list_resources(self, context: Context, params: Any) -> types.ListResourcesResult:  # noqa: ANN401
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=it.uri, name=it.name, title=it.title, description=it.description, mime_type=JSON)
                for it in RESOURCES
                if not it.is_template
            ]
        )

    async def list_templates(self, context: Context, params: Any) -> types.ListResourceTemplatesResult:  # noqa: ANN401
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=it.uri, name=it.name, title=it.title, description=it.description, mime_type=JSON
                )
                for it in RESOURCES
                if it.is_template
            ]
        )

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        access, _ = self._session_of(context)
        uri = str(params.uri)
        try:
            answer = await read_resource(access, uri)
        except Refusal as refusal:
            raise MCPError(INVALID_PARAMS, refusal.error, {"uri": uri, **refusal.to_answer()}) from None
        content = types.TextResourceContents(uri=uri, mime_type=JSON, text=to_json(answer).decode())
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(self, context: Context, params: Any) -> types.ListPromptsResult:  # noqa: ANN401
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                    arguments=[_argument(argument) for argument in prompt.arguments],
                )
                for prompt in PROMPTS
            ]
        )

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        try:
            prompt = find_prompt(params.name)
            text = prompt.fill(params.arguments or {})
        except Refusal as refusal:
            raise MCPError(INVALID_PARAMS, refusal.error, refusal.to_answer()) from None
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompt.description, messages=[message])


def _tool(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(**tool.annotations),
    )


def _text(answer: dict[str, Any]) -> types.TextContent:
    return types.TextContent(text=to_json(answer).decode())


def _unknown_tool(name: str, access: Access, offer: Offer) -> dict[str, str]:
    """Return the data of the error for a tool that the caller does not see, with the way to it if there is one."""
    tool = next((tool for tool in TOOLS if name in (tool.name, *tool.also)), None)
    if tool is None:
        return {"advice": "tools/list names the tools."}
    if tool.toolset not in offer.toolsets:
        return {"advice": f"It is in the toolset {tool.toolset}: connect with tools={tool.toolset}."}
    return {"advice": f"It needs a connection that may write, and a token with the scope {tool.scope}."}


def _argument(argument: PromptArgument) -> types.PromptArgument:
    return types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
