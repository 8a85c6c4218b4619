"""The HTTP application: its routes, its answers to errors, and the lifetime of the ledger service."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from api.errors import NoRoute, WrongMethod
from api.http.audit_log import AuditLog
from api.http.limits import DEFAULT_LIMITS, RequestLimits, RunningRequests
from api.http.mcp_server import McpServer
from api.http.metrics import Metrics
from api.http.openapi.served_document import compressed_openapi
from api.http.origin_guard import OriginGuard
from api.http.problems import answer_error
from api.http.refusals import RefusalLog
from api.http.route_table import OPERATIONS
from api.http.routes.cstp import post_cstp
from api.http.routes.mcp import post_mcp
from api.http.telemetry import Telemetry, TelemetryMiddleware
from api.http.webhooks import start_webhooks
from api.service.ledger import LedgerService
from api.service.view_queries import QueryTurns
from events.errors import TallystickError

REVOKED_CHECK_S = 0.4
"""Seconds between two checks whether the tokens of running requests are still valid."""

_WITH_SLASH = [replace(operation, path=f"{operation.path}/").route() for operation in (post_cstp, post_mcp)]
"""The routes of JSON-RPC again with a slash at the end of the path, which some clients call."""

log = structlog.get_logger()


def routes() -> Sequence[BaseRoute]:
    """Return the route of every operation."""
    return [operation.route() for operation in OPERATIONS]


def make_app(
    service: LedgerService, limits: RequestLimits = DEFAULT_LIMITS, audit: AuditLog | None = None
) -> Starlette:
    """Return the application that serves an open ledger. It closes the ledger when the server stops."""
    metrics, refusal_log = Metrics(), RefusalLog()
    requests = RunningRequests(limits, service.tokens)
    queries = QueryTurns(limits.queries, requests.pauses)
    mcp = McpServer()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_fold(service)), asyncio.create_task(_end_revoked(requests))]
        tasks += start_webhooks(service, metrics, audit)
        if service.embeddings.endpoint is not None:
            tasks.append(asyncio.create_task(service.embeddings.keep_filled(requests.pauses)))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await mcp.close()
        await service.close()

    app = Starlette(
        routes=[*routes(), *_WITH_SLASH],
        middleware=[
            Middleware(
                TelemetryMiddleware,
                telemetry=Telemetry(metrics, requests, refusal_log, audit, service.tokens.find_agent),
            ),
            Middleware(OriginGuard, tokens=service.tokens),
        ],
        exception_handlers={TallystickError: _handle_error, HTTPException: _handle_unrouted},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.ledger = service
    app.state.metrics = metrics
    app.state.refusal_log = refusal_log
    app.state.requests = requests
    app.state.queries = queries
    app.state.mcp = mcp
    app.state.stopping = asyncio.Event()
    app.state.started = service.clock()
    app.state.operations = OPERATIONS
    app.state.openapi = compressed_openapi
    _add_gauges(metrics, service)
    requests.add_metrics(metrics, lambda: queries.running)
    return app


async def _end_revoked(requests: RunningRequests) -> None:
    """End running requests whose token was revoked or has expired, within a second of that."""
    while True:
        await asyncio.sleep(REVOKED_CHECK_S)
        requests.end_revoked()


def _add_gauges(metrics: Metrics, service: LedgerService) -> None:
    """Add the metrics whose values come from the ledger."""
    ledger = service.log
    if ledger is None:
        return
    metrics.add_gauge("tallystick_queue_events", "Events accepted, not yet committed.", lambda: ledger.waiting_events)
    metrics.add_gauge("tallystick_head_position", "Newest committed position.", lambda: ledger.newest.position)
    metrics.add_gauge(
        "tallystick_projection_lag_events",
        "Events committed, not yet folded. They are folded when a view is read.",
        lambda: ledger.newest.position - service.engine.position,
    )
    metrics.add_gauge(
        "tallystick_checkpoint_events", "Events under the newest checkpoint.", lambda: service.proving.signed_size
    )
    metrics.add_gauge(
        "tallystick_signing_refused",
        "1 if no checkpoint is signed: the log differs from what was signed, or the key or the disk has a fault.",
        lambda: service.proving.refusal is not None,
    )


async def _fold(service: LedgerService) -> None:
    """Fold the views while requests are answered, then exempt their states from garbage collection."""
    start_s = time.monotonic()
    try:
        await service.fold()
    except Exception:
        log.exception("folding failed", advice="The next read of a view tries again. Check the ledger's file and disk.")
        return
    gc.freeze()
    elapsed_ms = round(1_000 * (time.monotonic() - start_s))
    log.info("folded", position=service.engine.position, elapsed_ms=elapsed_ms)


async def _handle_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, TallystickError)
    return answer_error(request.scope, error)


async def _handle_unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return _answer_wrong_method(request)
    return answer_error(request.scope, NoRoute(f"Nothing is at {request.url.path}.", "See /openapi.json."))


def _answer_wrong_method(request: Request) -> Response:
    """Answer 405 with the methods of the path, as the description has them.

    `/guardrails/check` also matches the path of a rule; what is described is the first, which has no parameter.
    """
    matching = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = [route.methods for route in matching if route.path == matching[0].path]
    allowed = ", ".join(sorted(set().union(*methods)))
    detail = f"{request.method} is not a method of {request.url.path}."
    response = answer_error(request.scope, WrongMethod(detail, f"Its methods: {allowed}."))
    response.headers["allow"] = allowed
    return response
