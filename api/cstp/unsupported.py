"""Methods about things this ledger does not keep: guardrails, circuit breakers, a graph, and compaction.

Questions get the well-formed answer that there are none; what would have to write one is told that nothing was written.
"""

import time
from typing import Annotated, Any, Literal

import msgspec

from api.auth import Principal
from api.cstp.decision_json import decision_of
from api.cstp.jsonrpc import RpcError
from api.cstp.params import ParameterError, ParamsSchema, missing, refusal
from api.cstp.query_decisions import AGENT
from api.errors import INVALID_PARAMS
from api.service.decisions import DecisionQuery, count_decisions, select_decisions
from api.service.ledger import LedgerService
from events.decision import Stakes
from events.payload import Confidence, StreamId
from projections.decisions.decision_index import DecisionSelection
from projections.decisions.decision_state import DecisionState

COMPACTED_MAX = 500

EdgeType = Literal["relates_to", "supersedes", "depends_on"]
Direction = Literal["outgoing", "incoming", "both"]
Given = Annotated[str, msgspec.Meta(min_length=1)]


class BreakerAction(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is about to do. Its context is for guardrails, and whatever it holds is passed over."""

    description: Given
    category: str | None = None
    stakes: Stakes | None = None
    confidence: Confidence | None = None


class _Node(msgspec.Struct, frozen=True, kw_only=True):
    node_id: Given | None = None
    depth: int = 1
    limit: int = 20
    direction: Direction = "both"
    edge_type: EdgeType | None = None
    edge_types: tuple[EdgeType, ...] = ()


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    source_id: Given
    target_id: Given
    edge_type: EdgeType
    weight: float = 1.0
    context: str | None = None


class _Scope(msgspec.Struct, frozen=True, kw_only=True):
    scope: Given
    probe_first: bool = False


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    scope: str | None = None


class _Compaction(msgspec.Struct, frozen=True, kw_only=True):
    category: str | None = None
    dry_run: bool = False
    level: Literal["full", "summary", "digest", "wisdom"] | None = None
    limit: int = 50
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = 5


class _Preserved(msgspec.Struct, frozen=True, kw_only=True):
    decision_id: StreamId
    preserve: bool = True


ACTION: ParamsSchema[BreakerAction] = ParamsSchema(BreakerAction)
_node: ParamsSchema[_Node] = ParamsSchema(_Node, aliases={"node_id": ("nodeId", "id", "decisionId", "decision_id")})
_link: ParamsSchema[_Link] = ParamsSchema(_Link)
_scope: ParamsSchema[_Scope] = ParamsSchema(_Scope)
_listed: ParamsSchema[_Listed] = ParamsSchema(_Listed)
_compaction: ParamsSchema[_Compaction] = ParamsSchema(_Compaction)
_preserved: ParamsSchema[_Preserved] = ParamsSchema(
    _Preserved, aliases={"decision_id": ("decisionId", "decision_id", "id")}
)


def action_of(params: dict[str, Any]) -> BreakerAction:
    """The action in `action`. Errors: RpcError."""
    given = params.get("action")
    if given is None or given == {}:
        raise missing("action")
    wrong: list[ParameterError] = []
    action = ACTION.make(given, wrong, "action")
    if action is None:
        raise refusal(wrong)
    return action


async def check_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Every action, named or not, is allowed: there are no guardrails that could forbid one. `evaluated` is 0."""
    if params.get("action"):
        action_of(params)
    return {
        "allowed": True,
        "violations": [],
        "warnings": [],
        "evaluated": 0,
        "evaluatedAt": ledger.clock().isoformat(),
        "agent": AGENT,
        "note": "This ledger keeps no guardrails: nothing was evaluated.",
    }


async def list_guardrails(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """There are none."""
    _listed.decode(params)
    return {"guardrails": [], "count": 0, "agent": AGENT}


async def list_breakers(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """There are none."""
    return {"breakers": []}


async def get_circuit_state(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """No scope has a circuit breaker. Errors: RpcError, always."""
    raise _no_breaker(params)


async def reset_circuit(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """No scope has a circuit breaker that could be reset. Errors: RpcError, always."""
    raise _no_breaker(params)


def _no_breaker(params: dict[str, Any]) -> RpcError:
    scope = _scope.decode(params).scope
    data = {"fields": ["scope"], "advice": "This ledger keeps no circuit breakers; nothing was written."}
    return RpcError(INVALID_PARAMS, f"No circuit breaker found for scope: {scope}", data)


async def get_neighbors(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """No decision is linked to another."""
    return {"nodeId": _node.decode(params).node_id or "", "neighbors": [], "total": 0}


async def get_graph(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """No decision is linked to another."""
    node = _node.decode(params)
    return {"centerId": node.node_id or "", "depth": min(max(node.depth, 1), 5), "nodes": [], "edges": []}


async def link_decisions(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """A link is not recorded, and the answer says so."""
    link = _link.decode(params)
    if link.source_id == link.target_id:
        raise refusal([ParameterError("targetId", "must be another decision than sourceId")])
    if link.weight <= 0:
        raise refusal([ParameterError("weight", "must be above 0")])
    return {"success": False, "error": "This ledger keeps no links between decisions; nothing was written."}


async def reindex(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Bring every view up to date. None has to be built anew: each is a fold that follows the log."""
    began = time.perf_counter()
    counted = await count_decisions(ledger, DecisionSelection())
    elapsed_ms = int((time.perf_counter() - began) * 1000)
    message = f"All {counted.total} decisions are in the views, which follow the log: nothing had to be rebuilt."
    answer = {"success": True, "decisionsIndexed": counted.total, "errors": 0, "durationMs": elapsed_ms}
    return {**answer, "message": message}


async def compact(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Nothing is ever compacted: every decision stands in full."""
    asked = _compaction.decode(params)
    return {"compacted": 0, "preserved": 0, "levels": await _levels(ledger, asked), "dryRun": asked.dry_run}


async def get_compacted(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """The newest decisions, in full, which is the level of all of them."""
    asked = _compaction.decode(params)
    rows: list[dict[str, object]] = []
    if asked.level in (None, "full"):
        limit = min(max(asked.limit, 1), COMPACTED_MAX)
        page = await select_decisions(ledger, DecisionQuery(selection=_selection(asked), limit=limit, history=True))
        rows = [_whole(standing) for standing in page.decisions]
    return {"decisions": rows, "total": len(rows), "levels": await _levels(ledger, asked)}


async def set_preserve(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Nothing is ever compacted, so that there is no such mark, and the answer says so."""
    asked = _preserved.decode(params)
    error = "Nothing is ever compacted here, so that there is no mark against it; nothing was written."
    return {"success": False, "decisionId": asked.decision_id, "preserve": asked.preserve, "error": error}


async def get_wisdom(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """No decision is ever compacted to that level."""
    _compaction.decode(params)
    return {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}


def _selection(asked: _Compaction) -> DecisionSelection:
    return DecisionSelection(category=asked.category or None)


async def _levels(ledger: LedgerService, asked: _Compaction) -> dict[str, int]:
    counted = await count_decisions(ledger, _selection(asked))
    return {"full": counted.total, "summary": 0, "digest": 0, "wisdom": 0}


def _whole(standing: DecisionState) -> dict[str, object]:
    row = decision_of(standing)
    named = ("outcome", "confidence", "pattern", "stakes", "context", "reasons", "tags", "bridge", "deliberation")
    found = {name: row[name] for name in named if row.get(name) is not None}
    head = {name: row[name] for name in ("id", "decision", "date")}
    return {**head, "level": "full", "category": row["category"] or "", **found}
