"""The HTTP application: its routes, its answers to errors, and the lifetime of the ledger service."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from api.errors import NoRoute, WrongMethod
from api.http.metrics import Metrics
from api.http.origin_guard import OriginGuard
from api.http.problems import answer_error
from api.http.route_table import OPERATIONS, openapi_json
from api.http.telemetry import TelemetryMiddleware
from api.service.ledger import LedgerService
from events.errors import TallystickError

log = structlog.get_logger()


def routes() -> Sequence[BaseRoute]:
    """Return the route of every operation."""
    return [operation.route() for operation in OPERATIONS]


def make_app(service: LedgerService) -> Starlette:
    """Return the application that serves an open ledger. It closes the ledger when the server stops."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        fold_task = asyncio.create_task(_fold(service))
        yield
        fold_task.cancel()
        await asyncio.wait([fold_task])
        await service.close()

    app = Starlette(
        routes=routes(),
        middleware=[
            Middleware(TelemetryMiddleware, metrics=metrics, find_agent=service.tokens.find_agent),
            Middleware(OriginGuard, tokens=service.tokens),
        ],
        exception_handlers={TallystickError: _handle_error, HTTPException: _handle_unrouted},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.ledger = service
    app.state.metrics = metrics
    app.state.stopping = asyncio.Event()
    app.state.started = service.clock()
    app.state.operations = OPERATIONS
    app.state.openapi_json = openapi_json
    _add_gauges(metrics, service)
    return app


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
    """Answer 405 with the methods of all routes that have the path."""
    routes_of_path = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    allowed = ", ".join(sorted({method for route in routes_of_path for method in route.methods}))
    detail = f"{request.method} is not a method of {request.url.path}."
    response = answer_error(request.scope, WrongMethod(detail, f"Its methods: {allowed}."))
    response.headers["allow"] = allowed
    return response
