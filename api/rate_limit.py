"""Limit the requests of each token, so that one busy agent does not slow down the others.

Each token has a bucket of requests, which fills at a steady rate up to a maximum, the burst. A request takes one from
the bucket. A batch of events takes one more for every EVENTS_PER_REQUEST events, even if that makes the bucket
negative; further requests are then refused until the bucket has filled again. Therefore a batch is never refused after
its body was read, and the largest batch is allowed at every rate.
"""

from asyncio import Semaphore
from math import ceil
from typing import NamedTuple

from events.errors import NothingWritten

EVENTS_PER_REQUEST = 10
"""Events of a batch that cost as much as one request, measured on batches of 1,000."""

BYTES_PER_REQUEST = 65_536
"""Bytes of a large body that cost as much as one request: 62 MiB a second at RATE_DEFAULT."""

RATE_DEFAULT = 1_000.0
"""Requests a second that a token may send on average: about a tenth of the requests that one core can answer."""

BURST_DEFAULT = 10_000.0
"""Requests that a token may send at once after a pause: enough for an import of 100,000 events."""


class RateLimited(NothingWritten):
    """The token is used faster than its rate allows: retry after `retry_after_s` seconds."""

    def __init__(self, agent: str, per_s: float, retry_after_s: int) -> None:
        super().__init__(
            f"The token of {agent} is used faster than {per_s:g} requests a second.",
            f"Retry after {retry_after_s} s; post events in batches.",
        )
        self.retry_after_s = retry_after_s


class LimitReached(NothingWritten):
    """A limit of the server is reached: retry after `retry_after_s` seconds."""

    def __init__(self, detail: str, advice: str, retry_after_s: int = 1) -> None:
        super().__init__(detail, advice)
        self.retry_after_s = retry_after_s


class TokenLimitReached(LimitReached):
    """The token's requests use as much as one token may use at once."""


class ServerLimitReached(LimitReached):
    """All requests together use as much as the server allows."""


class TooManyRefusals(LimitReached):
    """The server refused many requests from this address in a short time."""


class QueryTimeout(LimitReached):
    """The query was not answered within the time limit of queries, or the server stopped first."""


class Rate(NamedTuple):
    """The limit of a token: requests a second on average, and requests at once after a pause."""

    per_s: float = RATE_DEFAULT
    burst: float = BURST_DEFAULT


class TokenBucket:
    """The requests that one token may still send."""

    __slots__ = ("_agent", "_rate", "_requests", "_updated_s")

    def __init__(self, agent: str, rate: Rate) -> None:
        self._agent = agent
        self._rate = rate
        self._requests = rate.burst
        self._updated_s = float("-inf")

    def take(self, now_s: float) -> None:
        """Take one request; `now_s` is from a monotonic clock. Errors: RateLimited."""
        per_s, burst = self._rate
        requests = min(burst, self._requests + (now_s - self._updated_s) * per_s)
        self._updated_s = now_s
        if requests < 1.0:
            self._requests = requests
            raise RateLimited(self._agent, per_s, max(1, ceil((1.0 - requests) / per_s)))
        self._requests = requests - 1.0

    def spend(self, events: int) -> None:
        """Take the cost of a batch beyond its request. The bucket may become negative."""
        self._requests -= (events - 1) / EVENTS_PER_REQUEST

    def spend_body(self, size: int) -> None:
        """Take the cost of a large body beyond its request. The bucket may become negative."""
        self._requests -= size / BYTES_PER_REQUEST


class TokenUse:
    """What one token uses at this moment: requests that run, feeds among them, and bytes of bodies in memory.

    `query_turn` lets one query of a view run at a time. `next_page_s` is when a feed may read its next page, by the
    monotonic clock.
    """

    __slots__ = ("agent", "body_bytes", "feeds", "next_page_s", "query_turn", "requests")

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.requests = 0
        self.feeds = 0
        self.body_bytes = 0
        self.query_turn = Semaphore(1)
        self.next_page_s = 0.0
