"""The route of MCP: the streamable HTTP transport, without sessions."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from api.http.mcp_server import McpServer
from api.http.media_types import JSON
from api.http.operation import Answer, HttpOperation, json_answer
from api.http.request import read_body, read_request
from api.mcp.tool import TOOLSETS
from api.mcp.tool import Answer as ToolAnswer
from api.mcp.unread_message import refuse_message
from api.parameters import choice_list_parameter, flag_parameter
from api.principal import Principal
from api.service.view_queries import QueryTurns

SSE = "text/event-stream"

TOOLS_PARAMETER = choice_list_parameter("tools", "The toolsets to offer, by default decisions.", TOOLSETS)
READ_ONLY_PARAMETER = flag_parameter("read_only", "Whether to offer only tools that read.")


@HttpOperation(
    "POST",
    "/mcp",
    scopes=(),
    query=(TOOLS_PARAMETER, READ_ONLY_PARAMETER),
    body={JSON: {"type": "object"}},
    answers={
        200: Answer("The answer, with progress before it if the client asked for that.", {JSON: {}, SSE: {}}),
        202: Answer("A notification was sent; there is no answer."),
        404: json_answer("The method does not exist.", {"type": "object"}),
        406: Answer("The client does not accept application/json and text/event-stream."),
    },
    errors=(501,),
).raw
async def post_mcp(request: Request) -> Response:
    """Answer a message of MCP, the Model Context Protocol, of the revisions 2026-07-28 and 2025-11-25.

    `tools` and `read_only` select the tools to offer. A token without the scope `append` is offered no tool that
    writes. Nothing is kept between two messages.
    """
    call = read_request(request, (), (TOOLS_PARAMETER, READ_ONLY_PARAMETER))
    request.scope["mcp"] = {
        "ledger": call.ledger,
        "caller": call.caller,
        "run_view": _queries(request.app.state.queries, call.caller),
        "toolsets": TOOLS_PARAMETER.read(call.parameters),
        "read_only": READ_ONLY_PARAMETER.read(call.parameters),
    }
    body = await read_body(request.scope, request.receive)
    if (refused := refuse_message(body)) is not None:
        return Response(refused.encode(), media_type=JSON)
    server: McpServer = request.app.state.mcp
    await server.start()
    return server.exchange(body)


def _queries(
    turns: QueryTurns, caller: Principal
) -> Callable[[Callable[[], Awaitable[ToolAnswer]]], Awaitable[ToolAnswer]]:
    """Return a function that computes a view when it is its token's turn. The SDK cancels it if the client leaves."""

    async def run(work: Callable[[], Awaitable[ToolAnswer]]) -> ToolAnswer:
        async def compute() -> ToolAnswer:
            return await work()

        async def stay() -> None:
            await asyncio.Event().wait()

        answer = await turns.run(compute, caller.use, stay)
        assert answer is not None, "only a client that has left gets no answer"
        return answer

    return run
