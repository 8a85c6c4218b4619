"""The MCP server of an application. It is imported and started when the first call arrives, not before."""

import asyncio
import importlib
from typing import Any

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from api.errors import ExtraMissing

SDK_MODULE = "api.mcp.sdk_server"
MANAGER_MODULE = "mcp.server.streamable_http_manager"


class McpServer:
    """The SDK's server for one application; it keeps no sessions."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._ending = asyncio.Event()
        self._manager: Any = None
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the server, if it does not run. Errors: ExtraMissing."""
        async with self._starting:
            if self._manager is not None:
                return
            try:
                sdk = await asyncio.to_thread(importlib.import_module, SDK_MODULE)
                managers = await asyncio.to_thread(importlib.import_module, MANAGER_MODULE)
            except ModuleNotFoundError as error:
                raise extra_missing() from error
            manager = managers.StreamableHTTPSessionManager(app=sdk.make_server(_session_of), stateless=True)
            started = asyncio.Event()
            self._running = asyncio.create_task(self._run(manager, started), name="mcp")
            await started.wait()
            self._manager = manager

    async def close(self) -> None:
        """End the server, if it runs."""
        self._ending.set()
        if self._running is not None:
            await self._running

    def exchange(self, body: bytes) -> Response:
        """Return the answer to a request with a body. The server must have been started."""
        return _Exchange(self._manager, body)

    async def _run(self, manager: Any, started: asyncio.Event) -> None:  # noqa: ANN401 - of an optional package
        async with manager.run():
            started.set()
            await self._ending.wait()


class _Exchange(Response):
    """An answer that the SDK writes."""

    def __init__(self, manager: Any, body: bytes) -> None:  # noqa: ANN401 - of an optional package
        self._manager = manager
        self._received = body
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pending: list[Message] = [{"type": "http.request", "body": self._received, "more_body": False}]

        async def replay() -> Message:
            return pending.pop() if pending else await receive()

        # httptools leaves blanks at the end of a value, which RFC 9110 excludes; the SDK compares values.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        await self._manager.handle_request({**scope, "headers": headers}, replay, send)


def _session_of(context: Any) -> Any:  # noqa: ANN401 - types of an optional package
    return importlib.import_module(SDK_MODULE).make_session(context, **context.request.scope["mcp"])


def extra_missing() -> ExtraMissing:
    """Return the error for MCP without its packages."""
    return ExtraMissing("MCP needs packages that are not installed.", "Install them: pip install 'tallystick[mcp]'.")
