"""Exporting: an export to a folder, beside a bare scan of the same lines that does nothing with them."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService
from benchmarks import ledgers
from benchmarks.measure import Measure, paired

ROUNDS = 7


def exporting(folder: Path, events: int) -> Iterator[Measure]:
    """All events as lines, with leaves, checkpoint and sums, synced."""
    path = folder / "export.db"
    asyncio.run(ledgers.make(path, events))
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(events / _scan(path))
        ours.append(events / asyncio.run(_export(path, folder / "out")))
    yield paired(f"export of {events:,} events", ours, bare, "events/s", "SELECT line", 0.6)


async def _export(path: Path, output: Path) -> float:
    """The time that an export takes once the ledger is open, until it is at its path."""
    ledger = await LedgerService.open(path, writable=True, views=False)
    try:
        await ledger.proving.checkpoint((await ledger.reader.head()).position)
        async with open_export(ledger, parse_selection({})) as export:
            began = time.perf_counter()
            await write_export(export, output, lambda done, total: None)
            return time.perf_counter() - began
    finally:
        await ledger.close()
        shutil.rmtree(output)


def _scan(path: Path) -> float:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    began = time.perf_counter()
    for _ in connection.execute("SELECT line FROM events ORDER BY position"):
        pass
    elapsed_s = time.perf_counter() - began
    connection.close()
    return elapsed_s
