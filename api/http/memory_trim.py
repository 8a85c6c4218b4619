"""Return memory to the system: of large arrays at once, of large requests and views soon. Only where glibc is used."""

import asyncio
import ctypes
from collections.abc import Callable
from contextlib import suppress
from typing import Final

TRIM_S: Final = 1.0
"""Seconds after a large request until its memory is returned; requests that end meanwhile share the call."""

LONG_S: Final = 0.1
"""A request that takes so many seconds has probably read or computed much of a view."""

LARGE_BYTES: Final = 1 << 20
"""What is at least as large has memory of its own, which is returned when it is freed."""

SPARE_BYTES: Final = 8 << 20
"""Free memory at the end of the heap that is not returned, because it would soon be asked for again."""

ARENAS_MAX: Final = 2
"""Heaps of all threads. A thread that computes a view leaves up to 64 MB of free memory in a heap of its own."""

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8


def limit_free_memory() -> None:
    """Keep little free memory. Call it before threads are started.

    By default glibc takes memory for arrays of up to 32 MB from heaps once one of that size was freed, and a heap keeps
    what is free between other objects: 270 MB after the views of a million decisions.
    """
    set_option: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, LARGE_BYTES)
        set_option(_M_TRIM_THRESHOLD, SPARE_BYTES)
        set_option(_M_ARENA_MAX, ARENAS_MAX)


class MemoryTrim:
    """Returns free memory to the system: glibc keeps what requests used, and its parts between other objects.

    After requests of every view of a million decisions these are 70 MB.
    """

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
