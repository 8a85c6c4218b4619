"""Export rate: an export to a folder, next to a bare scan of the same lines."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService
from benchmarks import ledgers
from benchmarks.measure import Measure, compare_in_turns

ROUNDS = 7


def measure_export(folder: Path, events: int) -> Iterator[Measure]:
    """Measure an export of all events, with leaves, checkpoint and sums, synced."""
    path = folder / "export.db"
    asyncio.run(ledgers.make_ledger(path, events))
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(events / _scan(path))
        ours.append(events / asyncio.run(_export(path, folder / "out")))
    yield compare_in_turns(f"export of {events:,} events", ours, bare, "events/s", "SELECT line", 0.6)


async def _export(path: Path, output: Path) -> float:
    """Return the seconds of an export from an open ledger to the finished folder."""
    ledger = await LedgerService.open(path, writable=True, views=False)
    try:
        await ledger.proving.checkpoint((await ledger.reader.head()).position)
        async with open_export(ledger, parse_selection({})) as export:
            started_s = time.perf_counter()
            await write_export(export, output, lambda done, total: None)
            return time.perf_counter() - started_s
    finally:
        await ledger.close()
        shutil.rmtree(output)


def _scan(path: Path) -> float:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    started_s = time.perf_counter()
    for _ in connection.execute("SELECT line FROM events ORDER BY position"):
        pass
    elapsed_s = time.perf_counter() - started_s
    connection.close()
    return elapsed_s
