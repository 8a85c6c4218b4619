"""How long to wait before a request is sent again: exponential, with chance, and bounded."""

import random
import time
from collections.abc import Callable

FIRST_S = 0.1
"""The first wait is at most this long, unless the server asks for more."""

LONGEST_S = 5.0
"""No wait is longer than this, unless the server asks for more."""


class Backoff:
    """The waits of one request, or of one outage of a stream.

    The n-th wait is drawn between half and all of `FIRST_S * 2**n`, at most LONGEST_S; a longer `Retry-After` is
    respected. All tries begin within `total_s` seconds of the first one.
    """

    def __init__(
        self,
        total_s: float,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._total_s = total_s
        self._clock = clock
        self._draw = draw
        self._began_s = clock()
        self._waits = 0

    @property
    def tries(self) -> int:
        """How many tries there were, the first one among them."""
        return self._waits + 1

    @property
    def elapsed_s(self) -> float:
        """How long it has been since the first try began."""
        return self._clock() - self._began_s

    def next_wait(self, retry_after_s: float | None = None) -> float | None:
        """Return how many seconds to wait before the next try; None where the time is used up."""
        longest_s = min(LONGEST_S, FIRST_S * 2.0 ** min(self._waits, 32))
        wait_s = max(longest_s * (0.5 + 0.5 * self._draw()), retry_after_s or 0.0)
        if self.elapsed_s + wait_s > self._total_s:
            return None
        self._waits += 1
        return wait_s
