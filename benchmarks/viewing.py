"""Viewing: the time of a filtered calibration over a million reviewed decisions, and the memory it takes."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from benchmarks import ledgers, load
from benchmarks.measure import Measure, at_most

ROUNDS = 3
SECONDS = 3
MEMORY_MB_MAX = 600.0
QUESTION = "/calibration?agent=agent-3&category=architecture"


def viewing(folder: Path, small: int, large: int) -> Iterator[Measure]:
    """Median times from one warm connection: /healthz, the question at 100,000 and at 1,000,000 reviewed decisions."""
    times: dict[int, float] = {}
    health_s = memory_mb = 0.0
    for decisions in (small, large):
        path = folder / f"viewing-{decisions}.db"
        asyncio.run(ledgers.make(path, 2 * decisions))
        with load.tallystick(path) as server:
            load.wrk(f"{server.url}{QUESTION}", connections=1, seconds=1)
            asked, healthy = [], []
            for _ in range(ROUNDS):
                healthy.append(load.wrk(f"{server.url}/healthz", connections=1, seconds=SECONDS))
                asked.append(load.wrk(f"{server.url}{QUESTION}", connections=1, seconds=SECONDS))
            times[decisions] = load.rounds(asked).median_s
            health_s = load.rounds(healthy).median_s
            memory_mb = server.peak_mb
    name = f"/calibration over {large:,}"
    yield at_most(f"{name}, filtered", times[large] * 1e3, health_s * 1e3, "ms", "/healthz", 40)
    yield at_most(f"{name}, filtered", times[large] * 1e3, times[small] * 1e3, "ms", f"the same over {small:,}", 1.5)
    yield at_most("memory of that server, peak", memory_mb, MEMORY_MB_MAX, "MB", "the limit", 1.0)
