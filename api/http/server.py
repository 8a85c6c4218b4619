"""The server process: listens, handles signals, and answers accepted requests before it stops."""

import asyncio
import gc
import resource
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

import uvicorn
from starlette.applications import Starlette

from api.http.app import make_app
from api.http.audit_log import AuditLog
from api.http.connection import HttpConnection
from api.http.connection_table import ConnectionTable
from api.http.json_log import configure_logging
from api.http.limits import DEFAULT_LIMITS, RequestLimits, RunningRequests
from api.http.memory_trim import limit_free_memory
from api.http.origin_guard import is_loopback
from api.http.security_headers import HEADERS, TLS_HEADERS
from api.rate_limit import Rate
from api.service.ledger import LedgerService
from api.service.server_log import log
from api.service.shared_tokens import open_tokens
from events.limits import CONNECTIONS_REFUSED_MAX, CONNECTIONS_RESERVED, HEAD_S, IDLE_S
from ledger.errors import InvalidQuery
from ledger.place import Place
from projections.engine import Progress

if TYPE_CHECKING:
    from api.importers.observe.webhooks import ForgeReceiver
    from instruments.evals.scoring.embeddings_client import EmbeddingsClient

STOP_S = 30
"""Seconds that a stop waits for unfinished answers that their clients read."""

STOP_STALLED_S = 2
"""Seconds that a stop waits for the rest of a request, and for a client that does not read its answer."""

LEDGER_FILES_MAX = 128 + CONNECTIONS_RESERVED + CONNECTIONS_REFUSED_MAX
"""Files that the ledger and its readers may have open, and connections beyond the limit."""

SWITCH_S = 0.0001
"""Seconds for which a thread that computes a view keeps the interpreter while requests wait. Python's default is 5 ms,
which a request waits for several times."""

LISTEN_BACKLOG = 2_048
"""Connections that the kernel keeps until the server accepts them."""

PORT_MAX = 65_535

CHECK_TICKS = 10
"""Ticks of uvicorn between two checks of the connections' deadlines. uvicorn has ten ticks a second."""

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""The ciphers of TLS 1.2 with the properties of TLS 1.3: forward secrecy and authenticated encryption."""


class TlsFiles(NamedTuple):
    """The paths of the certificate with its chain, and of its key."""

    cert: Path
    key: Path


class ServerSettings(NamedTuple):
    """Limits, TLS, whether callers need a token, the audit log, embeddings, and the forges that may send webhooks.

    None: no rate limit; no TLS; a token is needed if the ledger has or had one; no audit log, embeddings or forges.
    """

    rate: Rate | None = None
    limits: RequestLimits = DEFAULT_LIMITS
    tls: TlsFiles | None = None
    require_tokens: bool | None = None
    audit: AuditLog | None = None
    embeddings: "EmbeddingsClient | None" = None
    receivers: "Mapping[str, ForgeReceiver] | None" = None


DEFAULT_SETTINGS = ServerSettings()


class Server(uvicorn.Server):
    """uvicorn with `HttpConnection`. It ends feeds when it stops, since a feed does not end by itself."""

    def __init__(self, config: uvicorn.Config, service: LedgerService, table: ConnectionTable) -> None:
        super().__init__(config)
        self._ledger = service
        self._table = table

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen with `HttpConnection`; uvicorn's connections have no limits, and a minute for a TLS handshake."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(1)
        app = self.config.app
        assert isinstance(app, Starlette)

        def connect() -> HttpConnection:
            return HttpConnection(
                self.config, self.server_state, self.lifespan.state,
                ledger=self._ledger, metrics=app.state.metrics, refusal_log=app.state.refusal_log,
                headers=TLS_HEADERS if self.config.is_ssl else HEADERS, table=self._table,
            )  # fmt: skip

        loop = asyncio.get_running_loop()
        handshake_s = HEAD_S if self.config.ssl else None
        self.servers = [
            await loop.create_server(
                connect,
                sock=listener,
                backlog=LISTEN_BACKLOG,
                ssl=self.config.ssl,
                ssl_handshake_timeout=handshake_s,
            )
            for listener in sockets or ()
        ]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        if counter % CHECK_TICKS == 0:
            now_s = asyncio.get_running_loop().time()
            for connection in list(self.server_state.connections):
                assert isinstance(connection, HttpConnection)
                connection.check_deadlines(now_s)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal, and let the caller finish; a second Ctrl-C does not wait for clients.

        uvicorn would send the signal again at the end, which kills the process before it logs that it has stopped.
        """
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self.config.app
        assert isinstance(app, Starlette)
        requests: RunningRequests = app.state.requests
        app.state.stopping.set()
        log.info("stopping")
        requests.end_feeds()
        app.state.queries.stop()
        end_stalled = asyncio.create_task(self._end_stalled())
        await super().shutdown(sockets)
        end_stalled.cancel()
        if self.force_exit:  # a second Ctrl-C: close the ledger without waiting for clients
            for connection in list(self.server_state.connections):
                assert isinstance(connection, HttpConnection)
                connection.transport.abort()
            await self.lifespan.shutdown()

    async def _end_stalled(self) -> None:
        """End the connections that keep a stopping server: after STOP_STALLED_S, nothing new arrives on them."""
        while True:
            await asyncio.sleep(STOP_STALLED_S)
            for connection in list(self.server_state.connections):
                assert isinstance(connection, HttpConnection)
                connection.end_stalled()


