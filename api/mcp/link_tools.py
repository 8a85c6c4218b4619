"""The tools of links: link two decisions, and follow the links of one. Names and parameters are CSTP's."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from api.cstp.links import NEIGHBORS_MAX, edge_json, link, node_json
from api.mcp.decision_tools import Rows, stated
from api.mcp.refusal import Refusal
from api.mcp.tool import AgentParams, Answer, PageSize, ReadParams, ReadResult, Tool, ToolCall
from api.service.decision_links import get_graph, get_neighbors
from api.service.decision_params import DEPTH_MAX, LinkGraphParams, NeighborParams
from events.envelope import EventId
from events.link import LinkType, Weight
from events.payload import StreamName
from projections.decisions.link_graph import Direction

PAGE_LINKS = 10

Limit = Annotated[int, PageSize]
NeighborsLimit = Annotated[int, msgspec.Meta(ge=1, le=NEIGHBORS_MAX)]
Depth = Annotated[int, msgspec.Meta(ge=1, le=DEPTH_MAX)]


class LinkParams(AgentParams, frozen=True, kw_only=True):
    """Two decisions, and what the first does to the second."""

    source_id: StreamName
    target_id: StreamName
    edge_type: LinkType
    weight: Weight | None = None
    context: str | None = None
    idempotency_key: EventId | None = None


class LinkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The link; `unknown` names decisions that are not in the ledger."""

    success: bool
    edge: dict[str, Any]
    unknown: list[str] | UnsetType = UNSET


class NeighborsParams(ReadParams, frozen=True, kw_only=True):
    """A decision, and which of its links to list."""

    node_id: StreamName
    direction: Direction | None = None
    edge_type: LinkType | None = None
    limit: NeighborsLimit | None = None
    cursor: str | None = None


class NeighborsResult(ReadResult, frozen=True, kw_only=True):
    """A page of links, the strongest first, each with the decision at its other end."""

    nodeId: str  # noqa: N815 - as CSTP names it
    neighbors: Rows
    total: int
    next: str | None


class GraphParams(ReadParams, frozen=True, kw_only=True):
    """A decision, how far to follow links, and which."""

    node_id: StreamName
    depth: Depth = 1
    direction: Direction | None = None
    edge_types: list[LinkType] | None = None
    limit: Limit | None = None
    cursor: str | None = None


class GraphResult(ReadResult, frozen=True, kw_only=True):
    """A page of links, the nearest first, with the decisions that they join."""

    centerId: str  # noqa: N815 - as CSTP names it
    depth: int
    nodes: Rows
    edges: Rows
    total: int
    next: str | None


async def _link(call: ToolCall, params: LinkParams) -> Answer:
    if params.source_id == params.target_id:
        raise Refusal("target_id: it is source_id, too.", "target_id", 'Name another. Example: {"target_id":"text"}')
    answer: Any = await link(call.ledger, call.caller, stated(params, "agent_id"))
    return dict(answer)


async def _neighbors(call: ToolCall, params: NeighborsParams) -> Answer:
    types = () if params.edge_type is None else (params.edge_type,)
    end = call.offset + (call.limit or PAGE_LINKS)
    direction = params.direction or "both"
    asked = NeighborParams(decision_id=params.node_id, direction=direction, edge_type=types, limit=end, prefix=True)
    found = await get_neighbors(call.view, asked)
    rows = [{"node": node_json(it.decision), "edge": edge_json(it.link)} for it in found.neighbors[call.offset :]]
    return {
        "nodeId": found.decision_id,
        "neighbors": rows,
        "total": found.total,
        "next": end if end < found.total else None,
    }


async def _graph(call: ToolCall, params: GraphParams) -> Answer:
    end = call.offset + (call.limit or PAGE_LINKS)
    asked = LinkGraphParams(
        decision_id=params.node_id,
        direction=params.direction or "both",
        edge_type=tuple(params.edge_types or ()),
        depth=params.depth,
        limit=end,
        prefix=True,
    )
    graph = await get_graph(call.view, asked)
    answer: Answer = {
        "centerId": graph.decision_id,
        "depth": graph.depth,
        "nodes": list(map(node_json, graph.decisions)),
        "edges": list(map(edge_json, graph.links[call.offset :])),
        "total": graph.total,
        "next": end if end < graph.total else None,
    }
    return _joined(answer)


def _joined(answer: Answer) -> Answer:
    """Return a page of links with only those decisions that they join, and the first one."""
    names = {edge[end] for edge in answer["edges"] for end in ("sourceId", "targetId")} | {answer["centerId"]}
    return {**answer, "nodes": [node for node in answer["nodes"] if node["id"] in names]}


LINK_TOOLS = (
    Tool(
        name="link_decisions",
        title="Link two decisions",
        description="Record that one decision relates to, supersedes or depends on another. A later link of the same"
        " type between them replaces it.",
        toolset="links",
        params=LinkParams,
        result=LinkResult,
        answer=_link,
        writes=True,
    ),
    Tool(
        name="get_neighbors",
        title="Links of a decision",
        description="The decisions linked to one, the strongest link first.",
        toolset="links",
        params=NeighborsParams,
        result=NeighborsResult,
        answer=_neighbors,
        rows="neighbors",
    ),
    Tool(
        name="get_graph",
        title="Graph around a decision",
        description="The decisions and links within depth steps of one, the nearest first.",
        toolset="links",
        params=GraphParams,
        result=GraphResult,
        answer=_graph,
        heavy=True,
        rows="edges",
        beside_rows=_joined,
    ),
)
