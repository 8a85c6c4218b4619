"""Calibration: response times over a million reviewed decisions, and the memory of the server."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import msgspec

from benchmarks import ledgers, load
from benchmarks.measure import Measure, expect_at_most

ROUNDS = 3
SECONDS = 2
MEMORY_MB_MAX = 600.0
FILTERED = "/calibration?agent=agent-3&category=architecture"


def measure_calibration(folder: Path, small: int, large: int) -> Iterator[Measure]:
    """Measure median times over one warm connection, in turns with /healthz, at two sizes of the ledger."""
    with _served(folder, small) as server:
        before, _ = _in_turns(server.url, FILTERED)
    with _served(folder, large) as server:
        ours, healthy = _in_turns(server.url, FILTERED)
        name = f"/calibration over {large:,}, filtered"
        yield expect_at_most(name, ours * 1e3, healthy * 1e3, "ms", "/healthz", 20)
        yield expect_at_most(name, ours * 1e3, before * 1e3, "ms", f"the same over {small:,}", 1.5)
        yield from _rpc(server.url, large)
        yield expect_at_most("memory of that server, peak", server.peak_mb, MEMORY_MB_MAX, "MB", "the limit", 1.0)


@contextmanager
def _served(folder: Path, decisions: int) -> Iterator[load.ServerProcess]:
    path = folder / f"viewing-{decisions}.db"
    asyncio.run(ledgers.make_ledger(path, 2 * decisions))
    with load.start_tallystick(path) as server:
        yield server


def _rpc(url: str, decisions: int) -> Iterator[Measure]:
    """Measure GetCalibration with every kind of filter, and with curve and band."""
    since, until = (_time(url, 2 * decisions * third // 3) for third in (1, 2))
    queries: dict[str, tuple[dict[str, Any], float]] = {
        "by agent and category": ({"filters": {"agent": "agent-3", "category": "architecture"}}, 20),
        "by project and stakes": ({"filters": {"project": "apollo", "stakes": "high"}}, 20),
        "of a third of the time": ({"filters": {"since": since, "until": until}}, 20),
        "of the last 30 days, by agent": ({"window": "30d", "groupBy": "agent"}, 20),
        "with CORP and band": ({"detail": "curves"}, 100),
        "of a third of the time, with CORP and band": (
            {"filters": {"agent": "agent-3", "since": since, "until": until}, "detail": "curves"},
            100,
        ),
    }
    for name, (params, ratio_max) in queries.items():
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "cstp.getCalibration", "params": params})
        answer = httpx.post(f"{url}/cstp", content=body, timeout=60).json()
        reviewed = answer["result"]["overall"]["reviewedDecisions"]
        assert reviewed > decisions / 100, answer
        assert reviewed == decisions or "filters" in params, f"{reviewed} of {decisions} are in the answer"
        ours, healthy = _in_turns(url, "/cstp", body)
        yield expect_at_most(f"getCalibration {name}", ours * 1e3, healthy * 1e3, "ms", "/healthz", ratio_max)


def _time(url: str, position: int) -> str:
    """Return the time of the event at a position."""
    time: str = httpx.get(f"{url}/events/{position}").json()["time"]
    return time


def _in_turns(url: str, request: str, body: bytes | None = None) -> tuple[float, float]:
    """Return the median seconds of a request and of /healthz, measured in turns."""
    load.run_wrk(f"{url}{request}", connections=1, seconds=1, body=body, media="application/json")
    queries, healthy = [], []
    for _ in range(ROUNDS):
        healthy.append(load.run_wrk(f"{url}/healthz", connections=1, seconds=SECONDS).median_s)
        queries.append(
            load.run_wrk(
                f"{url}{request}", connections=1, seconds=SECONDS, body=body, media="application/json"
            ).median_s
        )
    return median(queries), median(healthy)
