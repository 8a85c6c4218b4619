"""Methods of features that this ledger lacks: each is refused by its name."""

from collections.abc import Awaitable, Callable
from typing import Any

from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcError
from api.cstp.method import Method
from api.principal import Principal
from api.service.ledger import LedgerService

Answer = Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]


def _refused(method: str, reason: str, advice: str) -> Answer:
    """Return a method that refuses every call, by its name."""

    async def refuse(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
        raise RpcError(METHOD_NOT_FOUND, f"Not supported: {method}. {reason}", {"method": method, "advice": advice})

    return refuse


UNSUPPORTED: dict[str, Method] = {
    "cstp.mapControls": Method(
        "read",
        _refused(
            "cstp.mapControls",
            "This ledger has no control maps (SR 11-7, NIST AI RMF).",
            "Read the observations, GET /events?type=observation.recorded.v1, and map them yourself.",
        ),
        "quick",
    ),
    "cstp.exportEvidenceBundle": Method(
        "read",
        _refused(
            "cstp.exportEvidenceBundle",
            "A server writes no bundle or PDF into a folder that a caller names.",
            "GET /export, or tallystick export, gives the whole log with its proofs.",
        ),
        "quick",
    ),
}
