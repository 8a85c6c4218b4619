"""The HTTP application over a real ledger file, in this process, behind an `httpx.Client`.

The application runs on an event loop of its own thread, as it does in a server; requests reach it without a socket.
What only a server process shows (limits of connections, heads of requests, feeds, signals) is tested with
`tests.support.server`.
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette

from api.http.app import make_app
from api.service.ledger import LedgerService

ADDRESS = "http://127.0.0.1:8321"
"""Where the application believes that it listens; nothing does."""

Result = TypeVar("Result")


class LoopThread:
    """An event loop that runs in a thread until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="application", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop to its end."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class ApplicationTransport(httpx.BaseTransport):
    """Hands requests of a synchronous client to an application on a loop. Answers are read whole."""

    def __init__(self, loop: LoopThread, app: Starlette) -> None:
        self._loop = loop
        self._application = httpx.ASGITransport(app, client=("127.0.0.1", 1))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._loop.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._application.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        body = b"".join([part async for part in response.stream])  # as it was sent: compressed or not
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(body))


@contextmanager
def application(ledger: Path) -> Iterator[httpx.Client]:
    """Open a ledger with the application on it; the value is a client of it."""
    loop = LoopThread()
    try:
        app = loop.run(_open(ledger))
        lifespan = app.router.lifespan_context(app)
        loop.run(lifespan.__aenter__())
        try:
            with httpx.Client(transport=ApplicationTransport(loop, app), base_url=ADDRESS) as client:
                yield client
        finally:
            loop.run(lifespan.__aexit__(None, None, None))
    finally:
        loop.close()


async def _open(ledger: Path) -> Starlette:
    """Open a ledger as a server does, and return the application on it."""
    service = await LedgerService.open(ledger, writable=True, address=ADDRESS, views=False)
    service.tokens.remember()
    await service.proving.start()
    return make_app(service)
