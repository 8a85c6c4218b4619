"""Return memory to the system after large requests, where the C library is glibc."""

import asyncio
import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Final

TRIM_S: Final = 1.0
"""Seconds after a large request until its memory is returned; requests that end meanwhile share the call."""


class MemoryTrim:
    """Returns free memory to the system: glibc keeps what large bodies used, and its parts between other objects."""

    def __init__(self) -> None:
        self._trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._requested = False

    def request(self) -> None:
        """Return free memory to the system soon."""
        if self._trim is not None and not self._requested:
            self._requested = True
            asyncio.get_running_loop().call_later(TRIM_S, self._start)

    def _start(self) -> None:
        self._requested = False
        if self._trim is not None:
            with suppress(RuntimeError):  # the executor has ended: so does the process
                _ = asyncio.get_running_loop().run_in_executor(None, self._trim, 0)
