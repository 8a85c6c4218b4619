"""How fast one token may go, so that an agent that runs wild starves nobody else.

A bucket of requests a token: it fills at a steady rate up to a burst. A request takes one; a batch takes one more for
every EVENTS_PER_REQUEST of its events, even where that is more than there is: the token then waits until the debt is
paid. So nothing is refused after it was read, and a full batch is never too large for a small bucket.
"""

from math import ceil
from typing import NamedTuple

from events.errors import TallystickError

EVENTS_PER_REQUEST = 10
"""Events of a batch that weigh as much as a request: what a batch of 1,000 costs beside single posts, measured."""

RATE_DEFAULT = 1_000.0
"""Requests a second that a token may send on average: about a tenth of what one core answers."""

BURST_DEFAULT = 10_000.0
"""Requests that a token may send at once after a pause: an import of 100,000 events passes unhindered."""


class RateLimited(TallystickError):
    """The token was used faster than it may be; nothing was done: retry after `retry_after_s` seconds."""

    def __init__(self, agent: str, per_s: float, retry_after_s: int) -> None:
        super().__init__(
            f"The token of {agent} is used faster than {per_s:g} requests a second; nothing was done.",
            f"Retry after {retry_after_s} s; post events in batches.",
        )
        self.retry_after_s = retry_after_s


class Rate(NamedTuple):
    """Requests a second on average, and at once after a pause."""

    per_s: float = RATE_DEFAULT
    burst: float = BURST_DEFAULT


class TokenBucket:
    """What one token may still send."""

    __slots__ = ("_agent", "_left", "_rate", "_seen_s")

    def __init__(self, agent: str, rate: Rate) -> None:
        self._agent = agent
        self._rate = rate
        self._left = rate.burst
        self._seen_s = float("-inf")

    def ask(self, now_s: float) -> None:
        """Take one request at a time of a clock that never goes back. Errors: RateLimited."""
        per_s, burst = self._rate
        left = self._left + (now_s - self._seen_s) * per_s
        left = min(left, burst)
        self._seen_s = now_s
        if left < 1.0:
            self._left = left
            raise RateLimited(self._agent, per_s, max(1, ceil((1.0 - left) / per_s)))
        self._left = left - 1.0

    def spend(self, events: int) -> None:
        """Take what a batch weighs beyond its request; the bucket may end up in debt."""
        self._left -= (events - 1) / EVENTS_PER_REQUEST
