"""Methods about things this ledger does not keep: guardrails, circuit breakers, a graph, and compaction.

Questions get the well-formed answer that there are none; what would have to write one is told that nothing was written.
"""

import time
from typing import Annotated, Any, Literal

import msgspec

from api.access import Speaker
from api.answers import DecisionQuery
from api.cstp.query import AGENT
from api.cstp.row import decision_of
from api.cstp.rpc import RpcError
from api.cstp.shape import Shape, Wrong, missing, refusal
from api.operations import House
from api.problems import INVALID_PARAMS
from events.decision import Stakes
from events.payload import Confidence, StreamId
from projections import Selection, Standing

COMPACTED_MAX = 500

EdgeType = Literal["relates_to", "supersedes", "depends_on"]
Direction = Literal["outgoing", "incoming", "both"]
Given = Annotated[str, msgspec.Meta(min_length=1)]


class Action(msgspec.Struct, frozen=True, kw_only=True):
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


ACTION: Shape[Action] = Shape(Action)
_node: Shape[_Node] = Shape(_Node, aliases={"node_id": ("nodeId", "id", "decisionId", "decision_id")})
_link: Shape[_Link] = Shape(_Link)
_scope: Shape[_Scope] = Shape(_Scope)
_listed: Shape[_Listed] = Shape(_Listed)
_compaction: Shape[_Compaction] = Shape(_Compaction)
_preserved: Shape[_Preserved] = Shape(_Preserved, aliases={"decision_id": ("decisionId", "decision_id", "id")})


def action_of(params: dict[str, Any]) -> Action:
    """The action in `action`. Errors: RpcError."""
    given = params.get("action")
    if given is None or given == {}:
        raise missing("action")
    wrong: list[Wrong] = []
    action = ACTION.make(given, wrong, "action")
    if action is None:
        raise refusal(wrong)
    return action


async def check_guardrails(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """Every action, named or not, is allowed: there are no guardrails that could forbid one. `evaluated` is 0."""
    if params.get("action"):
        action_of(params)
    return {
        "allowed": True,
        "violations": [],
        "warnings": [],
        "evaluated": 0,
        "evaluatedAt": house.clock().isoformat(),
        "agent": AGENT,
        "note": "This ledger keeps no guardrails: nothing was evaluated.",
    }


async def list_guardrails(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """There are none."""
    _listed.decode(params)
    return {"guardrails": [], "count": 0, "agent": AGENT}


async def list_breakers(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """There are none."""
    return {"breakers": []}


async def get_circuit_state(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """No scope has a circuit breaker. Errors: RpcError, always."""
    raise _no_breaker(params)


async def reset_circuit(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """No scope has a circuit breaker that could be reset. Errors: RpcError, always."""
    raise _no_breaker(params)


def _no_breaker(params: dict[str, Any]) -> RpcError:
    scope = _scope.decode(params).scope
    data = {"fields": ["scope"], "advice": "This ledger keeps no circuit breakers; nothing was written."}
    return RpcError(INVALID_PARAMS, f"No circuit breaker found for scope: {scope}", data)


async def get_neighbors(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """No decision is linked to another."""
    return {"nodeId": _node.decode(params).node_id or "", "neighbors": [], "total": 0}


async def get_graph(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """No decision is linked to another."""
    node = _node.decode(params)
    return {"centerId": node.node_id or "", "depth": min(max(node.depth, 1), 5), "nodes": [], "edges": []}


async def link_decisions(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """A link is not recorded, and the answer says so."""
    link = _link.decode(params)
    if link.source_id == link.target_id:
        raise refusal([Wrong("targetId", "must be another decision than sourceId")])
    if link.weight <= 0:
        raise refusal([Wrong("weight", "must be above 0")])
    return {"success": False, "error": "This ledger keeps no links between decisions; nothing was written."}


async def reindex(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """Bring every view up to date. None has to be built anew: each is a fold that follows the log."""
    began = time.perf_counter()
    counted = await house.count(Selection())
    elapsed_ms = int((time.perf_counter() - began) * 1000)
    message = f"All {counted.total} decisions are in the views, which follow the log: nothing had to be rebuilt."
    answer = {"success": True, "decisionsIndexed": counted.total, "errors": 0, "durationMs": elapsed_ms}
    return {**answer, "message": message}


async def compact(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """Nothing is ever compacted: every decision stands in full."""
    asked = _compaction.decode(params)
    return {"compacted": 0, "preserved": 0, "levels": await _levels(house, asked), "dryRun": asked.dry_run}


async def get_compacted(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """The newest decisions, in full, which is the level of all of them."""
    asked = _compaction.decode(params)
    rows: list[dict[str, object]] = []
    if asked.level in (None, "full"):
        limit = min(max(asked.limit, 1), COMPACTED_MAX)
        page = await house.decisions(DecisionQuery(selection=_selection(asked), limit=limit, history=True))
        rows = [_whole(standing) for standing in page.decisions]
    return {"decisions": rows, "total": len(rows), "levels": await _levels(house, asked)}


async def set_preserve(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """Nothing is ever compacted, so that there is no such mark, and the answer says so."""
    asked = _preserved.decode(params)
    error = "Nothing is ever compacted here, so that there is no mark against it; nothing was written."
    return {"success": False, "decisionId": asked.decision_id, "preserve": asked.preserve, "error": error}


async def get_wisdom(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """No decision is ever compacted to that level."""
    _compaction.decode(params)
    return {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}


def _selection(asked: _Compaction) -> Selection:
    return Selection(category=asked.category or None)


async def _levels(house: House, asked: _Compaction) -> dict[str, int]:
    counted = await house.count(_selection(asked))
    return {"full": counted.total, "summary": 0, "digest": 0, "wisdom": 0}


def _whole(standing: Standing) -> dict[str, object]:
    row = decision_of(standing)
    named = ("outcome", "confidence", "pattern", "stakes", "context", "reasons", "tags", "bridge", "deliberation")
    found = {name: row[name] for name in named if row.get(name) is not None}
    head = {name: row[name] for name in ("id", "decision", "date")}
    return {**head, "level": "full", "category": row["category"] or "", **found}
