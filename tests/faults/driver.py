"""A process under the shim that forks one child for each thing it is asked: to work on a ledger, or to look at one.

`python -m tests.faults.driver` reads an `Order` a line and answers each with a `Told` line. A child takes
milliseconds where a process of its own would take most of a second, so that every n of a thousand can be tried; the
server itself is tried by `errors.py`, too.
"""

import asyncio
import os
import random
import sys
from pathlib import Path
from typing import Literal

import msgspec

import ledger.sqlite.log
from events.errors import TallystickError
from ledger.errors import LedgerUnavailable
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from tests.faults.posting import draft, text_of
from tests.faults.shim import Call, Shim
from tests.faults.soundness import examine, ids_of

ROUNDS = 420
"""So many groups of appends that there are 500 calls of each kind."""

ROUNDS_AFTER = 8
"""How much is tried after a call has failed."""

WAL_PAGES = 60
LONG_WAL = 16_000
"""The limit while retrying: no checkpoint moves pages into the file, which would hide losses of the write-ahead log."""


class Order(msgspec.Struct, kw_only=True):
    """What to do: work until some calls of a kind have failed; retry what was posted; only look."""

    task: Literal["work", "retry", "look"]
    ledger: str
    seed: int = 0
    call: Call = "write"
    number: int = 0
    calls: int = 1
    posted: list[list[str]] = []


class Reported(msgspec.Struct, kw_only=True):
    """The results of an order."""

    acknowledged: dict[str, int] = {}
    """Positions by id."""
    posted: list[list[str]] = []
    """The ids of every batch, acknowledged or not."""
    new: list[str] = []
    """Ids that were not there yet when they were retried."""
    ids: list[str] = []
    """What the log holds, in its order."""
    refused: int = 0
    """Appends that were answered by an error."""
    unread: int = 0
    """Reads that were."""
    opened: bool = True
    stopped: bool = False
    """Whether the log said that it accepts nothing more."""
    unstopped: bool = False
    """Whether syncs failed while it was open, and it did not."""
    wrong: list[str] = []


class Work:
    """Appends in groups and reads between them, over a log whose files may fail."""

    def __init__(self, log: SqliteLog, rng: random.Random, shim: Shim) -> None:
        self.log, self.rng, self.shim = log, rng, shim
        self.reported = Reported()
        self._failed_syncs = shim.failed("sync")
        self.names: dict[int, str] = {}

    async def play(self, call: Call, failed: int) -> Reported:
        """Until more calls than that have failed, and somewhat longer; or to the end."""
        left = ROUNDS_AFTER
        for number in range(ROUNDS):
            sizes = [self.rng.choice((1, 1, 2, 5)) for _ in range(self.rng.randint(1, 3))]
            if self.rng.random() < 0.02:
                sizes.append(150)
            batches = [[f"{number}-{batch}-{place}" for place in range(size)] for batch, size in enumerate(sizes)]
            await asyncio.gather(*map(self.append, batches))
            await self.read()
            if self.shim.failed(call) > failed:
                left -= 1
            if left == 0:
                break
        self.reported.stopped = self.log.broken is not None
        self.reported.unstopped = not self.reported.stopped and self.shim.failed("sync") > self._failed_syncs
        return self.reported

    async def append(self, names: list[str]) -> None:
        self.reported.posted.append(names)
        was_broken = self.log.broken is not None
        try:
            placed = await self.log.append([draft(name, text_of(name)) for name in names])
        except LedgerUnavailable:
            self.reported.refused += 1
        except Exception as error:  # noqa: BLE001 - whatever else it is, it is wrong
            self.reported.wrong.append(f"append raised {error!r}")
        else:
            if was_broken:
                self.reported.wrong.append("an append was acknowledged after the log had stopped accepting")
            for name, place in zip(names, placed, strict=True):
                self.reported.acknowledged[name] = place.position
                self.names[place.position] = name

    async def read(self) -> None:
        """A page of what was acknowledged: an error, or nothing but what was."""
        after = self.rng.randint(0, len(self.names))
        try:
            page = await self.log.read(Query(after=after, limit=20))
        except LedgerUnavailable:
            self.reported.unread += 1
            return
        found = dict(zip(page.positions, ids_of(page.lines), strict=True))
        known = {position: self.names[position] for position in found if position in self.names}
        wanted = range(after + 1, min(after + 20, max(self.names, default=0)) + 1)
        if known != {position: found[position] for position in known} or not found.keys() >= set(wanted):
            self.reported.wrong.append(f"a read after {after} gave {found}, acknowledged was {known}")


async def work(order: Order, shim: Shim) -> Reported:
    rng = random.Random(order.seed)
    failed = shim.failed(order.call)
    shim.fail(order.call, order.number, order.calls, torn=rng.random() < 0.5)
    try:
        log = await SqliteLog.open(Path(order.ledger))
    except TallystickError:
        return Reported(opened=False)
    reported = await Work(log, rng, shim).play(order.call, failed)
    if rng.random() < 0.5:
        try:
            await log.close()
        except Exception as error:  # noqa: BLE001 - whatever it is
            reported.wrong.append(f"close raised {error!r}")
    return reported


async def retry(order: Order) -> Reported:
    """Post everything again, the batches that were left without an answer among them."""
    reported = Reported()
    ledger.sqlite.log.CHECKPOINT_PAGES = LONG_WAL
    log = await SqliteLog.open(Path(order.ledger))
    for names in order.posted:
        placed = await log.append([draft(name, text_of(name)) for name in names])
        reported.acknowledged |= {name: place.position for name, place in zip(names, placed, strict=True)}
        new = [name for name, place in zip(names, placed, strict=True) if not place.duplicate]
        reported.new += new
        if new and len(new) < len(names):
            reported.wrong.append(f"half a batch was there: of {names} not {new}")
    return reported


async def look(order: Order) -> Reported:
    """What the log holds, and what is wrong with it."""
    found = await examine(Path(order.ledger))
    return Reported(ids=ids_of(found.lines), wrong=found.wrong)


async def obey(order: Order) -> None:
    """Do one thing, tell of it, and end as a process does that is killed."""
    if order.task == "work":
        reported = await work(order, Shim.attached())
    else:
        reported = await (retry(order) if order.task == "retry" else look(order))
    report(reported)
    os._exit(0)


def report(reported: Reported) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(reported) + b"\n")


def main() -> None:
    ledger.sqlite.log.CHECKPOINT_PAGES = WAL_PAGES
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            asyncio.run(obey(msgspec.json.decode(line, type=Order)))
        _, status = os.waitpid(child, 0)
        if status != 0:
            report(Reported(wrong=[f"the process ended with {os.waitstatus_to_exitcode(status)}"]))


if __name__ == "__main__":
    main()
