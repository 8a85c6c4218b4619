"""The thought stream: what an agent thought before there was a decision to hang it on, and which decision took it up.

A thought on a decision that is recorded already is a `decision.thought` of that decision's own stream. Field names
follow CSTP (recordThought) in snake case.
"""

from events.payload import Label, Payload, StreamId, StreamName, Text


class ThoughtRecorded(Payload, frozen=True, kw_only=True):
    """A thought on the way to a decision. It waits for the next decision that is made where it was thought."""

    thought_id: StreamId | None = None
    """Names the stream `thought/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    text: Text
    """The thought in words. Source: the agent."""
    agent_id: Label | None = None
    """Who thought it, where several think behind one token. Source: the client, as it stated it."""
    decision_id: Label | None = None
    """The decision it is on the way to, by a name the client chose; no decision's id need be so. Source: the client."""


class ThoughtAdopted(Payload, frozen=True, kw_only=True):
    """A decision took the thought up into its deliberation. No other can: this is the last event of the stream."""

    thought_id: StreamId
    """The thought taken up. Source: the door that records the decision."""
    decision_id: StreamName
    """The decision that took it up. Source: the door that records the decision."""