def listen(host: str, port: int, place: Place) -> socket.socket:
    """Listen on an address. Errors: InvalidQuery, if it is in use, or is not loopback and no token exists."""
    if not is_loopback(host) and not open_tokens(place).list():
        raise InvalidQuery(
            "host",
            f"listening on {host} without any token would let everyone on the network write.",
            "Make a token first: tallystick token add AGENT. Or listen on 127.0.0.1.",
        )
    return listen_on_any_address(host, port)


def listen_on_any_address(host: str, port: int) -> socket.socket:
    """Listen on any address. Errors: InvalidQuery, if it is in use."""
    if not 0 <= port <= PORT_MAX:
        raise InvalidQuery("port", f"{port} is not a port.", f"Choose one of 0..{PORT_MAX}; 0 is any free one.")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(LISTEN_BACKLOG)
    except OSError as error:
        raise InvalidQuery("port", f"cannot listen on {host}:{port}: {error}.", "Choose another --port.") from None
    listener.setblocking(False)
    return listener


def check_tls(tls: TlsFiles) -> None:
    """Check that a certificate and its key can be used. Errors: InvalidQuery."""

    def no_password() -> str:
        raise InvalidQuery("tls-key", f"{tls.key} is encrypted.", "Decrypt it: openssl pkey -in KEY -out PLAIN.")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(tls.cert, tls.key, no_password)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidQuery(
            "tls-cert", f"{tls.cert} and {tls.key} cannot be used: {reason}.", "Name PEM files that belong together."
        ) from None


def raise_file_limit(connections: int) -> int:
    """Raise the limit of open files if it is too low; return how many connections the limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    files = connections + LEDGER_FILES_MAX
    if soft != unlimited and soft < files:
        soft = files if hard == unlimited else min(files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == unlimited else max(1, min(connections, soft - LEDGER_FILES_MAX))


def uvicorn_config(app: Starlette) -> uvicorn.Config:
    """Return the settings of uvicorn that the server and the bare server of the benchmarks share."""
    return uvicorn.Config(
        app,
        http="httptools",
        loop="uvloop",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        # no header may change the address by which connections are limited and logged
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
    )


def server_config(app: Starlette, tls: TlsFiles | None) -> uvicorn.Config:
    """Return the settings of uvicorn for the server."""
    config = uvicorn_config(app)
    config.timeout_keep_alive = IDLE_S
    config.ws = "none"
    if tls is not None:
        config.ssl_certfile, config.ssl_keyfile, config.ssl_ciphers = tls.cert, tls.key, CIPHERS
    return config


def tune_garbage_collection() -> None:
    """Exempt existing objects from garbage collection, and collect less often.

    Requests make almost no reference cycles; at the default thresholds a busy server spent a tenth of its time in
    garbage collection. What imports left behind, some hundred objects, is kept: finding it took 60 ms of each start.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def open_app(
    place: Place | Path,
    address: str,
    settings: ServerSettings = DEFAULT_SETTINGS,
    progress: Progress | None = None,
    *,
    exposed: bool = False,
) -> Starlette:
    """Open a ledger, and return the application on it. Errors: LedgerLocked, LedgerUnusable.

    `address` is where the application is served; `exposed` says whether others than this machine reach it.
    """
    service = await LedgerService.open(place, writable=True, address=address, progress=progress, views=False)
    service.indexes.endpoint = settings.embeddings
    service.tokens.rate = settings.rate
    service.tokens.exposed = exposed
    service.tokens.required_by_option = settings.require_tokens
    service.tokens.warn = lambda reason: log.error("tokens", reason=reason, ledger=str(place))
    service.tokens.remember()
    await service.proving.start()
    app = make_app(service, settings.limits, settings.audit)
    app.state.receivers = settings.receivers or {}
    return app


async def serve(
    place: Place | Path,
    listener: socket.socket,
    log_level: str,
    settings: ServerSettings,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a ledger until a signal stops it. Errors: LedgerLocked, LedgerUnusable.

    `announce` is called with the server's address.
    """
    configure_logging(log_level)
    limit_free_memory()
    host, port = listener.getsockname()[:2]
    address = f"http{'s' if settings.tls else ''}://{f'[{host}]' if ':' in host else host}:{port}"
    app = await open_app(place, address, settings, progress, exposed=not is_loopback(host))
    service: LedgerService = app.state.ledger
    config = server_config(app, settings.tls)
    if settings.tls is None and service.tokens.exposed:
        log.warning(
            "clear", advice="Tokens and events are sent unencrypted: use serve --tls-cert --tls-key, or a proxy."
        )
    tune_garbage_collection()
    sys.setswitchinterval(SWITCH_S)
    log.info("serving", address=address, ledger=str(place), head=(await service.reader.head()).position)
    announce(address)
    connections = settings.limits.connections
    table = ConnectionTable(connections._replace(total=raise_file_limit(connections.total)))
    table.add_metrics(app.state.metrics)
    if settings.audit is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, settings.audit.reopen)
    await Server(config, service, table).serve(sockets=[listener])
    if settings.audit is not None:
        settings.audit.close()
    log.info("stopped", ledger=str(place))
