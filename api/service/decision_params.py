"""The parameters of lists and searches of decisions, of one decision, and of the links around it."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from events.limits import PAGE_EVENTS_DEFAULT
from events.link import LinkType
from projections.shared_params import (
    DecisionFilterParams,
    DecisionModel,
    Limit,
    Offset,
    Prefix,
    Since,
    Until,
    Window,
    stream_id,
)

DEPTH_MAX = 5
"""The most steps of a walk over links."""

DecisionId = Annotated[str, stream_id("The decision's id.")]


class DecisionListParams(DecisionFilterParams, frozen=True, kw_only=True):
    """Which decisions to list, and how. With `retrieval_mode` the search is ranked, the best match first."""

    cluster: Annotated[str | None, Meta(description="Decisions of one cluster: a task, a session, a day.")] = None
    model: DecisionModel = None
    status: Annotated[
        Literal["pending", "reviewed", "retracted", ""] | None,
        Meta(
            description="Decisions with or without a review, or those that were retracted. Empty: all but retracted "
            "ones."
        ),
    ] = None
    outcome: Annotated[
        Literal["success", "partial", "failure", "abandoned", ""] | None,
        Meta(description="Decisions with this outcome. Empty: all."),
    ] = None
    tag: Annotated[tuple[str, ...], Meta(description="Decisions with any of these tags, separated by commas.")] = ()
    since: Since = None
    until: Until = None
    window: Window = None
    search: Annotated[
        str | None, Meta(description="Decisions whose texts contain every one of these words, as whole words.")
    ] = None
    sort: Annotated[
        Literal["created_at", "confidence", "category", "stakes", "status"], Meta(description="What to sort by.")
    ] = "created_at"
    order: Annotated[Literal["asc", "desc"], Meta(description="Ascending or descending.")] = "desc"
    limit: Limit = PAGE_EVENTS_DEFAULT
    offset: Offset = 0
    retrieval_mode: Annotated[
        Literal["semantic", "keyword", "hybrid"] | None,
        Meta(
            description="Rank the search, the best match first: by its meaning, by its words, or by both. Without "
            "vectors, by its words."
        ),
    ] = None
    hybrid_weight: Annotated[
        float | None, Meta(ge=0, le=1, description="The weight of the meaning in the mode `hybrid`; 0.7 without it.")
    ] = None
    embedding: Annotated[
        str | None,
        Meta(description="The vector of the search: a JSON array, or 32-bit floats, the lower byte first, in Base64."),
    ] = None
    embedding_model: Annotated[str | None, Meta(description="The model that made `embedding`.")] = None


class OneDecisionParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which decision to show."""

    decision_id: DecisionId
    prefix: Prefix = False


class NeighborParams(msgspec.Struct, frozen=True, kw_only=True):
    """Which links of a decision to list."""

    decision_id: DecisionId
    direction: Annotated[
        Literal["outgoing", "incoming", "both"], Meta(description="Which links of a decision to follow.")
    ] = "both"
    edge_type: Annotated[tuple[LinkType, ...], Meta(description="Links of these types, separated by commas.")] = ()
    limit: Limit = PAGE_EVENTS_DEFAULT
    prefix: Prefix = False


class LinkGraphParams(NeighborParams, frozen=True, kw_only=True):
    """How far to follow which links of a decision."""

    depth: Annotated[int, Meta(ge=1, le=DEPTH_MAX, description="The number of steps to follow links.")] = 1
