"""Routes of decisions: list, show, record, review and retract them, and draw a sample to review."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from api.http.path_parameters import stream_id_parameter
from api.http.request import Call, json_response, read_json
from api.http.submission import Post, record_post, recording
from api.service.decision_writer import (
    DecisionRequest,
    RecordedDecision,
    RecordedRetraction,
    RecordedReview,
    record_decision,
)
from api.service.store import RETRACTION, REVIEW
from api.service.supplied_vector import embedding_to_record
from events.decision import DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventId, Source
from events.payload import Label
from events.vector import Numbers

DECISION_ID = stream_id_parameter("decision_id", "The decision's id.")


class DecisionBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision to record."""

    data: DecisionRecorded
    """The payload of `decision.recorded.v2`."""
    id: EventId | None = None
    """The id of the event. The same decision with the same id is a retry."""
    source: Source | None = None
    """The agent, as /agents/NAME; by default the agent of the token."""
    question: Label | None = None
    """The question that the decision answers."""
    test: Annotated[str, msgspec.Meta(min_length=1, max_length=1000, examples=["git.kept:14d"])] | None = None
    """How its outcome will be known: a rule, its window and parameters."""
    embedding: Annotated[Numbers, msgspec.Meta(min_length=1)] | None = None
    """A vector of the decision's text, for searches by meaning."""
    embedding_model: Label | None = None
    """The model that made `embedding`."""


class ReviewBody(Post[DecisionReviewed], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A review to record."""


class RetractionBody(Post[DecisionRetracted], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A retraction to record."""


@recording(
    "/decisions", DecisionBody, RecordedDecision, "The decision is recorded.", "A retry: the decision is in the log.",
    decision="decision_id",
)  # fmt: skip
async def post_decision(call: Call) -> Response:
    """Record a decision, with the pending thoughts of its agent.

    The thoughts become the last steps of its deliberation, as in cstp.recordDecision. POST /events records a decision
    without them.
    """
    body = await read_json(call.request, DecisionBody)
    embedding = embedding_to_record(body.embedding, body.embedding_model)
    request = DecisionRequest(
        decision=body.data, event_id=body.id, question=body.question, test=body.test, embedding=embedding
    )
    recorded = await record_decision(call.ledger, call.caller, request, source=body.source)
    return json_response(recorded, 200 if recorded.duplicate else 201)


@recording(
    "/reviews", ReviewBody, RecordedReview, "The review is recorded.", "A retry: the review is in the log.",
    decision="decision_id",
)  # fmt: skip
async def post_review(call: Call) -> Response:
    """Record the outcome of a decision.

    A later review replaces an earlier one.
    """
    return await record_post(call, ReviewBody, REVIEW)


@recording(
    "/retractions", RetractionBody, RecordedRetraction, "The decision is retracted.",
    "A retry: the retraction is in the log.", decision="decision_id",
)  # fmt: skip
async def post_retraction(call: Call) -> Response:
    """Withdraw a decision: it counts in no figure, and its history stays.

    Only the agent of the decision may do that, or a token with the scope `import` or `admin`. It cannot be undone.
    """
    return await record_post(call, RetractionBody, RETRACTION)
