"""A ledger to export: three agents, names that spreadsheets obey, evidence kept and erased, several tiles."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from api.export import (
    Manifest,
    open_export,
    parse_selection,
    write_export,
)
from api.principal import OWNER
from api.service.evidence import Blob
from api.service.ledger import LedgerService
from benchmarks import ledgers
from events.envelope import Draft
from tests.support.drafts import recorded, reviewed, thought
from tests.support.event_loop import run

EVENTS = 600
SMALL, LARGE = 5_000, 50_000
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "a;=1+1;b", "a|-1", "plain", "a = b; c - d", "\u00e9\u00fc")
KEPT, ERASED = b"kept material", b"erased material"


class Ledger(NamedTuple):
    """Where it lies, and every stored line of it."""

    path: Path
    lines: list[bytes]


def history() -> list[Draft]:
    """Decisions of agents in turn, with thoughts and reviews."""
    drafts: list[Draft] = []
    for number in range(EVENTS // 3):
        name, text = f"d{number}", FORMULAS[number % len(FORMULAS)]
        source = f"/agents/agent-{number % 3}"
        drafts.append(recorded(name, text, id=f"{text} {number}", source=source))
        drafts.append(thought(name, text, source=source))
        drafts.append(reviewed(name))
    return drafts


@pytest.fixture(scope="package")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    path = tmp_path_factory.mktemp("export") / "ledger.db"

    async def fill() -> list[bytes]:
        service = await LedgerService.open(path, writable=True, views=False)
        try:
            await service.record(history(), OWNER)
            await service.proving.checkpoint(EVENTS)
            await service.evidence.put(Blob(KEPT, None, None), OWNER)
            erased = await service.evidence.put(Blob(ERASED, None, None), OWNER)
            await service.evidence.erase(erased.digest, "it names a person", OWNER)
            assert service.log is not None
            size = (await service.log.head()).position
            await service.proving.checkpoint(size)
            return [await service.event(position) for position in range(1, size + 1)]
        finally:
            await service.close()

    return Ledger(path, run(fill()))


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of SMALL events, signed."""
    return made(tmp_path_factory.mktemp("small") / "ledger.db", SMALL)


@pytest.fixture(scope="package")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of LARGE events, signed."""
    return made(tmp_path_factory.mktemp("large") / "ledger.db", LARGE)


def made(path: Path, size: int) -> Path:
    async def sign() -> None:
        service = await LedgerService.open(path, writable=True, views=False)
        await service.proving.checkpoint(size)
        await service.close()

    asyncio.run(ledgers.make_ledger(path, size))
    asyncio.run(sign())
    return path


async def exported(ledger: Path, output: Path, parameters: Mapping[str, str]) -> Manifest:
    """Export a ledger that nobody writes."""
    service = await LedgerService.open(ledger, writable=False, views=False)
    try:
        async with open_export(service, parse_selection(parameters)) as export:
            return await write_export(export, output, lambda done, total: None)
    finally:
        await service.close()


def export(ledger: Path, output: Path, **parameters: str) -> Manifest:
    """Export a ledger that nobody writes; a folder is ready when this returns."""
    return asyncio.run(exported(ledger, output, parameters))
