"""serve: the ledger over HTTP and JSON-RPC."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import ledger_of
from events.limits import CONNECTIONS_MAX

if TYPE_CHECKING:
    from api.http.server import TlsFiles

LEVELS = ("debug", "info", "warning", "error")


def serve(
    context: typer.Context,
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.")] = 8321,
    log_level: Annotated[str, typer.Option(help=f"One of {', '.join(LEVELS)}.")] = "info",
    rate: Annotated[float, typer.Option(help="Requests a second that a token may send; 0 for any.", min=0)] = 1_000,
    burst: Annotated[float, typer.Option(help="Requests that it may send at once after a pause.", min=1)] = 10_000,
    connections: Annotated[int, typer.Option(help="Connections open at once.", min=1, max=100_000)] = CONNECTIONS_MAX,
    tls_cert: Annotated[Path | None, typer.Option(help="Serve https by this certificate with its chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, PEM, unencrypted.")] = None,
) -> None:
    """Serve the ledger over HTTP and JSON-RPC, making it where there is none.

    Example: tallystick --ledger team.db serve --port 8321
    """
    import sys

    import uvloop

    from api.cli.output import progress, say
    from api.http import server
    from api.parameters import parse_choice
    from api.rate_limit import Rate

    ledger = ledger_of(context)
    level = parse_choice("log-level", log_level.lower(), LEVELS)
    tls = _tls_of(tls_cert, tls_key)
    listening = server.bind(host, port, ledger)

    def announce(address: str) -> None:
        if sys.stderr.isatty():
            say(f"Tallystick serves {ledger} at {address}. Ctrl-C stops it.")

    with progress("opening", "events") as report:
        terms = server.ServerSettings(Rate(rate, burst) if rate else None, connections, tls)
        uvloop.run(server.serve(ledger, listening, level, terms, report, announce))


def _tls_of(cert: Path | None, key: Path | None) -> "TlsFiles | None":
    """TLS as options say it. Errors: InvalidQuery."""
    from api.http import server
    from ledger.errors import InvalidQuery

    if cert is None or key is None:
        if cert is None and key is None:
            return None
        raise InvalidQuery("tls-cert", "certificate and key belong together.", "Give --tls-cert and --tls-key.")
    tls = server.TlsFiles(cert, key)
    server.check_tls(tls)
    return tls
