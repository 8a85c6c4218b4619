"""The tools of links: link two decisions, and follow the links of one. Names and parameters are CSTP's."""

from api.mcp.arguments import Arguments, Keyed, PageArguments, WriteArguments, arguments, filled
from api.mcp.refusal import Refusal
from api.mcp.tool import Answer, Tool, ToolCall
from api.service.agent_calls.links import NEIGHBORS_MAX, edge_json, link, node_json
from api.service.decision_links import get_graph, get_neighbors
from api.service.decision_params import LinkGraphParams, NeighborParams
from events.link import DecisionLinked, LinkType
from events.payload import StreamName

PAGE_LINKS = 10

_NODE = {"decision_id": "node_id"}


async def _link(call: ToolCall, given: Arguments) -> Answer:
    if given.source_id == given.target_id:
        raise Refusal("target_id: it is source_id, too.", "target_id", 'Name another. Example: {"target_id":"text"}')
    return await link(call.ledger, call.caller, filled(DecisionLinked, given), given.idempotency_key)


async def _neighbors(call: ToolCall, given: Arguments) -> Answer:
    end = call.offset + (call.limit or PAGE_LINKS)
    types = () if given.edge_type is None else (given.edge_type,)
    found = await get_neighbors(call.view, filled(NeighborParams, given, edge_type=types, limit=end, prefix=True))
    rows = [{"node": node_json(it.decision), "edge": edge_json(it.link)} for it in found.neighbors[call.offset :]]
    return {
        "nodeId": found.decision_id,
        "neighbors": rows,
        "total": found.total,
        "next": end if end < found.total else None,
    }


async def _graph(call: ToolCall, given: Arguments) -> Answer:
    end = call.offset + (call.limit or PAGE_LINKS)
    graph = await get_graph(call.view, filled(LinkGraphParams, given, limit=end, prefix=True))
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
        params=arguments(WriteArguments, DecisionLinked, Keyed, hidden=("link_id", "created_by")),
        result={"success": bool, "edge": dict, "unknown?": list[str]},
        answer=_link,
        writes=True,
    ),
    Tool(
        name="get_neighbors",
        title="Links of a decision",
        description="The decisions linked to one, the strongest link first.",
        toolset="links",
        params=arguments(
            PageArguments,
            NeighborParams,
            hidden=("prefix",),
            names=_NODE,
            types={"decision_id": StreamName, "edge_type": LinkType | None},
            page_max=NEIGHBORS_MAX,
        ),
        result={"nodeId": str},
        answer=_neighbors,
        rows="neighbors",
    ),
    Tool(
        name="get_graph",
        title="Graph around a decision",
        description="The decisions and links within depth steps of one, the nearest first.",
        toolset="links",
        params=arguments(
            PageArguments,
            LinkGraphParams,
            hidden=("prefix",),
            names={**_NODE, "edge_type": "edge_types"},
            types={"decision_id": StreamName},
        ),
        result={"centerId": str, "depth": int, "nodes": list},
        answer=_graph,
        heavy=True,
        rows="edges",
        beside_rows=_joined,
    ),
)
