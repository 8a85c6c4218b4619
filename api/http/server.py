"""The serving process: a socket, signals, and a stop that answers what was accepted."""

import asyncio
import gc
import resource
import socket
import ssl
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import structlog
import uvicorn
from starlette.applications import Starlette

from api.auth import TokenStore
from api.http.app import make_app
from api.http.connection import HttpConnection
from api.http.logging import configure_logging
from api.http.origin_guard import HEADERS, TLS_HEADERS, is_loopback
from api.rate_limit import Rate
from api.service.ledger import LedgerService
from events.limits import CONNECTIONS_MAX, HEAD_S, IDLE_S
from ledger.errors import InvalidQuery
from projections.engine import Progress

STOP_S = 30
"""How long a stop waits for answers under way."""

FILES = 128
"""Files that the ledger and its readers have open beside the connections."""

LOOK_TICKS = 10
"""Every how many ticks of uvicorn, ten a second, it is looked at who takes too long."""

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, what TLS 1.3 does too: forward secrecy and authenticated encryption. Older versions are not spoken."""

log = structlog.get_logger()


class TlsFiles(NamedTuple):
    """A certificate with its chain, and its key."""

    cert: Path
    key: Path


class ServerSettings(NamedTuple):
    """On what terms the door stands open: how fast a token may go, how many connections there may be, and TLS."""

    rate: Rate | None = None
    connections: int = CONNECTIONS_MAX
    tls: TlsFiles | None = None


class Server(uvicorn.Server):
    """uvicorn, with connections of ours, that ends feeds when it stops: they would keep it waiting for ever."""

    def __init__(self, config: uvicorn.Config, service: LedgerService, connections_max: int) -> None:
        super().__init__(config)
        self._ledger = service
        self._connections_max = connections_max

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; uvicorn would give a TLS handshake a minute, and know no bounds."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        app = self.config.app
        assert isinstance(app, Starlette)

        def connect() -> HttpConnection:
            return HttpConnection(
                self.config, self.server_state, self.lifespan.state,
                ledger=self._ledger, metrics=app.state.metrics,
                headers=HEADERS + TLS_HEADERS if self.config.is_ssl else HEADERS,
                connections_max=self._connections_max,
            )  # fmt: skip

        loop = asyncio.get_running_loop()
        handshake_s = HEAD_S if self.config.ssl else None
        self.servers = [
            await loop.create_server(connect, sock=listening, ssl=self.config.ssl, ssl_handshake_timeout=handshake_s)
            for listening in sockets or ()
        ]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        if counter % LOOK_TICKS == 0:
            now_s = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                assert isinstance(connection, HttpConnection)
                connection.look(now_s)
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on a signal and return, so that what follows a stop is done, and the process ends well.

        uvicorn would raise the signal again: the process would die of it, and never say that it stopped.
        """
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        assert isinstance(app, Starlette)
        app.state.stopping.set()
        log.info("stopping")
        await super().shutdown(sockets)
        if self.force_exit:  # by a second Ctrl-C: nobody is waited for, and the ledger is closed all the same
            for connection in list(self.server_state.connections):
                assert isinstance(connection, HttpConnection)
                connection.transport.abort()
            await self.lifespan.shutdown()


def bind(host: str, port: int, ledger: Path) -> socket.socket:
    """A listening socket. Errors: InvalidQuery, for an address that is taken, or open to others without a token."""
    if not is_loopback(host) and not TokenStore(ledger).list():
        raise InvalidQuery(
            "host",
            f"listening on {host} without any token would let everybody on the network write.",
            "Make a token first: tallystick token add AGENT. Or listen on 127.0.0.1.",
        )
    return bind_any(host, port)


def bind_any(host: str, port: int) -> socket.socket:
    """A listening socket on any address. Errors: InvalidQuery, for an address that is taken."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(2048)
    except (OSError, OverflowError) as error:
        raise InvalidQuery("port", f"{host}:{port} cannot be listened on: {error}.", "Choose another --port.") from None
    listening.setblocking(False)
    return listening


def check_tls(tls: TlsFiles) -> None:
    """Errors: InvalidQuery, for files that are no certificate, or no key of it."""

    def no_password() -> str:
        raise InvalidQuery("tls-key", f"{tls.key} is encrypted.", "Decrypt it: openssl pkey -in KEY -out PLAIN.")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert, tls.key, no_password)
    except OSError as error:
        said = error.strerror or error
        raise InvalidQuery(
            "tls-cert", f"{tls.cert} and {tls.key} cannot be used: {said}.", "Name PEM files that belong together."
        ) from None


def make_room(connections: int) -> int:
    """Let the process open as many files as it needs; how many connections there is room for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = connections + FILES
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == unlimited else max(1, min(connections, soft - FILES))


def uvicorn_config(app: Starlette) -> uvicorn.Config:
    """How the server runs; the benchmarks run the bare handler so, too."""
    return uvicorn.Config(
        app,
        http="httptools",
        loop="uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
    )


def guarded_config(app: Starlette, tls: TlsFiles | None) -> uvicorn.Config:
    """How the server runs, guarded."""
    config = uvicorn_config(app)
    config.timeout_keep_alive = IDLE_S
    config.ws = "none"
    if tls is not None:
        config.ssl_certfile, config.ssl_keyfile, config.ssl_ciphers = tls.cert, tls.key, CIPHERS
    return config


def settle_collector() -> None:
    """Leave what stands out of garbage collection, and collect less often.

    Almost nothing here makes cycles; at the default thresholds a tenth of a busy server's time went into looking for
    them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def serve(
    ledger: Path,
    listening: socket.socket,
    log_level: str,
    terms: ServerSettings,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a ledger on a socket until a signal; tell `announce` the address. Errors: LedgerLocked, LedgerUnusable."""
    configure_logging(log_level)
    host, port = listening.getsockname()[:2]
    address = f"http{'s' if terms.tls else ''}://{f'[{host}]' if ':' in host else host}:{port}"
    service = await LedgerService.open(ledger, writable=True, address=address, progress=progress, views=False)
    service.tokens.rate = terms.rate
    service.tokens.exposed = not is_loopback(host)
    await service.proving.start()
    config = guarded_config(make_app(service), terms.tls)
    if terms.tls is None and service.tokens.exposed:
        log.warning("clear", advice="Tokens and events travel unencrypted: serve --tls-cert --tls-key, or a proxy.")
    settle_collector()
    log.info("serving", address=address, ledger=str(ledger), head=(await service.reader.head()).position)
    announce(address)
    await Server(config, service, make_room(terms.connections)).serve(sockets=[listening])
    log.info("stopped", ledger=str(ledger))
