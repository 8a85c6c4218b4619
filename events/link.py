"""The link stream: how two decisions are related. Each link is a stream of its own.

Field names are those of CSTP (linkDecisions) in snake case.
"""

from typing import Annotated, Literal

import msgspec

from events.payload import Label, Payload, StreamId, StreamName

LinkType = Literal["relates_to", "supersedes", "depends_on"]
Weight = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]


class DecisionLinked(Payload, frozen=True, kw_only=True):
    """A link from one decision to another. A later link of the same type between the same two replaces it.

    Neither decision must be in the ledger: another ledger may have it, or it may be recorded later.
    """

    link_id: StreamId | None = None
    """Names the stream `link/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    source_id: StreamName
    """The decision that the link is from: the one that relates, supersedes or depends. Source: the client."""
    target_id: StreamName
    """The decision that the link is to. Source: the client."""
    edge_type: LinkType
    """What the first decision does to the second. Source: the client."""
    weight: Weight | None = None
    """Strength of the relation, above 0, at most 1. Source: the client; absent when it stated none."""
    context: str | None = None
    """Why they are linked, in words. Source: the client."""
    created_by: Label | None = None
    """What made the link, if not the event's agent: `auto-link`, or a name that an import found. Source: the client."""

    def __post_init__(self) -> None:
        if self.source_id == self.target_id:
            raise ValueError("A link is between two different decisions")
