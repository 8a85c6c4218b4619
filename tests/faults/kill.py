"""kill -9 under sixteen writers, again and again (I1, I3, I4, I5, I7); how soon a large ledger is ready after it."""

import asyncio
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.ledgers import make_ledger
from tests.faults.lines import body, examine, wrong_tiles
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.faults.wire import GONE, Reported, Wire
from tests.support.server import served

WRITERS = 16
LANES = 2
"""Ledgers that are killed side by side."""

UNDER_LOAD_S = (0.03, 0.3)
"""From the first acknowledgement to the kill."""

SAMPLE_KILLS = 100
"""Kills between two looks at the tiles."""

LARGE_EVENTS = 1_000_000
LARGE_PER_DOSE = 50
"""Kills for each that a large ledger is given: twenty at full dose."""

READY_S = 2.0


class Writer:
    """Posts one batch after another; what it has no answer to when the server is gone, it posts again."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.acknowledged: dict[str, int] = {}
        self.posted: set[str] = set()
        self.repeated = 0
        self.there_already = 0
        self.torn = 0
        self.moved = 0
        self._name = name
        self._rng = rng
        self._number = 0
        self._unanswered: list[str] = []

    async def write(self, url: str, answered: asyncio.Event) -> None:
        """Post until the server is gone."""
        with suppress(*GONE):
            async with Wire.open(url) as wire:
                while True:
                    await self._round(wire)
                    answered.set()

    async def _round(self, wire: Wire) -> None:
        again = bool(self._unanswered)
        self._unanswered = self._unanswered or self._next()
        reported = Reported.of(await wire.post(body(self._unanswered)))
        assert [placed.id for placed in reported] == self._unanswered
        duplicates = sum(placed.duplicate for placed in reported)
        self.torn += duplicates not in (0, len(reported))
        self.repeated += again
        self.there_already += again and bool(duplicates)
        for placed in reported:
            self.moved += self.acknowledged.setdefault(placed.id, placed.position) != placed.position
        self._unanswered = []

    def _next(self) -> list[str]:
        """Ids of the next batch: one decision, four at once, thoughts on one stream, long texts, or what is known."""
        self._number += 1
        place = f"{self._name}.{self._number}"
        if self._number == 1:
            ids = [f"o.{place}"]
        elif self._rng.random() < 0.05 and self.acknowledged:
            ids = [self._rng.choice(list(self.acknowledged)[-1_000:])]
        else:
            kind, size = self._rng.choices((("d", 1), ("d", 4), ("t", 2), ("l", 2)), (8, 4, 3, 1))[0]
            ids = [f"{kind}.{place}.{part}" for part in range(size)]
        self.posted.update(ids)
        return ids


async def _load(url: str, writers: list[Writer], delay_s: float, kill: Callable[[], object]) -> None:
    """Let the writers write, and kill so long after the first answer."""
    answered = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for writer in writers:
            tasks.create_task(writer.write(url, answered))
        await answered.wait()
        await asyncio.sleep(delay_s)
        kill()


def _killed(ledger: Path, writers: list[Writer], rng: random.Random) -> float:
    """Start a server, let the writers write, kill it; seconds from its start until it was ready."""
    began = time.monotonic()
    with served(ledger) as server:
        ready_s = time.monotonic() - began
        asyncio.run(_load(server.url, writers, rng.uniform(*UNDER_LOAD_S), server.process.kill))
        server.process.wait()
    server.errors.unlink()
    return ready_s


class Lane:
    """One ledger and its writers."""

    def __init__(self, folder: Path, name: str, kills: int, rng: random.Random) -> None:
        self.ledger = folder / f"{name}.db"
        self.kills = kills
        self.rng = rng
        self.writers = [Writer(f"{name}{number}", random.Random(rng.random())) for number in range(WRITERS)]
        self.ready_s: list[float] = []
        self.wrong_tiles = 0

    def run(self, done: Callable[[], None]) -> Figures:
        for number in range(1, self.kills + 1):
            self.ready_s.append(_killed(self.ledger, self.writers, self.rng))
            if number % SAMPLE_KILLS == 0:
                self.wrong_tiles += wrong_tiles(self.ledger)
            done()
        return self._settled()

    def _settled(self) -> Figures:
        """What a last round finds, in which everything that has no answer is posted once more."""
        with served(self.ledger) as server:
            asyncio.run(_load(server.url, self.writers, UNDER_LOAD_S[1], server.process.terminate))
        acknowledged: dict[str, int] = {}
        posted: set[str] = set()
        for writer in self.writers:
            acknowledged |= writer.acknowledged
            posted |= writer.posted
        found = examine(self.ledger, acknowledged, posted)
        return {
            "acknowledged": len(acknowledged),
            "posted again": sum(writer.repeated for writer in self.writers),
            "of them there already": sum(writer.there_already for writer in self.writers),
            **found,
            "wrong tiles": int(found["wrong tiles"]) + self.wrong_tiles,
            "torn batches": sum(writer.torn for writer in self.writers),
            "moved": sum(writer.moved for writer in self.writers),
        }


COUNTS = ("acknowledged", "posted again", "of them there already")
"""Figures that say how much was tried; of the others each one is a failure."""


def _large(folder: Path, kills: int, rng: random.Random) -> list[float]:
    """How long a ledger of a million events takes until it is ready, after each of some kills under load."""
    ledger = folder / "large.db"
    asyncio.run(make_ledger(ledger, LARGE_EVENTS))
    writers = [Writer(f"large{number}", random.Random(rng.random())) for number in range(WRITERS)]
    return [_killed(ledger, writers, rng) for _ in range(kills + 1)][1:]


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """Kill so many times; what was found, summed over the ledgers."""
    lanes = [Lane(folder, "ab"[lane], (dose + lane) // LANES, random.Random(rng.random())) for lane in range(LANES)]
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report(done, dose)

    with ThreadPoolExecutor(LANES) as pool:
        parts = list(pool.map(lambda lane: lane.run(count), lanes))
    figures: Figures = {name: sum(int(part[name]) for part in parts) for name in parts[0]}
    held = all(not value for name, value in figures.items() if name not in COUNTS)
    times = [seconds for lane in lanes for seconds in lane.ready_s]
    figures |= {"ready s, median": median(times), "ready s, most": max(times)}
    if large := _large(folder, dose // LARGE_PER_DOSE, rng) if dose >= LARGE_PER_DOSE else []:
        figures |= {
            "at 1,000,000 events ready s, median": median(large),
            "at 1,000,000 events ready s, most": max(large),
        }
        held = held and max(large) <= READY_S
    return Outcome(held, figures)


KILL = Fault(
    name="kill",
    title="kill -9 under 16 writers",
    must_hold="acknowledged lost 0, duplicates 0, gaps 0; ready within 2 s at 1,000,000 events",
    dose=1_000,
    unit="kills",
    run=run,
)
