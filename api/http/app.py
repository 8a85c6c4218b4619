"""The HTTP application: its routes, its answers to errors, and the lifetime of the ledger service."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from api.errors import NoRoute, WrongMethod
from api.http.audit_log import AuditLog
from api.http.lazy_route import LazyRoute
from api.http.limits import DEFAULT_LIMITS, RequestLimits, RunningRequests
from api.http.mcp_server import McpServer
from api.http.metrics import Metrics
from api.http.origin_guard import OriginGuard
from api.http.pages.page_answer import make_kept_pages, make_kept_parts
from api.http.pages.page_table import PAGES
from api.http.problems import answer_error
from api.http.refusals import RefusalLog
from api.http.route_table import ROWS, WITH_SLASH
from api.http.sessions import Sessions
from api.http.telemetry import Telemetry, TelemetryMiddleware
from api.service.ledger import LedgerService
from api.service.resolver_task import keep_resolved
from api.service.server_log import log
from api.service.view_queries import QueryTurns
from api.service.webhooks.dispatcher import Dispatcher
from events.errors import TallystickError

REVOKED_CHECK_S = 0.4
"""Seconds between two checks whether the tokens of running requests are still valid."""


def routes() -> Sequence[LazyRoute]:
    """Return the route of every operation."""
    return [LazyRoute(row) for row in ROWS]


def make_app(
    service: LedgerService, limits: RequestLimits = DEFAULT_LIMITS, audit: AuditLog | None = None
) -> Starlette:
    """Return the application that serves an open ledger. It closes the ledger when the server stops."""
    metrics, refusal_log = Metrics(), RefusalLog()
    requests = RunningRequests(limits, service.tokens, Sessions(service.path, service.tokens))
    queries = QueryTurns(limits.queries, requests.pauses)
    mcp, kept, pages = McpServer(), make_kept_parts(), make_kept_pages()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_keep_folded(service)), asyncio.create_task(_end_revoked(requests))]
        tasks += start_webhooks(service, metrics, audit)
        if service.log is not None:
            tasks.append(asyncio.create_task(keep_resolved(service), name="resolver"))
        if service.indexes.endpoint is not None:
            tasks.append(asyncio.create_task(service.indexes.vectors.keep_filled(requests.pauses)))
        yield
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await mcp.close()
        await kept.close()
        await pages.close()
        await service.close()

    app = Starlette(
        routes=[*routes(), *(LazyRoute(row) for row in (*WITH_SLASH, *PAGES))],
        middleware=[
            Middleware(
                TelemetryMiddleware,
                telemetry=Telemetry(metrics, requests, refusal_log, audit),
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
    app.state.kept = kept
    app.state.pages = pages
    app.state.receivers = {}
    app.state.stopping = asyncio.Event()
    app.state.started = service.clock()
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
        "Events committed, not yet folded. A view that is read folds them first.",
        lambda: ledger.newest.position - service.engine.position,
    )
    metrics.add_gauge(
        "tallystick_projection_lag_seconds",
        "Seconds since every event was folded; 0 if every event is.",
        lambda: service.engine.lag_s(ledger.newest.position),
    )
    metrics.add_gauge(
        "tallystick_checkpoint_events", "Events under the newest checkpoint.", lambda: service.proving.signed_size
    )
    metrics.add_gauge(
        "tallystick_signing_refused",
        "1 if no checkpoint is signed: the log differs from what was signed, or the key or the disk has a fault.",
        lambda: service.proving.refusal is not None,
    )


async def _keep_folded(service: LedgerService) -> None:
    """Fold the views while requests are answered, exempt their states from garbage collection, and go on folding."""
    start_s = time.monotonic()
    try:
        await service.fold(beside=True)
    except Exception:
        log.exception("folding failed", advice="The next read of a view tries again. Check the ledger's file and disk.")
    else:
        gc.freeze()
        elapsed_ms = round(1_000 * (time.monotonic() - start_s))
        log.info("folded", position=service.engine.position, elapsed_ms=elapsed_ms)
    await service.engine.follow()


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


def start_webhooks(service: LedgerService, metrics: Metrics, audit: AuditLog | None) -> Sequence[asyncio.Task[None]]:
    """Start to deliver events to the operator's endpoints, if the ledger is open for writing. Cancel it to stop."""
    if service.log is None:
        return []
    dispatcher = Dispatcher(service, (lambda *attempt: None) if audit is None else audit.write_delivery)
    metrics.add_gauge(
        "tallystick_webhook_waiting_events",
        "Events that wait for their delivery, at all webhooks.",
        lambda: dispatcher.waiting,
    )
    metrics.add_gauge("tallystick_webhooks_failing", "Webhooks whose last attempt failed.", lambda: dispatcher.failing)
    return [asyncio.create_task(dispatcher.run(), name="webhooks")]
