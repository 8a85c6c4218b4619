"""serve: serve the ledger over HTTP and JSON-RPC."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from api.cli.ledger_target import LedgerTarget, compute_on_one_thread, verb
from api.cli.options import choice, option
from api.cli.output import print_note, show_progress
from events import limits
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.http.server import ServerSettings, TlsFiles
    from api.importers.observe.webhooks import ForgeReceiver
    from ledger.place import Place

LEVELS = ("debug", "info", "warning", "error")
ANY_CASE = (*map(str.upper, LEVELS), *map(str.title, LEVELS))
LIMITS = "Limits"
LIMIT_MAX = 100_000


def _limit(text: str, *, low: float = 0, high: float | None = LIMIT_MAX) -> Any:  # noqa: ANN401 - as `typer.Option`
    """Return the option of a limit."""
    return option(text, min=low, max=high, rich_help_panel=LIMITS)


Connections = Annotated[int, _limit("Connections open at once.", low=1)]
ClientConnections = Annotated[int, _limit("Connections of one address without a valid token; 0 for no limit.")]
TokenConnections = Annotated[int, _limit("Requests of one token that run at once.", low=1)]
Bodies = Annotated[int, _limit("MiB of large request bodies in memory.", low=16)]
TokenBodies = Annotated[int, _limit("MiB of large request bodies of one token.", low=16)]
Queries = Annotated[int, _limit("Queries of views computed at once.", low=1)]
QuerySeconds = Annotated[float, _limit("Seconds in which a query of a view must be answered.", low=0.1)]

EmbeddingsModel = Annotated[str | None, option("The endpoint's embedding model, needed with --embeddings-url.", "NAME")]
AuditLogFile = Annotated[Path | None, option("Append a line for each authenticated request to this file.", "FILE")]
KeyFile = Annotated[
    Path | None,
    option("The signing key, if it is not beside the ledger's other files: for example a mounted secret.", "FILE"),
]
Observers = Annotated[
    Path | None, option("The file in which webhooks of GitHub and GitLab are registered.", "FILE", "--observers")
]
EmbeddingsUrl = Annotated[
    str | None,
    option(
        "Search decisions by meaning too, with the vectors of this OpenAI-compatible endpoint, which receives the "
        "texts of all decisions. Its key is in TALLYSTICK_EMBEDDINGS_KEY.",
        "ADDRESS",
    ),
]
Refusals = Annotated[
    float, _limit("Requests without a valid token that are refused per second and address; 0 for no limit.")
]
RequireTokens = Annotated[
    bool | None,
    option(
        "Refuse callers without a token, also if the file of the tokens is missing.  "
        "\\[default: once the ledger had a token]",
        None,
        "--require-tokens/--no-require-tokens",
        show_default=False,
    ),
]


@verb(json=False)
def serve(
    target: LedgerTarget,
    *,
    host: Annotated[str, option("The address to listen on. Other addresses than loopback need a token.")] = "127.0.0.1",
    port: Annotated[int, option("The port; 0 for any free one.")] = 8321,
    log_level: Annotated[str, choice("Log messages of this level and above.", LEVELS, also=ANY_CASE)] = "info",
    require_tokens: RequireTokens = None,
    key: KeyFile = None,
    audit_log: AuditLogFile = None,
    tls_cert: Annotated[Path | None, option("Serve https with this certificate and its chain, PEM.")] = None,
    tls_key: Annotated[Path | None, option("The key of the certificate, PEM, unencrypted.")] = None,
    observers: Observers = None,
    embeddings_url: EmbeddingsUrl = None,
    embeddings_model: EmbeddingsModel = None,
    rate: Annotated[float, _limit("Requests per second of one token; 0 for no limit.", high=None)] = 1_000,
    burst: Annotated[float, _limit("Requests that a token may send at once after a pause.", low=1, high=None)] = 10_000,
    connections: Connections = limits.CONNECTIONS_MAX,
    connections_per_client: ClientConnections = limits.CONNECTIONS_PER_CLIENT_MAX,
    connections_per_token: TokenConnections = limits.CONNECTIONS_PER_TOKEN_MAX,
    feeds: Annotated[int, _limit("Event streams open at once.")] = limits.FEEDS_MAX,
    feeds_per_token: Annotated[int, _limit("Event streams of one token.")] = limits.FEEDS_PER_TOKEN_MAX,
    bodies_mib: Bodies = limits.BODIES_BYTES_MAX >> 20,
    bodies_mib_per_token: TokenBodies = limits.BODIES_BYTES_PER_TOKEN_MAX >> 20,
    queries: Queries = limits.QUERIES_MAX,
    query_seconds: QuerySeconds = limits.QUERY_S,
    refusals: Refusals = limits.REFUSALS_PER_S_MAX,
) -> None:
    """Serve the ledger over HTTP and JSON-RPC.

    A ledger file that does not exist is created.

    Example: tallystick --ledger team.db serve --port 8321
    """
    compute_on_one_thread()
    from api.http.audit_log import AuditLog
    from api.http.connection_table import ConnectionLimits
    from api.http.limits import RequestLimits
    from api.http.server import ServerSettings
    from api.rate_limit import Rate
    from api.service.embeddings_endpoint import embeddings_endpoint
    from api.service.view_queries import QueryLimits

    request_limits = RequestLimits(
        connections=ConnectionLimits(connections, connections_per_client),
        connections_per_token=connections_per_token,
        feeds=feeds,
        feeds_per_token=feeds_per_token,
        body_bytes=bodies_mib << 20,
        body_bytes_per_token=bodies_mib_per_token << 20,
        queries=QueryLimits(queries, query_seconds),
        refusals_per_s=refusals,
    )
    tls = _read_tls(tls_cert, tls_key)
    embeddings = embeddings_endpoint(embeddings_url, embeddings_model)
    settings = ServerSettings(
        Rate(rate, burst) if rate else None,
        request_limits,
        tls,
        require_tokens,
        None if audit_log is None else AuditLog(audit_log),
        embeddings,
        None if observers is None else _read_receivers(observers),
    )
    _run(_with_key(target.place, key), host, port, log_level, settings)


def _read_receivers(observers: Path) -> "Mapping[str, ForgeReceiver]":
    """Return who may send webhooks, by name. Errors: SourceUnreadable."""
    from asyncio import Semaphore

    from api.importers.observe.registered import read_registered
    from api.importers.observe.webhooks import RECEIVED_AT_ONCE, ForgeReceiver

    return {
        name: ForgeReceiver(
            name, one.forge, one.secret(observers.parent), one.project, one.repository, Semaphore(RECEIVED_AT_ONCE)
        )
        for name, one in read_registered(observers).webhooks.items()
    }


def _with_key(place: "Place", key: Path | None) -> "Place":
    """Return the place with the file of its key, which can be read. Errors: LedgerUnusable, BadNote."""
    if key is None:
        return place
    from msgspec.structs import replace

    from ledger.transparency.keys import read_key

    read_key(place.path, key)
    return replace(place, key=key)


def _run(place: "Place", host: str, port: int, log_level: str, settings: "ServerSettings") -> None:
    import uvloop

    from api.http import server

    listener = server.listen(host, port, place)

    def announce(address: str) -> None:
        if sys.stderr.isatty():
            print_note(f"Tallystick serves {place} at {address}. Ctrl-C stops it.")

    with show_progress("opening", "events", piped=False) as report:
        uvloop.run(server.serve(place, listener, log_level.lower(), settings, report, announce))


def _read_tls(cert: Path | None, key: Path | None) -> "TlsFiles | None":
    """Return the TLS files, checked. Errors: InvalidQuery."""
    from api.http import server

    if cert is None or key is None:
        if cert is None and key is None:
            return None
        raise InvalidQuery("tls-cert", "a certificate needs its key.", "Give both --tls-cert and --tls-key.")
    tls = server.TlsFiles(cert, key)
    server.check_tls(tls)
    return tls
