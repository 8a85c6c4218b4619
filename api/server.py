"""The serving process: a socket, signals, and a stop that answers what was accepted."""

import gc
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import structlog
import uvicorn
from starlette.applications import Starlette

from api.access import Tokens
from api.app import make_app
from api.guard import HEADERS, is_loopback
from api.operations import House
from api.pace import Rate
from api.telemetry import configure_logging
from ledger.errors import InvalidQuery
from projections import Progress

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321
STOP_S = 30
"""How long a stop waits for answers under way."""

log = structlog.get_logger()


class Server(uvicorn.Server):
    """uvicorn, that ends feeds when it stops: they would keep it waiting for ever."""

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


def bind(host: str, port: int, ledger: Path) -> socket.socket:
    """A listening socket. Errors: InvalidQuery, for an address that is taken, or open to others without a token."""
    if not is_loopback(host) and not Tokens(ledger).list():
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
    rate: Rate | None,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda address: None,
) -> None:
    """Serve a ledger on a socket until a signal; tell `announce` the address.

    `rate` is how fast each token may go. Errors: LedgerLocked, LedgerUnusable.
    """
    configure_logging(log_level)
    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    house = await House.open(ledger, writable=True, address=address, progress=progress, views=False)
    house.tokens.rate = rate
    house.tokens.exposed = not is_loopback(host)
    await house.proving.start()
    config = uvicorn_config(make_app(house))
    config.headers = list(HEADERS)
    settle_collector()
    log.info("serving", address=address, ledger=str(ledger), head=(await house.reader.head()).position)
    announce(address)
    await Server(config).serve(sockets=[listening])
    log.info("stopped", ledger=str(ledger))
