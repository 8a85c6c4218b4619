"""cstp.linkDecisions, getNeighbors and getGraph: link two decisions, and follow the links of one."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import structs

from api.cstp.jsonrpc import RpcError
from api.cstp.params_schema import DecisionName, ParamsSchema, view_of
from api.errors import INVALID_PARAMS
from api.principal import Principal
from api.service.agent_calls import links
from api.service.agent_calls.links import NEIGHBORS_MAX, edge_json, node_json
from api.service.decision_links import get_graph as find_graph
from api.service.decision_links import get_neighbors as find_neighbors
from api.service.decision_params import DEPTH_MAX, LinkGraphParams
from api.service.ledger import LedgerService
from events.envelope import EventId
from events.limits import PAGE_EVENTS_MAX
from events.link import DecisionLinked, LinkType
from ledger.errors import NotFound
from projections.decisions.link_graph import LINK_TYPES

_LINKED = ("source_id", "target_id", "edge_type", "weight", "context")

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
    """Link two decisions. `idempotencyKey` works as in recordDecision."""
    request = _link.decode(params)
    _check(request, params)
    linked = msgspec.convert({name: getattr(request, name) for name in _LINKED}, DecisionLinked)
    return await links.link(ledger, caller, linked, request.idempotency_key)


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
