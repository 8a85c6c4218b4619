"""Verification rate of a complete export, next to bare hashing of the same lines."""

import asyncio
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from statistics import median

from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService
from api.verify import verify_package
from benchmarks import ledgers
from benchmarks.measure import Measure, compare_in_turns

ROUNDS = 5

RATE_MIN = 300_000
"""Events per second that are enough, even if the ratio is missed."""


def measure_verify(folder: Path, events: int) -> Iterator[Measure]:
    """Measure all checks of `verify` on an export; either the rate or the ratio must be reached."""
    path, export = folder / "verify.db", folder / "export"
    asyncio.run(ledgers.make_ledger(path, events))
    asyncio.run(_export(path, export))
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(events / _hash(export / "events.ndjson"))
        ours.append(events / _verify(export))
    name = f"verify of an export of {events:,} events"
    measure = compare_in_turns(name, ours, bare, "events/s", "SHA-256 of each line", 0.5)
    if median(ours) >= RATE_MIN:
        measure.holds, measure.target = True, f">= 0.5 or {RATE_MIN:,} events/s"
    yield measure


async def _export(path: Path, output: Path) -> None:
    ledger = await LedgerService.open(path, writable=True, views=False)
    try:
        async with open_export(ledger, parse_selection({})) as export:
            await write_export(export, output, lambda done, total: None)
    finally:
        await ledger.close()


def _verify(export: Path) -> float:
    started_s = time.perf_counter()
    assert verify_package(export, None, None).right
    return time.perf_counter() - started_s


def _hash(lines: Path) -> float:
    started_s = time.perf_counter()
    with lines.open("rb") as file:
        for line in file:
            sha256(b"\x00" + line[:-1]).digest()
    return time.perf_counter() - started_s
