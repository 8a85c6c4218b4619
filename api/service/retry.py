"""Retry work that failed for a temporary reason."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

from events.errors import TallystickError
from ledger.errors import AppendRefused, LedgerUnavailable

UNAVAILABLE_WAITS_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait before each retry if the ledger cannot be reached."""

REFUSED_TRIES = 10
"""Tries if other writers append to the streams that the work has read."""

_Result = TypeVar("_Result")

Wait = Callable[[TallystickError, int], float | None]
"""Returns the seconds to wait after an error, given the number of tries so far; None to give up."""


async def retry(work: Callable[[bool], Awaitable[_Result]], wait_s: Wait) -> _Result:
    """Call `work` until it succeeds or `wait_s` returns None. Its argument is False first, and True on a retry.

    Errors: the last error of the work.
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
    """Retry while the ledger cannot be reached."""
    if isinstance(error, LedgerUnavailable) and tries <= len(UNAVAILABLE_WAITS_S):
        return UNAVAILABLE_WAITS_S[tries - 1]
    return None


def while_refused(error: TallystickError, tries: int) -> float | None:
    """Retry at once if another writer was faster."""
    return 0.0 if isinstance(error, AppendRefused) and tries < REFUSED_TRIES else None
