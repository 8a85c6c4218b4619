"""The thought stream: a thought that an agent records before its decision, and the decision that adopted it.

A thought about a decision that is already recorded is a `decision.thought` event of that decision's stream. Field names
are those of CSTP (recordThought) in snake case.
"""

from events.payload import Label, Payload, StreamId, StreamName, Text


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


class ThoughtAdopted(Payload, frozen=True, kw_only=True):
    """A decision adopted the thought into its deliberation. Only one can: this is the last event of the stream."""

    thought_id: StreamId
    """The thought that was adopted. Source: the interface that records the decision."""
    decision_id: StreamName
    """The decision that adopted it. Source: the interface that records the decision."""
