"""Routes of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

from starlette.responses import Response

from api.http.media_types import JSON
from api.http.operation import HttpOperation, json_answer
from api.http.request import Call
from api.http.submission import Post, record_post
from api.service.operation import Link
from api.service.store import LINK
from events.link import DecisionLinked
from tallystick.shapes.decisions import RecordedLink


class LinkBody(Post[DecisionLinked], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to record."""


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
    return await record_post(call, LinkBody, LINK)
