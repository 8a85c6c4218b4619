"""Routes of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import Link, Operation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response, read_json
from api.service.decision_links import DecisionGraph, NeighborList, link_decisions, list_neighbors, walk_graph
from api.service.event_params import AS_OF, PREFIX
from api.service.link_params import GRAPH_PARAMETERS, NEIGHBORS_PARAMETERS, parse_graph_query
from events.envelope import EventId, Source
from events.link import DecisionLinked
from tallystick.shapes.decisions import RecordedLink

DECISION_ID = stream_id_parameter("decision_id", "The decision's id.")


class LinkBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to record."""

    data: DecisionLinked
    """The payload of `decision.linked.v1`."""
    id: EventId | None = None
    """The id of the event. The same link with the same id is a retry."""
    source: Source | None = None
    """The agent, as /agents/NAME; by default the agent of the token."""
    prefix: bool = False
    """Whether both decisions may be named by an unambiguous prefix of their ids; this needs the scope `read`."""


@Operation(
    method="POST",
    path="/links",
    scopes=("append",),
    body={JSON: LinkBody},
    body_required=True,
    answers={
        200: json_answer("A retry: the link is in the log.", RecordedLink),
        201: json_answer("The decisions are linked.", RecordedLink),
    },
    errors=(404, 409, 413, 422, 507),
    links={"decision": Link("get_decision", "decision_id", "$response.body#/source_id")},
)
async def post_link(call: Call) -> Response:
    """Link a decision to another one.

    A later link of the same type between the same two replaces an earlier one. `unknown` in the answer names decisions
    that are not in the ledger.
    """
    body = await read_json(call.request, LinkBody)
    recorded = await link_decisions(
        call.ledger, call.caller, body.data, event_id=body.id, source=body.source, prefix=body.prefix
    )
    return json_response(recorded, 200 if recorded.duplicate else 201)


@Operation(
    method="GET",
    path="/decisions/{decision_id}/neighbors",
    path_parameters=(DECISION_ID,),
    query=(*NEIGHBORS_PARAMETERS, PREFIX, AS_OF),
    answers={200: json_answer("The links of the decision.", NeighborList)},
    errors=(404,),
)
async def get_neighbors(call: Call) -> Response:
    """List the links of a decision with the decisions at their other ends, the strongest first."""
    query, prefix = parse_graph_query(call.parameters), PREFIX.read(call.parameters)
    decision_id, as_of = call.path(DECISION_ID), await call.as_of()
    return json_response(
        await list_neighbors(call.ledger, decision_id, query.selection, query.limit, as_of, prefix=prefix)
    )


@Operation(
    method="GET",
    path="/decisions/{decision_id}/graph",
    heavy=True,
    path_parameters=(DECISION_ID,),
    query=(*GRAPH_PARAMETERS, PREFIX, AS_OF),
    answers={200: json_answer("The decisions and links around the decision.", DecisionGraph)},
    errors=(404,),
)
async def get_graph(call: Call) -> Response:
    """Follow links from a decision, up to 5 steps.

    The nearest come first, and each link is there once. `limit` is the largest number of links.
    """
    query, prefix = parse_graph_query(call.parameters), PREFIX.read(call.parameters)
    decision_id, as_of = call.path(DECISION_ID), await call.as_of()
    return json_response(await walk_graph(call.ledger, decision_id, *query, as_of, prefix=prefix))
