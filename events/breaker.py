"""Circuit breakers: their configuration, and resets by hand. Their states are a view over reviews."""

from typing import Annotated, Literal

import msgspec

from events.limits import ITEMS_MAX
from events.payload import COUNT_MAX, Label, Payload, PayloadPart, StreamId, Text

BREAKER_SCOPE_PATTERN = r"^(global|(category|stakes|tag|agent):.+)$"
"""What a breaker watches: every decision, or those of a category, stakes, tag or agent."""

BreakerScope = Annotated[Label, msgspec.Meta(pattern=BREAKER_SCOPE_PATTERN)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=COUNT_MAX)]


class BreakerRule(PayloadPart, frozen=True, kw_only=True):
    """One circuit breaker."""

    scope: BreakerScope
    """The decisions that it watches: `global`, `category:X`, `stakes:X`, `tag:X` or `agent:X`. Source: the operator."""
    failure_threshold: _Positive
    """Failures within the window that open it. Source: the operator."""
    window_ms: _Positive
    """The window, milliseconds. Source: the operator."""
    cooldown_ms: _Positive
    """How long it stays open until one decision may try again, milliseconds. Source: the operator."""


class BreakersConfigured(Payload, frozen=True, kw_only=True):
    """The circuit breakers from now on. A scope that is not in the list has none any more."""

    config_id: StreamId | None = None
    """Names the stream `breakers/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    breakers: Annotated[tuple[BreakerRule, ...], msgspec.Meta(max_length=ITEMS_MAX)]
    """Every circuit breaker, each scope once. Source: the operator."""

    def __post_init__(self) -> None:
        if len({rule.scope for rule in self.breakers}) < len(self.breakers):
            raise ValueError("Each scope has one circuit breaker")


class BreakerReset(Payload, frozen=True, kw_only=True):
    """A circuit breaker that blocks was reset by hand."""

    reset_id: StreamId | None = None
    """Names the stream `reset/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    scope: BreakerScope
    """The circuit breaker. Source: the client."""
    state: Literal["closed", "half_open"]
    """The state from then on. Source: the client."""
    reason: Text | None = None
    """Why, in words. Source: the client."""
