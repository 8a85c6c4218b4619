"""Memory that is free goes back to the system: that of large arrays at once, that between other objects on request."""

import ctypes
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

needs_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="the C library is not glibc")

_CHILD = """
import asyncio, ctypes, sys
from pathlib import Path
from api.http.memory_trim import TRIM_S, MemoryTrim, limit_free_memory

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

def make(size, count):
    blocks, between = [], []
    for _ in range(count):
        blocks.append(bytearray(b"x") * size)
        between.append(bytearray(b"y") * 2_000)
    return blocks, between

async def main():
    if "limited" in sys.argv:
        limit_free_memory()
    bytearray(30_000_000)  # once this was freed, glibc takes 3 MB from the heap by default
    start = resident_mb()
    blocks, between = make(3_000_000, 30)
    blocks.clear()
    large = resident_mb() - start
    blocks, between[len(between):] = make(300_000, 300)
    blocks.clear()
    MemoryTrim().request()
    before = resident_mb() - start
    for _ in range(120 if "limited" in sys.argv else 3):  # the trim begins after TRIM_S, in a thread
        await asyncio.sleep(TRIM_S / 2)
        if resident_mb() - start < 10:
            break
    print(large, before, resident_mb() - start)

asyncio.run(main())
"""


def kept_mb(*arguments: str) -> list[float]:
    """Return the megabytes kept after large arrays, after medium ones between small ones, and after a trim."""
    command = [sys.executable, "-c", _CHILD, *arguments]
    return [float(text) for text in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


@needs_glibc
def test_memory_of_large_arrays_is_returned_at_once() -> None:
    assert max(kept_mb()[0] for _ in range(3)) > 20  # it depends on what lies between the arrays
    assert kept_mb("limited")[0] < 10


@needs_glibc
def test_memory_between_other_objects_is_returned_on_request() -> None:
    _, before, after = kept_mb("limited")
    assert before > 20
    assert after < 10
