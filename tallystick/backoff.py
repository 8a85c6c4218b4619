"""How long to wait before a request is sent again: exponential backoff with jitter and an upper limit."""

import random
import time
from collections.abc import Callable

FIRST_S = 0.1
"""The longest first wait, seconds, unless the server asks for more."""

LONGEST_S = 5.0
"""The longest wait, seconds, unless the server asks for more."""


class Backoff:
    """Computes the waits between the attempts of one request, or during one outage of a stream.

    The n-th wait is a random number between half and all of `FIRST_S * 2**n`, or of LONGEST_S if that is less; a longer
    `Retry-After` is respected. All attempts begin within `total_s` seconds of the first one.
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
        """The number of attempts so far, including the first."""
        return self._waits + 1

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first attempt began."""
        return self._clock() - self._began_s

    def next_wait(self, retry_after_s: float | None = None) -> float | None:
        """Return how many seconds to wait before the next attempt; None if the time is used up."""
        longest_s = min(LONGEST_S, FIRST_S * 2.0 ** min(self._waits, 32))  # 2.0**1024 overflows
        wait_s = max(longest_s * (0.5 + 0.5 * self._draw()), retry_after_s or 0.0)
        if self.elapsed_s + wait_s > self._total_s:
            return None
        self._waits += 1
        return wait_s
