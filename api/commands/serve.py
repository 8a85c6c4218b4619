"""serve: the ledger over HTTP and JSON-RPC."""

from typing import Annotated

import typer

from api.commands.options import ledger_of

LEVELS = ("debug", "info", "warning", "error")


def serve(
    context: typer.Context,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any that is free.")] = 8321,
    log_level: Annotated[str, typer.Option(help=f"One of {', '.join(LEVELS)}.")] = "info",
    rate: Annotated[float, typer.Option(help="Requests a second that a token may send; 0 for any.", min=0)] = 1_000,
    burst: Annotated[float, typer.Option(help="Requests that it may send at once after a pause.", min=1)] = 10_000,
) -> None:
    """Serve the ledger over HTTP and JSON-RPC, making it where there is none.

    Example: tallystick --ledger team.db serve --port 8321
    """
    import sys

    import uvloop

    from api import server
    from api.pace import Rate
    from api.parameters import choice
    from api.printing import progress, say

    ledger = ledger_of(context)
    level = choice("log-level", log_level.lower(), LEVELS, "info")
    listening = server.bind(host, port, ledger)

    def announce(address: str) -> None:
        if sys.stderr.isatty():
            say(f"Tallystick serves {ledger} at {address}. Ctrl-C stops it.")

    with progress("opening", "events") as report:
        allowed = Rate(rate, burst) if rate else None
        uvloop.run(server.serve(ledger, listening, level, allowed, report, announce))
