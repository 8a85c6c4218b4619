"""Repeat work that failed for a reason that passes."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

from api.rate_limit import RateLimited
from events.errors import TallystickError
from ledger.errors import AppendRefused, LedgerBusy, LedgerUnavailable

UNAVAILABLE_WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further try, if the ledger cannot be reached."""

REFUSED_TRIES = 10
"""Tries, if others keep appending to the streams that the work has read."""

BUSY_TRIES = 10
"""Tries, if the server says that it is busy, or that the token is too fast."""

_Result = TypeVar("_Result")

Wait = Callable[[TallystickError, int], float | None]
"""Seconds to wait after an error and so many tries; None to give up."""


async def retry(work: Callable[[bool], Awaitable[_Result]], wait_s: Wait) -> _Result:
    """Return the result of `work`, repeated as long as `wait_s` allows; `work` is passed whether it was tried before.

    Errors: the last one of the work.
    """
    for tries in count(1):
        try:
            return await work(tries > 1)
        except TallystickError as error:
            seconds = wait_s(error, tries)
            if seconds is None:
                raise
        await asyncio.sleep(seconds)
    raise AssertionError("unreachable: count() has no end")


def while_unavailable(error: TallystickError, tries: int) -> float | None:
    """Wait for a ledger that cannot be reached."""
    if isinstance(error, LedgerUnavailable) and tries <= len(UNAVAILABLE_WAITS_S):
        return UNAVAILABLE_WAITS_S[tries - 1]
    return None


def while_busy(error: TallystickError, tries: int) -> float | None:
    """Wait as long as a busy server asks for."""
    if isinstance(error, LedgerBusy | RateLimited) and tries < BUSY_TRIES:
        return float(error.retry_after_s)
    return None


def while_refused(error: TallystickError, tries: int) -> float | None:
    """Decide again at once after another writer was faster."""
    return 0.0 if isinstance(error, AppendRefused) and tries < REFUSED_TRIES else None
