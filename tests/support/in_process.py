"""Run the HTTP application and commands in this process: the gate does, and parts start processes instead.

The application runs on an event loop of its own thread, as it does in a server, over a real ledger file. Requests of
httpx to its address reach it without a socket. What only a server process shows (limits of connections, heads of
requests, feeds, signals) is tested with `tests.support.server` in a part.
"""

import asyncio
import io
import itertools
import os
import sys
import time
import traceback
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from unittest import mock

import httpx
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support import gate_guard

if TYPE_CHECKING:
    from api.http.server import ServerSettings
    from ledger.place import Place

HOST = "127.0.0.1"
PORTS = range(100, 1_000)
"""Applications have these ports in their addresses. No server of a test has one, and httpx leaves none out, as 80."""

Result = TypeVar("Result")


class Ended(NamedTuple):
    """A command that has ended: its exit code, and what it wrote."""

    code: int
    out: bytes
    err: bytes


class _LoopThread:
    """An event loop that runs in a thread until it is closed."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self.loop.run_forever, name="application", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine on the loop to its end."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def close(self) -> None:
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Application:
    """The application on a ledger, open until it is closed. `url` is its address, for httpx in this process alone."""

    _ports = itertools.cycle(PORTS)
    open: "dict[int, Application]" = {}  # noqa: RUF012 - all applications of this process, by port

    def __init__(self, place: "Place | Path", settings: "ServerSettings | None" = None) -> None:
        from api.http.server import DEFAULT_SETTINGS, open_app  # noqa: PLC0415 - only tests that use it pay for it

        _silence_server_log()
        port = next(port for port in self._ports if port not in self.open)
        self.url = f"http://{HOST}:{port}"
        self._loop = _LoopThread()
        try:
            app = self._loop.run(open_app(place, self.url, settings or DEFAULT_SETTINGS))
            self._lifespan = app.router.lifespan_context(app)
            self._loop.run(self._lifespan.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        self._transport = httpx.ASGITransport(_without_feeds(app), client=(HOST, 1))
        self._port = port
        self.open[port] = self

    def close(self) -> None:
        if self.open.pop(self._port, None) is not None:
            self._loop.run(self._lifespan.__aexit__(None, None, None))
            self._loop.close()

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a synchronous client, whole."""
        request.read()
        return self._loop.run(self._answer(request))

    async def answer_async(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an asynchronous client, whole."""
        await request.aread()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(request), self._loop.loop))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        response = await self._transport.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        body = b"".join([part async for part in response.stream])  # as it was sent: compressed or not
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(body))


def _without_feeds(app: ASGIApp) -> ASGIApp:
    """Return an application that refuses to begin a feed: it has no end, and answers are read whole."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_or_refuse(message: Message) -> None:
            if any(value.startswith(b"text/event-stream") for _, value in message.get("headers", ())):
                gate_guard.guard.refuse("follows a feed")
            await send(message)

        await app(scope, receive, send_or_refuse if scope["method"] == "GET" else send)

    return answer


def install() -> None:
    """Let requests of httpx to the address of an application reach it."""
    send, send_async = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def handle(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        found = _addressed(request)
        return found.answer(request) if found is not None else send(self, request)

    async def handle_async(self: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        found = _addressed(request)
        return await (found.answer_async(request) if found is not None else send_async(self, request))

    httpx.HTTPTransport.handle_request = handle  # type: ignore[method-assign]
    httpx.AsyncHTTPTransport.handle_async_request = handle_async  # type: ignore[method-assign]


def _addressed(request: httpx.Request) -> Application | None:
    return Application.open.get(request.url.port or 0) if request.url.host == HOST else None


@contextmanager
def application(ledger: Path) -> Iterator[httpx.Client]:
    """Open a ledger with the application on it; the value is a client of it."""
    opened = Application(ledger)
    try:
        with httpx.Client(base_url=opened.url) as client:
            yield client
    finally:
        opened.close()


def served_application(ledger: Path | str, serve_args: Sequence[str]) -> Application:
    """Open the application as `tallystick serve` would with these arguments. It refuses wrong ones."""
    from api.cli.commands import serve  # noqa: PLC0415 - only tests that use it pay for it

    with mock.patch.object(serve, "_run") as run:
        ended = command(["--ledger", str(ledger), "serve", *serve_args], b"", os.environ)
    assert ended.code == 0, ended.err
    place, *_, settings = run.call_args.args
    return Application(place, settings)


def command(words: Sequence[str], given: bytes, environment: Mapping[str, str]) -> Ended:
    """Run `tallystick WORDS` in this process, with streams and an environment of its own, to its end."""
    from api.cli.main import run  # noqa: PLC0415 - as above
    from api.cli.standard_streams import escape_standard_output  # noqa: PLC0415 - as above

    with (
        TemporaryFile(buffering=0) as unbuffered,
        io.BufferedReader(unbuffered) as given_file,
        TemporaryFile() as out,
        TemporaryFile() as err,
    ):
        unbuffered.write(given)
        unbuffered.seek(0)
        with _process_state(["tallystick", *words], environment):
            sys.stdin = io.TextIOWrapper(given_file, encoding="utf-8")
            sys.stdout = io.TextIOWrapper(out, encoding="utf-8")
            sys.stderr = io.TextIOWrapper(err, encoding="utf-8", errors="backslashreplace", line_buffering=True)
            escape_standard_output()
            try:
                code = run()
            except Exception:  # noqa: BLE001 - it would end a process with a traceback
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            sys.stderr.flush()
            for file in (out, err):
                file.seek(0)
            return Ended(code, out.read(), err.read())


@contextmanager
def _process_state(arguments: list[str], environment: Mapping[str, str]) -> Iterator[None]:
    """Give this process other arguments, streams and variables for a time."""
    streams = sys.stdin, sys.stdout, sys.stderr
    with mock.patch.object(sys, "argv", arguments), mock.patch.dict(os.environ, environment, clear=True):
        time.tzset()
        try:
            yield
        finally:
            for stream in (sys.stdin, sys.stdout, sys.stderr):
                if stream not in streams and isinstance(stream, io.TextIOWrapper):
                    stream.detach()  # its file is closed by who opened it
            sys.stdin, sys.stdout, sys.stderr = streams
    time.tzset()


def _silence_server_log() -> None:
    """Drop the lines of a server's log: this process has no standard error of a server."""
    import structlog  # noqa: PLC0415 - only tests that use it pay for it

    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)
