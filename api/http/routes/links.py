"""Routes of links between decisions: link two, list the neighbours of one, and walk the graph around it."""

from starlette.responses import Response

from api.http.request import Call
from api.http.submission import Post, record_post, recording
from api.service.store import LINK
from events.link import DecisionLinked
from tallystick.shapes.decisions import RecordedLink


class LinkBody(Post[DecisionLinked], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A link to record."""


@recording(
    "/links", LinkBody, RecordedLink, "The decisions are linked.", "A retry: the link is in the log.",
    decision="source_id",
)  # fmt: skip
async def post_link(call: Call) -> Response:
    """Link a decision to another one.

    A later link of the same type between the same two replaces an earlier one. `unknown` in the answer names decisions
    that are not in the ledger.
    """
    return await record_post(call, LinkBody, LINK)
