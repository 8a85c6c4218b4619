"""The HTTP application: routes, errors as problem documents, the life of the house behind them."""

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
from starlette.routing import BaseRoute, Match, Route

from api.errors import NoRoute, WrongMethod
from api.http.metrics import Metrics
from api.http.middleware import TelemetryMiddleware
from api.http.openapi import document
from api.http.origin_guard import OriginGuard
from api.http.problems import problem_answer
from api.http.routes import (
    calibration,
    checkpoints,
    cstp,
    decisions,
    discovery,
    evaluations,
    events,
    evidence,
    export,
    health,
    models,
    projections,
    runs,
    tiles,
)
from api.service.ledger import LedgerService
from events.errors import TallystickError

log = structlog.get_logger()


def routes() -> Sequence[BaseRoute]:
    """Every route; the busiest first, because routes are tried in order."""
    return [
        Route("/events", events.post_events, methods=["POST"]),
        Route("/healthz", health.get_healthz),
        Route("/cstp", cstp.post_cstp, methods=["POST"]),
        Route("/calibration", calibration.get_calibration),
        Route("/calibration/advice", calibration.get_advice),
        Route("/events", events.get_events),
        Route("/events/{position}", events.get_event),
        Route("/events/{position}/receipt", checkpoints.get_receipt),
        Route("/checkpoint", checkpoints.get_checkpoint),
        Route("/checkpoint/witnessed", checkpoints.get_witnessed),
        Route("/streams/{subject:path}", events.get_stream),
        Route("/decisions", decisions.get_decisions),
        Route("/decisions/{decision_id}", decisions.get_decision),
        Route("/runs", runs.get_runs),
        Route("/runs/{run_id}", runs.get_run),
        Route("/evidence", evidence.put_evidence, methods=["PUT"]),
        Route("/evidence", evidence.list_evidence),
        Route("/evidence/{digest}", evidence.get_evidence),
        Route("/evidence/{digest}", evidence.delete_evidence, methods=["DELETE"]),
        Route("/export", export.get_export),
        Route("/discovery", discovery.post_discovery, methods=["POST"]),
        Route("/discovery/{run}/prompt", discovery.get_prompt),
        Route("/discovery/{run}/responses", discovery.post_response, methods=["POST"]),
        Route("/discovery/{run}/signals", discovery.post_signal, methods=["POST"]),
        Route("/discovery/{run}/signals", discovery.get_signals),
        Route("/discovery/{run}/finish", discovery.post_finish, methods=["POST"]),
        Route("/inventory", models.get_inventory),
        Route("/probes", models.get_probes),
        Route("/scoreboard", evaluations.get_scoreboard),
        Route("/evaluations", evaluations.get_evaluations),
        Route("/evaluations/compare", evaluations.get_comparison),
        Route("/evaluations/{run}", evaluations.get_evaluation),
        Route("/tile/entries/{tile:path}", tiles.get_entries),
        Route("/tile/{level}/{tile:path}", tiles.get_tile),
        Route("/proofs/inclusion", tiles.get_inclusion),
        Route("/proofs/consistency", tiles.get_consistency),
        Route("/projections", projections.get_projections),
        Route("/projections/{name}", projections.get_projection),
        Route("/readyz", health.get_readyz),
        Route("/metrics", health.get_metrics),
        Route("/openapi.json", document.get_openapi),
        Route("/health", cstp.get_health),
        Route("/.well-known/agent.json", cstp.get_agent_card),
    ]


def make_app(service: LedgerService) -> Starlette:
    """The application over an open house, which it closes when the server stops."""
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        folding = asyncio.create_task(_fold(service))
        yield
        folding.cancel()
        await asyncio.wait([folding])
        await service.close()

    app = Starlette(
        routes=routes(),
        middleware=[
            Middleware(TelemetryMiddleware, metrics=metrics, agent_of=service.tokens.agent_of),
            Middleware(OriginGuard, tokens=service.tokens),
        ],
        exception_handlers={TallystickError: _refused, HTTPException: _unrouted},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.ledger = service
    app.state.metrics = metrics
    app.state.stopping = asyncio.Event()
    app.state.began = service.clock()
    ledger = service.log
    if ledger is not None:
        metrics.gauge("tallystick_queue_events", "Events accepted, not yet committed.", lambda: ledger.waiting_events)
        metrics.gauge("tallystick_head_position", "Newest committed position.", lambda: ledger.newest.position)
        metrics.gauge(
            "tallystick_projection_lag_events",
            "Events committed, not yet folded; folding happens when a view is asked for.",
            lambda: ledger.newest.position - service.engine.position,
        )
        metrics.gauge(
            "tallystick_checkpoint_events", "Events under the newest checkpoint.", lambda: service.proving.signed_size
        )
        metrics.gauge(
            "tallystick_signing_refused",
            "1 where no checkpoint is signed: the log is not what was signed, or the key or the disk is not right.",
            lambda: service.proving.refusal is not None,
        )
    return app


async def _fold(service: LedgerService) -> None:
    """Bring the views up to date, behind what is asked meanwhile; leave their states out of garbage collection."""
    began = time.monotonic()
    try:
        await service.fold()
    except Exception:
        log.exception(
            "folding failed", advice="A view that is asked for tries again. Check the ledger's file and disk."
        )
        return
    gc.freeze()
    elapsed_ms = round(1_000 * (time.monotonic() - began))
    log.info("folded", position=service.engine.position, elapsed_ms=elapsed_ms)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, TallystickError)
    return problem_answer(request.scope, error)


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return _wrong_method(request)
    return problem_answer(request.scope, NoRoute(f"There is nothing at {request.url.path}.", "See /openapi.json."))


def _wrong_method(request: Request) -> Response:
    """405 with every method of the path, over all the routes that share it."""
    shared = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    allowed = ", ".join(sorted({method for route in shared for method in route.methods}))
    detail = f"{request.method} is not a method of {request.url.path}."
    response = problem_answer(request.scope, WrongMethod(detail, f"Its methods: {allowed}."))
    response.headers["allow"] = allowed
    return response
