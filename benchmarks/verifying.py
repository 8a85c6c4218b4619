"""Verifying: a complete export in a folder, beside the bare hashing of the same lines."""

import asyncio
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from api.export import open_export, parse_selection, write_export
from api.service.ledger import LedgerService
from api.verify import verify_package
from benchmarks import ledgers
from benchmarks.measure import Measure, median, paired

ROUNDS = 5

RATE_MIN = 300_000
"""Events a second that are enough, whatever the ratio."""


def verifying(folder: Path, events: int) -> Iterator[Measure]:
    """Everything that `verify` checks of an export; either rate or ratio is to be reached."""
    path, export = folder / "verify.db", folder / "export"
    asyncio.run(ledgers.make(path, events))
    asyncio.run(_export(path, export))
    ours, bare = [], []
    for _ in range(ROUNDS):
        bare.append(events / _hash(export / "events.ndjson"))
        ours.append(events / _verify(export))
    name = f"verify of an export of {events:,} events"
    measure = paired(name, ours, bare, "events/s", "SHA-256 of each line", 0.5)
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
    began = time.perf_counter()
    assert verify_package(export, None, None).right
    return time.perf_counter() - began


def _hash(lines: Path) -> float:
    began = time.perf_counter()
    with lines.open("rb") as file:
        for line in file:
            sha256(b"\x00" + line[:-1]).digest()
    return time.perf_counter() - began
