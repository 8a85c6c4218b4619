"""Routes of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import Link, Operation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response
from api.http.submission import Post, record_post
from api.service.decision_links import (
    DecisionGraph,
    NeighborList,
    RecordedLink,
    list_neighbors,
    walk_graph,
)
from api.service.event_params import AS_OF, PREFIX
from api.service.link_params import GRAPH_PARAMETERS, NEIGHBORS_PARAMETERS, parse_graph_query
from api.service.store import LINK
from events.link import DecisionLinked

DECISION_ID = stream_id_parameter("decision_id", "The decision's id.")


class LinkBody(Post[DecisionLinked], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to record."""


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
    return await record_post(call, LinkBody, LINK)


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
