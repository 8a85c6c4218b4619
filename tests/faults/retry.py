"""Answers that never came (I5): clients give up at any byte, and post the same ids again, at once and one by one."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path

from tallystick.shapes.appended import AppendedEvent
from tests.faults.lines import body, examine
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.faults.wire import GONE, Reported, Wire, request
from tests.support.server import served

CLIENTS = 16
PATIENCE_S = 0.004
"""Who waits for an answer waits at most so long, before it gives up."""


class Client:
    """Posts batches, gives up before the first answers, and retries each until it knows the positions of its events."""

    def __init__(self, name: str, rng: random.Random, url: str) -> None:
        self.acknowledged: dict[str, int] = {}
        self.posted: set[str] = set()
        self.stood_already = 0
        self.differing = 0
        self.twice_new = 0
        self._name = name
        self._rng = rng
        self._url = url
        self._number = 0

    async def ambiguous(self) -> None:
        """One batch: given up once or several times, then posted by several at once, singly, and behind others."""
        ids = self._next()
        self.posted.update(ids)
        for _ in range(self._rng.choice((1, 1, 1, 2, 4))):
            with suppress(*GONE):
                await self._give_up(ids)
        together = [self._posted(ids) for _ in range(self._rng.choice((1, 2, 3)))]
        answers = await asyncio.gather(*together, *(self._gave_up(ids) for _ in range(self._rng.choice((0, 0, 1)))))
        reported = [answer for answer in answers if answer is not None]
        new = sum(not placed.duplicate for answer in reported for placed in answer)
        self.stood_already += new == 0
        self.twice_new += new > len(ids)
        reported += [await self._posted([event_id]) for event_id in self._rng.sample(ids, min(len(ids), 3))]
        other = self._next()
        self.posted.update(other)
        reported.append((await self._posted([*other, *ids]))[len(other) :])
        first = {placed.id: _where(placed) for placed in reported[0]}
        assert list(first) == ids
        self.differing += sum(first[placed.id] != _where(placed) for answer in reported for placed in answer)
        self.acknowledged |= {placed.id: placed.position for placed in reported[0]}

    async def _give_up(self, ids: list[str]) -> None:
        """Send a batch, or a part of it, and leave: before the answer, within it, or after some time."""
        said = request("POST", "/events", body(ids))
        async with Wire.open(self._url) as wire:
            way = self._rng.randrange(5)
            await wire.send(said[: self._rng.randrange(len(said))] if way == 0 else said)
            if way == 1:
                await wire.part(self._rng.randrange(1, 200))
            elif way > 1:
                with suppress(TimeoutError):
                    await asyncio.wait_for(wire.answer(), self._rng.random() * PATIENCE_S)
            wire.close(rudely=self._rng.random() < 0.5)

    async def _gave_up(self, ids: list[str]) -> None:
        with suppress(*GONE):
            await self._give_up(ids)

    async def _posted(self, ids: list[str]) -> list[AppendedEvent]:
        async with Wire.open(self._url) as wire:
            return Reported.of(await wire.post(body(ids)))

    def _next(self) -> list[str]:
        self._number += 1
        kind, size = self._rng.choice((("d", 1), ("d", 5), ("l", 1), ("t", 3), ("d", 64)))
        place = f"{self._name}.{self._number}"
        if kind == "t":
            opened = f"{self._name}-{self._number}.{self._number}"
            return [f"o.{opened}.0", *(f"t.{opened}.{part}" for part in range(1, size))]
        return [f"{kind}.{place}.{part}" for part in range(size)]


def _where(placed: AppendedEvent) -> tuple[int, str, int]:
    return placed.position, placed.subject, placed.streamversion


async def _load(clients: list[Client], dose: int, report: Report) -> None:
    """Share the dose among the clients."""
    left = dose

    async def work(client: Client) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await client.ambiguous()
            report(dose - left, dose)

    async with asyncio.TaskGroup() as tasks:
        for client in clients:
            tasks.create_task(work(client))


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """Leave so many batches without an answer, and post them again; what was found."""
    ledger = folder / "ledger.db"
    with served(ledger) as server:
        clients = [Client(f"c{number}", random.Random(rng.random()), server.url) for number in range(CLIENTS)]
        asyncio.run(_load(clients, dose, report))
    acknowledged: dict[str, int] = {}
    posted: set[str] = set()
    for client in clients:
        acknowledged |= client.acknowledged
        posted |= client.posted
    found = examine(ledger, acknowledged, posted)
    wrong: Figures = {
        **found,
        "told as new twice": sum(client.twice_new for client in clients),
        "answers that differ": sum(client.differing for client in clients),
    }
    figures: Figures = {
        "acknowledged": len(acknowledged),
        "written before they were posted again": sum(client.stood_already for client in clients),
    }
    return Outcome(not any(wrong.values()), figures | wrong)


RETRY = Fault(
    name="retry",
    title="ambiguous timeout, same ids retried",
    must_hold="stored once, same answer",
    dose=10_000,
    unit="batches",
    run=run,
)
