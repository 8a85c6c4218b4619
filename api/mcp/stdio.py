"""MCP over standard input and output, on a ledger. Needs the extra `mcp`."""

from contextvars import Context
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from api.mcp.sdk_server import Context as RequestContext
from api.mcp.sdk_server import Session, make_server, progress_of
from api.mcp.tool_call import Access
from api.mcp.toolsets import Offer
from api.mcp.unread_message import refuse_message
from api.principal import OWNER
from api.service.ledger import LedgerService
from ledger.place import Place

UNANSWERED_S = 600.0
"""How long, after standard input has ended, the requests that are under way have to be answered."""


async def serve_ledger(place: Place | Path, offer: Offer) -> None:
    """Serve a ledger until standard input ends. Errors: LedgerLocked, LedgerUnusable."""
    service = await LedgerService.open(place, writable=not offer.read_only, views=False)
    access = Access(service, offer.limit(OWNER))

    def session_of(context: RequestContext) -> Session:
        return replace(access, report=progress_of(context)), offer

    try:
        await run_on_standard_streams(make_server(session_of))
    finally:
        await service.close()


async def run_on_standard_streams(server: "Server[Any]") -> None:
    """Answer the requests on standard input until it ends, and those that are under way then."""
    async with stdio_server() as (incoming, outgoing):
        unanswered = _Unanswered()
        answers = _Answers(outgoing, unanswered)
        requests = _Requests(incoming, answers, unanswered)
        await server.run(requests, answers, server.create_initialization_options())


class _Unanswered:
    """The ids of the requests that were read and are not answered yet."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._changed = anyio.Event()

    def read(self, item: SessionMessage | Exception) -> None:
        """Note a message of the client. A request that it cancels is not answered."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._answer((message.params or {}).get("requestId"))

    def written(self, item: SessionMessage) -> None:
        """Note a message to the client."""
        if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
            self._answer(item.message.id)

    async def wait(self) -> None:
        """Wait until every request is answered, for UNANSWERED_S at most."""
        with anyio.move_on_after(UNANSWERED_S):
            while self._ids:
                await self._changed.wait()

    def _answer(self, request_id: types.RequestId | None) -> None:
        self._ids.discard(request_id)
        self._changed.set()
        self._changed = anyio.Event()


class _Requests:
    """The messages of a client. They end once the requests among them are answered: the SDK drops the others then.

    A message that the SDK cannot read is answered here, if it is known what is wrong and which call it is.
    """

    def __init__(self, inner: Any, answers: "_Answers", unanswered: _Unanswered) -> None:  # noqa: ANN401 - the SDK types its streams privately
        self._inner = inner
        self._answers = answers
        self._unanswered = unanswered

    @property
    def last_context(self) -> Context | None:
        found: Context | None = self._inner.last_context
        return found

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._inner.receive()
        except anyio.EndOfStream:
            await self._unanswered.wait()
            raise
        if isinstance(item, ValidationError) and (answer := _answer_to_unread(item)) is not None:
            await self._answers.send(answer)
        self._unanswered.read(item)
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


class _Answers:
    """The messages to a client."""

    def __init__(self, inner: Any, unanswered: _Unanswered) -> None:  # noqa: ANN401 - as above
        self._inner = inner
        self._unanswered = unanswered

    async def send(self, item: SessionMessage) -> None:
        await self._inner.send(item)
        self._unanswered.written(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()


def _answer_to_unread(error: ValidationError) -> SessionMessage | None:
    """Return the answer to a line that the SDK could not read; None, if it is not known which call it is."""
    line = error.errors(include_url=False)[0]["input"]
    refused = refuse_message(line.encode(errors="replace")) if isinstance(line, str) else None
    if refused is None or refused.call_id is None:
        return None
    data = types.ErrorData(**refused.error)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=refused.call_id, error=data))
