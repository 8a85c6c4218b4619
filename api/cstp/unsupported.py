"""Methods of circuit breakers, `reindex`, and those of features that this ledger lacks: each is refused by its name."""

import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec

from api.cstp.breakers import get_circuit_state, list_circuit_breakers, reset_circuit
from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcError
from api.cstp.method import Method
from api.cstp.params_schema import (
    ParameterError,
    ParamsSchema,
    missing_param_error,
    wrong_params_error,
)
from api.principal import Principal
from api.service.decisions import count_decisions
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.payload import Confidence
from projections.decisions.decision_selection import DecisionSelection

Answer = Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class BreakerAction(msgspec.Struct, frozen=True, kw_only=True):
    """The action that an agent plans, without the fields that only guardrails read."""

    description: NonEmpty
    category: str | None = None
    stakes: Stakes | None = None
    confidence: Confidence | None = None


_action: ParamsSchema[BreakerAction] = ParamsSchema(BreakerAction)


def parse_action(params: dict[str, Any]) -> BreakerAction:
    """Return the action of the parameter `action`. Errors: RpcError."""
    fields = params.get("action")
    if fields is None or fields == {}:
        raise missing_param_error("action")
    errors: list[ParameterError] = []
    action = _action.convert_object(fields, errors, "action")
    if action is None:
        raise wrong_params_error(errors)
    return action


def _refused(method: str, reason: str, advice: str) -> Answer:
    """Return a method that refuses every call, by its name."""

    async def refuse(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
        raise RpcError(METHOD_NOT_FOUND, f"Not supported: {method}. {reason}", {"method": method, "advice": advice})

    return refuse


async def _reindex(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Update the views from the log. Views follow the log, so none has to be rebuilt."""
    start_s = time.perf_counter()
    counts = await count_decisions(ledger, DecisionSelection())
    elapsed_ms = int((time.perf_counter() - start_s) * 1000)
    message = f"All {counts.total} decisions are in the views, which follow the log: nothing had to be rebuilt."
    answer = {"success": True, "decisionsIndexed": counts.total, "errors": 0, "durationMs": elapsed_ms}
    return {**answer, "message": message}


UNSUPPORTED: dict[str, Method] = {
    "cstp.listBreakers": Method("read", list_circuit_breakers, "quick"),
    "cstp.getCircuitState": Method("read", get_circuit_state, "quick"),
    "cstp.resetCircuit": Method("append", reset_circuit),
    "cstp.reindex": Method("read", _reindex, "quick"),
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
