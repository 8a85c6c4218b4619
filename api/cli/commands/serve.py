"""serve: serve the ledger over HTTP and JSON-RPC."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import choice

if TYPE_CHECKING:
    from api.http.server import TlsFiles

LEVELS = ("debug", "info", "warning", "error")
ANY_CASE = (*map(str.upper, LEVELS), *map(str.title, LEVELS))
CONNECTIONS = 1_000


@verb(json=False)
def serve(
    target: LedgerTarget,
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Other addresses than loopback need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 for any free one.")] = 8321,
    log_level: Annotated[
        str,
        choice("Log messages of this level and above.", LEVELS, also=ANY_CASE),
    ] = "info",
    rate: Annotated[float, typer.Option(help="Requests per second of one token; 0 for no limit.", min=0)] = 1_000,
    burst: Annotated[float, typer.Option(help="Requests that a token may send at once after a pause.", min=1)] = 10_000,
    connections: Annotated[int, typer.Option(help="Connections open at once.", min=1, max=100_000)] = CONNECTIONS,
    require_tokens: Annotated[
        bool | None,
        typer.Option(
            "--require-tokens/--no-require-tokens",
            help="Refuse callers without a token, also if the file of the tokens is missing.  "
            "\\[default: once the ledger had a token]",
            show_default=False,
        ),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Serve https with this certificate and its chain, PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate, PEM, unencrypted.")] = None,
) -> None:
    """Serve the ledger over HTTP and JSON-RPC.

    A ledger file that does not exist is created.

    Example: tallystick --ledger team.db serve --port 8321
    """
    import sys

    import uvloop

    from api.cli.output import print_note, show_progress
    from api.http import server
    from api.rate_limit import Rate

    tls = _read_tls(tls_cert, tls_key)
    listener = server.listen(host, port, target.ledger)

    def announce(address: str) -> None:
        if sys.stderr.isatty():
            print_note(f"Tallystick serves {target.ledger} at {address}. Ctrl-C stops it.")

    with show_progress("opening", "events") as report:
        settings = server.ServerSettings(Rate(rate, burst) if rate else None, connections, tls, require_tokens)
        uvloop.run(server.serve(target.ledger, listener, log_level.lower(), settings, report, announce))


def _read_tls(cert: Path | None, key: Path | None) -> "TlsFiles | None":
    """Return the TLS files, checked. Errors: InvalidQuery."""
    from api.http import server
    from ledger.errors import InvalidQuery

    if cert is None or key is None:
        if cert is None and key is None:
            return None
        raise InvalidQuery("tls-cert", "a certificate needs its key.", "Give both --tls-cert and --tls-key.")
    tls = server.TlsFiles(cert, key)
    server.check_tls(tls)
    return tls
