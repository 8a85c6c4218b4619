"""Rate limits: how fast one token may be used, so that one busy agent does not slow down the others.

Each token has a bucket of requests that fills at a steady rate up to a burst. A request takes one; a batch takes one
more for every EVENTS_PER_REQUEST of its events, even if fewer are left: the bucket is then in debt, and the token waits
until it has filled again. So a body is never refused after it was read, and a full batch fits any bucket.
"""

from math import ceil
from typing import NamedTuple

from events.errors import TallystickError

EVENTS_PER_REQUEST = 10
"""Events of a batch that cost as much as one request, measured on batches of 1,000."""

RATE_DEFAULT = 1_000.0
"""Requests a second that a token may send on average: about a tenth of what one core can answer."""

BURST_DEFAULT = 10_000.0
"""Requests that a token may send at once after a pause: enough for an import of 100,000 events."""


class RateLimited(TallystickError):
    """The token was used faster than its rate allows; nothing was done: retry after `retry_after_s` seconds."""

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
    """The requests that one token may still send."""

    __slots__ = ("_agent", "_left", "_rate", "_seen_s")

    def __init__(self, agent: str, rate: Rate) -> None:
        self._agent = agent
        self._rate = rate
        self._left = rate.burst
        self._seen_s = float("-inf")

    def take(self, now_s: float) -> None:
        """Take one request; `now_s` is from a monotonic clock. Errors: RateLimited."""
        per_s, burst = self._rate
        left = self._left + (now_s - self._seen_s) * per_s
        left = min(left, burst)
        self._seen_s = now_s
        if left < 1.0:
            self._left = left
            raise RateLimited(self._agent, per_s, max(1, ceil((1.0 - left) / per_s)))
        self._left = left - 1.0

    def spend(self, events: int) -> None:
        """Take the cost of a batch beyond its request; the bucket may end up in debt."""
        self._left -= (events - 1) / EVENTS_PER_REQUEST
