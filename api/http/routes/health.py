"""Whether the process lives, whether it can work, and its figures."""

from typing import Literal

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from api.http.metrics import Metrics
from api.service.ledger import LedgerService
from api.text import to_json


class Liveness(msgspec.Struct, frozen=True):
    """The process answers."""

    status: Literal["alive"] = "alive"


class Readiness(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether it can work: the newest position, how far the views are folded, and the reason where it cannot.

    `unsigned` says why no checkpoint is signed, where something is wrong; appends and reads go on meanwhile.
    """

    status: Literal["ready", "not ready"]
    head: int
    folded: int
    reason: str | None = None
    unsigned: str | None = None


_ALIVE = to_json(Liveness())


async def get_healthz(request: Request) -> Response:
    """The process answers."""
    return Response(_ALIVE, media_type="application/json")


async def get_readyz(request: Request) -> Response:
    """The ledger accepts events; 503 and the reason where it does not. A view waits until it is folded."""
    ledger: LedgerService = request.app.state.ledger
    head = (await ledger.reader.head()).position
    broken = ledger.log.broken if ledger.log is not None else None
    stopping = request.app.state.stopping.is_set()
    reason = str(broken) if broken is not None else "stopping" if stopping else None
    refusal = ledger.proving.refusal
    unsigned = str(refusal) if refusal is not None else None
    body = Readiness("ready" if reason is None else "not ready", head, ledger.engine.position, reason, unsigned)
    return Response(to_json(body), 200 if reason is None else 503, media_type="application/json")


async def get_metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(generate_latest(metrics.registry), headers={"content-type": CONTENT_TYPE_LATEST})
