"""Answers about appended events: their positions, and what is noticeable about the decisions among them."""

from typing import Annotated

import msgspec

from tallystick.shapes.parts import OMITTED


class AppendedEvent(msgspec.Struct, frozen=True, gc=False):
    """The position, id and stream of an event in the log."""

    position: int
    """1-based place in the log."""
    id: str
    """The event's id, unique within its source."""
    subject: str
    """The event's stream, such as `decision/3f2a9c1e`."""
    streamversion: int
    """1-based place in the stream."""
    duplicate: bool
    """Whether the log contained the event already, as after a retry."""


class AppendResult(msgspec.Struct, frozen=True):
    """The positions of an appended batch in the log."""

    first: int
    """The lowest position."""
    last: int
    """The highest position."""
    count: int
    """The number of events in the batch."""
    duplicates: int
    """The number of them that the log contained already."""
    events: tuple[AppendedEvent, ...]
    """The position of each event, in the order of the batch."""


class GuardrailWarning(msgspec.Struct, frozen=True, kw_only=True):
    """A guardrail that fired on a recorded decision."""

    guardrail_id: str
    """The rule, or a circuit breaker with its scope; `not-evaluated` if the decision could not be evaluated."""
    message: str
    """What the rule says."""
    severity: str
    """The rule's action: block, warn or log. The decision is recorded nevertheless."""


class DecisionWarning(GuardrailWarning, frozen=True, kw_only=True):
    """A guardrail that fired on a decision of the batch."""

    decision_id: str
    """The decision."""


class RemarkedEvent(AppendedEvent, frozen=True, kw_only=True, omit_defaults=True):
    """The position of an event that recorded a decision, and what is noticeable about the decision."""

    guardrail_warnings: tuple[DecisionWarning, ...] = ()
    """The guardrails that fired on it."""
    thoughts_pending: Annotated[int, OMITTED] = 0
    """Thoughts of its agent that no decision has adopted. POST /decisions adopts them."""


class RemarkedResult(AppendResult, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a batch, and what is noticeable about its decisions."""

    guardrail_warnings: tuple[DecisionWarning, ...] = ()
    """As in `RemarkedEvent`."""
    thoughts_pending: Annotated[int, OMITTED] = 0
    """As in `RemarkedEvent`."""
