"""The thought stream: what an agent thought or called before its decision, and the decision that adopted it.

A thought about a decision that is already recorded is a `decision.thought` event of that decision's stream. Field names
are those of CSTP (recordThought) in snake case.
"""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.payload import Label, Payload, PayloadPart, StreamId, StreamName, Text

CallKind = Literal["query", "guardrail", "lookup", "stats"]


class RelatedDecision(PayloadPart, frozen=True, kw_only=True):
    """A decision that a query found."""

    decision_id: StreamName
    """The decision. Source: the ledger's answer."""
    distance: Annotated[float, msgspec.Meta(ge=0.0)]
    """How far it is from the query: 0 for the best match. Source: the ledger's answer."""


class ThoughtRecorded(Payload, frozen=True, kw_only=True):
    """A thought before a decision. The next decision recorded in the same place adopts it."""

    thought_id: StreamId | None = None
    """Names the stream `thought/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    text: Text
    """The thought in words. Source: the agent."""
    agent_id: Label | None = None
    """The agent that thought it, where several agents share a token. Source: the client's claim."""
    decision_id: Label | None = None
    """The decision it belongs to, by a name that the client chose; need not be a decision's id. Source: the client."""


class ThoughtTracked(Payload, frozen=True, kw_only=True):
    """A call that an agent made before a decision: a query, a check, a lookup. Its next decision adopts it.

    The ledger records it only for an agent that asked for automatic deliberation.
    """

    thought_id: StreamId | None = None
    """Names the stream `thought/ID`. Source: the ledger makes 8 hex digits."""
    kind: CallKind
    """What the agent called: a search, a check of guardrails, a look at one decision, or statistics of reasons.
    Source: the interface that answered."""
    text: Text
    """The call and its result in words. Source: the interface that answered."""
    method: Label
    """The method that the agent called, such as `cstp:queryDecisions`. Source: the interface that answered."""
    related: Annotated[tuple[RelatedDecision, ...], msgspec.Meta(max_length=ITEMS_MAX)] = ()
    """The nearest decisions that a query found, at most 5. Source: the interface that answered."""
    agent_id: Label | None = None
    """The agent that called, where several agents share a token. Source: the client's claim."""


class ThoughtAdopted(Payload, frozen=True, kw_only=True):
    """A decision adopted the thought, or tracked call, into its deliberation. Only one can: it ends the stream."""

    thought_id: StreamId
    """The thought that was adopted. Source: the interface that records the decision."""
    decision_id: StreamName
    """The decision that adopted it. Source: the interface that records the decision."""
