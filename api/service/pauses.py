"""Let short requests go first: queries and feeds pause between parts of their work while others are answered.

The thread of a query holds the interpreter, and a page of a feed holds the event loop. An append needs both several
times, so without pauses it waits for each of them. Nothing pauses while no short request is answered, nor in the first
UNPAUSED_S of a query; after that it never pauses for longer in all than it has worked.
"""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

from api.rate_limit import TokenUse

RECENT_S: Final = 0.05
"""Seconds after a short request for which long work pauses."""

PART_S: Final = 0.0005
"""Seconds for which a query works between two pauses."""

UNPAUSED_S: Final = 0.1
"""Seconds of processor time for which a query works before it pauses: most figures take less."""

PAUSE_RATIO: Final = 9.0
"""How much longer a query pauses than the part that it has worked, as long as it has worked more than paused in all."""

PAUSE_MAX_S: Final = 0.1
"""The longest pause. After a part of a second, a pause nine times as long would end the query by its time limit."""

PAGE_S: Final = 0.004
"""Seconds between two pages of all feeds of one token; reading and writing a page takes about a tenth of that."""


class Pauses:
    """Tells the long work of a server when to pause. Thread-safe. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._short_s = float("-inf")

    def note_short_request(self) -> None:
        """Note that a request other than a query or a feed was answered, of a caller that may ask."""
        self._short_s = self._clock()

    def pause_s(self, worked_s: float, credit_s: float = math.inf) -> float:
        """Return for how many seconds a query pauses after a part.

        `credit_s` is by how much it has worked longer than paused, this part included. Work in the background, for
        which nobody waits, has no share that it always gets.
        """
        if worked_s < PART_S or self._clock() - self._short_s > RECENT_S:
            return 0.0
        return max(0.0, min(PAUSE_MAX_S, worked_s * PAUSE_RATIO, credit_s))

    async def await_page(self, use: TokenUse | None) -> None:
        """Wait until a feed of a token may read its next page."""
        now_s = self._clock()
        if use is None or now_s - self._short_s > RECENT_S:
            return
        use.next_page_s = max(now_s, use.next_page_s) + PAGE_S
        await asyncio.sleep(use.next_page_s - now_s)
