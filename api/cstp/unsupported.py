"""Methods of features that this ledger lacks: each is refused by its name."""

from typing import Any

from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcError
from api.principal import Principal
from api.service.ledger import LedgerService


async def map_controls(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Refuse cstp.mapControls."""
    raise _unsupported(
        "cstp.mapControls",
        "This ledger has no control maps (SR 11-7, NIST AI RMF).",
        "Read the observations, GET /events?type=observation.recorded.v1, and map them yourself.",
    )


async def export_evidence_bundle(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Refuse cstp.exportEvidenceBundle."""
    raise _unsupported(
        "cstp.exportEvidenceBundle",
        "A server writes no bundle or PDF into a folder that a caller names.",
        "GET /export, or tallystick export, gives the whole log with its proofs.",
    )


def _unsupported(method: str, reason: str, advice: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Not supported: {method}. {reason}", {"method": method, "advice": advice})
