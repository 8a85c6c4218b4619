"""cstp.linkDecisions, getNeighbors and getGraph: link two decisions, and follow the links of one."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.answer_names import named, without_none
from api.cstp.decision_json import with_defaults
from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import DecisionName, ParamsSchema, view_of
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.decision_links import (
    DecisionLink,
    LinkedDecision,
    link_decisions,
    list_related,
)
from api.service.decision_links import get_graph as find_graph
from api.service.decision_links import get_neighbors as find_neighbors
from api.service.decision_params import DEPTH_MAX, LinkGraphParams
from api.service.ledger import LedgerService, View
from events.envelope import EventId
from events.limits import PAGE_EVENTS_MAX
from events.link import DecisionLinked, LinkType
from ledger.errors import NotFound
from projections.decisions.link_graph import LINK_TYPES, UNSTATED_WEIGHT

NEIGHBORS_MAX = 100

_NODE = (
    "decision_id", "category", "stakes", "recorded_at", "in_degree", "out_degree", "summary", "confidence", "outcome",
    "tags", "pattern", "superseded_by", "retracted",
)  # fmt: skip
_EDGE = ("source_id", "target_id", "edge_type", "weight", "created_at", "created_by", "context")

_NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    source_id: DecisionName | None = None
    target_id: DecisionName | None = None
    edge_type: _NonEmpty | None = None
    weight: float = 1.0
    context: str | None = None
    idempotency_key: EventId | None = None


class _Node(LinkGraphParams, frozen=True, kw_only=True):
    one_type: LinkType | None = None
    edge_types: tuple[LinkType, ...] = ()


_link: ParamsSchema[_Link] = ParamsSchema(_Link)
_node: ParamsSchema[_Node] = ParamsSchema(
    _Node,
    aliases={
        "decision_id": ("nodeId", "node_id", "id", "decisionId", "decision_id"),
        "one_type": ("edgeType", "edge_type"),
    },
    types={"decision_id": _NonEmpty, "limit": int, "depth": int},
    defaults={"decision_id": "", "limit": 20},
    without=("prefix", "edge_type"),
    reads=True,
)


async def link(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Link two decisions. A later link of the same type between them replaces it.

    As in the protocol, a decision need not be in the ledger; `unknown` then names it. `idempotencyKey` works as in
    recordDecision.
    """
    request = _link.decode(params)
    _check(request, params)
    fields = ("source_id", "target_id", "edge_type", "weight", "context")
    linked = msgspec.convert({name: getattr(request, name) for name in fields}, DecisionLinked)
    recorded = await link_decisions(ledger, caller, linked, event_id=request.idempotency_key)
    edge = DecisionLink(
        source_id=recorded.source_id,
        target_id=recorded.target_id,
        edge_type=linked.edge_type,
        created_at=recorded.time,
        created_by=caller.agent,
        position=recorded.position,
        weight=linked.weight,
        context=linked.context,
    )
    unknown = {"unknown": recorded.unknown} if recorded.unknown else {}
    return {"success": True, "edge": edge_json(edge), **unknown}


def _check(request: _Link, params: Mapping[str, Any]) -> None:
    """Check what the protocol requires of a link, with its messages. Errors: RpcError."""
    wrong = {name: f"{_link.spelling(name, params)} is required" for name in _required if not getattr(request, name)}
    if not wrong and request.source_id == request.target_id:
        wrong["target_id"] = "sourceId and targetId must be different (no self-loops)"
    if request.edge_type and request.edge_type not in LINK_TYPES:
        wrong["edge_type"] = f"edgeType must be one of: {', '.join(LINK_TYPES)}"
    if request.weight <= 0:
        wrong["weight"] = "weight must be positive"
    elif request.weight > 1:
        wrong["weight"] = "weight must be at most 1"
    if wrong:
        fields = [_link.spelling(name, params) for name in wrong]
        raise RpcError(INVALID_PARAMS, "; ".join(wrong.values()), {"fields": fields})


_required = ("source_id", "target_id", "edge_type")


async def get_neighbors(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return the strongest links of a decision, with the decisions at their other ends.

    `total` counts those returned, as in the protocol; `available` counts all, if there are more. `asOf` is a position
    or a time.
    """
    view, request = await view_of(ledger, params), _decode_node(params)
    node_id = request.decision_id
    try:
        found = await find_neighbors(view, request)
    except NotFound:
        return {"nodeId": node_id, "neighbors": [], "total": 0, "error": f"Node not found: {node_id}"}
    rows = [{"node": node_json(one.decision), "edge": edge_json(one.link)} for one in found.neighbors]
    answer: dict[str, object] = {"nodeId": node_id, "neighbors": rows, "total": len(rows)}
    return answer if found.total == len(rows) else {**answer, "available": found.total}


async def get_graph(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return the decisions and at most 1,000 links around one. `available` counts all links, if there are more.

    `asOf` is a position or a time.
    """
    view, request = await view_of(ledger, params), _decode_node(params)
    request = structs.replace(request, limit=PAGE_EVENTS_MAX)
    node_id = request.decision_id
    answer: dict[str, object] = {"centerId": node_id, "depth": request.depth}
    try:
        graph = await find_graph(view, request)
    except NotFound:
        return {**answer, "nodes": [], "edges": [], "error": f"Node not found: {node_id}"}
    answer |= {"nodes": list(map(node_json, graph.decisions)), "edges": list(map(edge_json, graph.links))}
    return answer if graph.total == len(graph.links) else {**answer, "available": graph.total}


async def related_decisions(view: View, decision_id: str) -> list[dict[str, object]]:
    """Return the decisions to which one is linked as related, the nearest first, as in CSTP's decision files."""
    return [
        {
            "id": one.decision.decision_id,
            "summary": one.decision.summary or one.link.context or "",
            "distance": round(1 - (UNSTATED_WEIGHT if one.link.weight is None else one.link.weight), 3),
        }
        for one in await list_related(view, decision_id, NEIGHBORS_MAX)
    ]


def _decode_node(params: dict[str, Any]) -> _Node:
    request = _node.decode(params)
    if not request.decision_id:
        raise RpcError(INVALID_PARAMS, "nodeId is required", {"fields": ["nodeId"]})
    types = request.edge_types if request.one_type is None else (*request.edge_types, request.one_type)
    return structs.replace(
        request,
        edge_type=types,
        limit=min(max(request.limit, 1), NEIGHBORS_MAX),
        depth=min(max(request.depth, 1), DEPTH_MAX),
    )


def node_json(decision: LinkedDecision) -> dict[str, object]:
    """Return a node. Of a decision that is not in the ledger, the required fields are empty, as in the protocol."""
    node = named(decision, _NODE, {"decision_id": "id", "recorded_at": "date"})
    day = "" if decision.recorded_at is None else decision.recorded_at.date().isoformat()
    node |= {"category": decision.category or "", "stakes": decision.stakes or "", "date": day}
    node |= {name: node[name] or None for name in ("tags", "supersededBy", "retracted")}
    return without_none(node if decision.recorded_at is None else with_defaults(node))


def edge_json(link: DecisionLink) -> dict[str, object]:
    """Return a link as CSTP names its fields."""
    weight = UNSTATED_WEIGHT if link.weight is None else link.weight
    return without_none({**named(link, _EDGE), "weight": weight})
