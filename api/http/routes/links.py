"""Routes of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

import msgspec
from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response, read_json
from api.service.decision_links import (
    RecordedLink,
    link_decisions,
)
from api.service.operation import Link
from events.envelope import EventId, Source
from events.link import DecisionLinked

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


@HttpOperation(
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
