"""Methods for features that this ledger does not have: compaction and control maps.

A read returns an empty result in the protocol's shape. A write answers that nothing was written.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from api.cstp.breakers import get_circuit_state, list_circuit_breakers, reset_circuit
from api.cstp.decision_json import decision_json
from api.cstp.jsonrpc import METHOD_NOT_FOUND, RpcError
from api.cstp.params_schema import (
    ParameterError,
    ParamsSchema,
    missing_param_error,
    wrong_params_error,
)
from api.principal import Principal, Scope
from api.service.decisions import DecisionQuery, count_decisions, select_decisions
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.payload import Confidence, StreamId
from projections.decisions.decision_index import DecisionSelection
from projections.decisions.decision_state import DecisionState

COMPACTED_MAX = 500

Answer = Callable[[LedgerService, Principal, dict[str, Any]], Awaitable[object]]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_Params = TypeVar("_Params", bound=msgspec.Struct)


class BreakerAction(msgspec.Struct, frozen=True, kw_only=True):
    """The action that an agent plans, without the fields that only guardrails read."""

    description: NonEmpty
    category: str | None = None
    stakes: Stakes | None = None
    confidence: Confidence | None = None


class _Compaction(msgspec.Struct, frozen=True, kw_only=True):
    category: str | None = None
    dry_run: bool = False
    level: Literal["full", "summary", "digest", "wisdom"] | None = None
    limit: int = 50
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = 5


class _Preserve(msgspec.Struct, frozen=True, kw_only=True):
    decision_id: StreamId
    preserve: bool = True


_ALIASES: dict[str, tuple[str, ...]] = {
    "decision_id": ("decisionId", "decision_id", "id"),
}
_action: ParamsSchema[BreakerAction] = ParamsSchema(BreakerAction)
_compaction: ParamsSchema[_Compaction] = ParamsSchema(_Compaction)


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


def _stub(struct: type[_Params], answer: Callable[[_Params], Mapping[str, object]]) -> Answer:
    """Return a method that checks its parameters and answers without the ledger."""
    schema = ParamsSchema(struct, aliases=_ALIASES)

    async def method(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
        return answer(schema.decode(params))

    return method


def _no_preserve(request: _Preserve) -> Mapping[str, object]:
    error = "Decisions are never compacted here, so none can be marked to be preserved; nothing was written."
    return {"success": False, "decisionId": request.decision_id, "preserve": request.preserve, "error": error}


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


async def _compact(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Compact nothing: every decision keeps all its fields."""
    request = _compaction.decode(params)
    return {"compacted": 0, "preserved": 0, "levels": await _levels(ledger, request), "dryRun": request.dry_run}


async def _get_compacted(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return the newest decisions, all at the level `full`."""
    request = _compaction.decode(params)
    rows: list[dict[str, object]] = []
    if request.level in (None, "full"):
        limit = min(max(request.limit, 1), COMPACTED_MAX)
        page = await select_decisions(ledger, DecisionQuery(selection=_selection(request), limit=limit, history=True))
        rows = [_full_row(state) for state in page.decisions]
    return {"decisions": rows, "total": len(rows), "levels": await _levels(ledger, request)}


def _selection(request: _Compaction) -> DecisionSelection:
    return DecisionSelection(category=request.category or None)


async def _levels(ledger: LedgerService, request: _Compaction) -> dict[str, int]:
    counts = await count_decisions(ledger, _selection(request))
    return {"full": counts.total, "summary": 0, "digest": 0, "wisdom": 0}


def _full_row(state: DecisionState) -> dict[str, object]:
    row = decision_json(state)
    optional = ("outcome", "confidence", "pattern", "stakes", "context", "reasons", "tags", "bridge", "deliberation")
    stated = {name: row[name] for name in optional if row.get(name) is not None}
    required = {name: row[name] for name in ("id", "decision", "date")}
    return {**required, "level": "full", "category": row["category"] or "", **stated}


UNSUPPORTED: dict[str, tuple[Scope, Answer]] = {
    "cstp.listBreakers": ("read", list_circuit_breakers),
    "cstp.getCircuitState": ("read", get_circuit_state),
    "cstp.resetCircuit": ("append", reset_circuit),
    "cstp.reindex": ("read", _reindex),
    "cstp.compact": ("append", _compact),
    "cstp.getCompacted": ("read", _get_compacted),
    "cstp.setPreserve": ("append", _stub(_Preserve, _no_preserve)),
    "cstp.getWisdom": (
        "read", _stub(_Compaction, lambda _: {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}),
    ),
    "cstp.mapControls": (
        "read",
        _refused(
            "cstp.mapControls",
            "This ledger has no control maps (SR 11-7, NIST AI RMF).",
            "Read the observations, GET /events?type=observation.recorded.v1, and map them yourself.",
        ),
    ),
    "cstp.exportEvidenceBundle": (
        "read",
        _refused(
            "cstp.exportEvidenceBundle",
            "A server writes no bundle or PDF into a folder that a caller names.",
            "GET /export, or tallystick export, gives the whole log with its proofs.",
        ),
    ),
}  # fmt: skip
"""The scope and the function of each method, in the order of the agent card."""
