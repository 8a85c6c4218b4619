"""Append rates: one event per request, batches of a thousand, and both on a log fifty times as long."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks import ledgers, load
from benchmarks.measure import Measure, compare_in_turns, expect_at_least
from ledger.sqlite.log import CACHE_KIB, CHECKPOINT_PAGES
from ledger.sqlite.schema import COLUMNS, CREATE

JSON = "application/json"
NDJSON = "application/x-ndjson"
ROUNDS = 5
CONNECTIONS = 64
BATCH_CONNECTIONS = 4
WRITERS_TARGETS = {1: 0.60, BATCH_CONNECTIONS: 0.75}
"""Targets of batches against executemany, by the number of writers."""

SECONDS = 3


def measure_single(folder: Path) -> Iterator[Measure]:
    """Measure one synced event per request from 64 connections, in turns with the bare handler."""
    ours, compared = [], []
    for number in range(ROUNDS):
        with load.start_bare_server() as server:
            compared.append(_post(server.url, ledgers.SINGLE, JSON, CONNECTIONS))
        with load.start_tallystick(folder / f"single-{number}.db") as server:
            ours.append(_post(server.url, ledgers.SINGLE, JSON, CONNECTIONS))
    yield compare_in_turns("append, one event a request", ours, compared, "events/s", "bare Starlette handler", 0.60)


def measure_batches(folder: Path) -> Iterator[Measure]:
    """Measure batches of 1,000 as NDJSON, and executemany of the same lines into the same schema, in turns."""
    for connections, target in WRITERS_TARGETS.items():
        ours, compared = [], []
        for number in range(ROUNDS):
            path = folder / f"batched-{connections}-{number}.db"
            with load.start_tallystick(path) as server:
                ours.append(ledgers.BATCH * _post(server.url, ledgers.BATCH_BODY, NDJSON, connections))
            rows = ledgers.read_rows(path)
            compared.append(len(rows) / _executemany(folder / f"raw-{connections}-{number}.db", rows))
        writers = "1 writer" if connections == 1 else f"{connections} writers"
        name = f"append, batches of 1,000, {writers}"
        yield compare_in_turns(name, ours, compared, "events/s", "raw sqlite3.executemany", target)


def measure_growth(folder: Path, small: int, large: int) -> Iterator[Measure]:
    """Measure the append rates on a small and on a large log."""
    rates: dict[int, tuple[float, float]] = {}
    for events in (small, large):
        path = folder / f"growing-{events}.db"
        asyncio.run(ledgers.make_ledger(path, events))
        with load.start_tallystick(path) as server:
            singles = median([_post(server.url, ledgers.SINGLE, JSON, CONNECTIONS) for _ in range(ROUNDS)])
            batches = median([_post(server.url, ledgers.BATCH_BODY, NDJSON, BATCH_CONNECTIONS) for _ in range(ROUNDS)])
        rates[events] = singles, ledgers.BATCH * batches
        path.unlink()
    against = f"the same at {small:,}"
    yield expect_at_least(
        f"append at {large:,}, one a request", rates[large][0], rates[small][0], "events/s", against, 0.8
    )
    yield expect_at_least(f"append at {large:,}, batches", rates[large][1], rates[small][1], "events/s", against, 0.8)


def _post(url: str, body: bytes, media: str, connections: int) -> float:
    return load.run_wrk(f"{url}/events", connections=connections, seconds=SECONDS, body=body, media=media).rate


def _executemany(path: Path, rows: list[tuple[object, ...]]) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript(
        f"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{CACHE_KIB};"
        f" PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; {CREATE}"
    )
    statement = f"INSERT INTO events VALUES ({', '.join('?' * len(COLUMNS))})"
    started_s = time.perf_counter()
    for start in range(0, len(rows), ledgers.BATCH):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(statement, rows[start : start + ledgers.BATCH])
        connection.execute("COMMIT")
    elapsed_s = time.perf_counter() - started_s
    connection.close()
    return elapsed_s
