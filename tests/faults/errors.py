"""Errors of the disk: the n-th write, read or sync fails with EIO, for every n, once or from then on.

Every n is tried on the log in a process that was forked for it (`driver.py`); some are tried on the server over HTTP
(`outage.py`). After each the ledger is opened again, what was posted is retried, and the power is cut: what a failed
sync covered counts as lost by the disk, unless it was written again and synced then.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from tests.faults.disk import Disk, memory, write_image
from tests.faults.driver import Order, Reported
from tests.faults.outage import Outage, outage
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.faults.shim import CALLS, FOR_EVER, Call, Record, Shim, unfit
from tests.support.paths import ROOT

DRIVERS = 2
SERVED_OF = 25
"""Of so many n one is tried on the server, too."""


class Trial(NamedTuple):
    """One n: how many calls failed, what the worker told, and what was wrong."""

    call: Call
    number: int
    hit: int
    reported: Reported
    wrong: list[str]


class Driver:
    """A driver process, and the shim under which it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shim = Shim(folder / "disk", folder / "beside", traced=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.driver"], cwd=ROOT, env={**os.environ, **self.shim.environment},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, order: Order) -> Reported:
        """Send an order and return its results."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Reported)


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """Let each n from 1 to the dose fail, of writes, reads and syncs."""
    plan = [(call, number, rng.getrandbits(64)) for number in range(1, dose + 1) for call in CALLS]
    trials: list[Trial] = []
    with memory(folder) as place, ExitStack() as drivers, ThreadPoolExecutor(DRIVERS) as threads:
        free: SimpleQueue[Driver] = SimpleQueue()
        for number in range(DRIVERS):
            free.put(drivers.enter_context(Driver(place / str(number))))
        for done, finished in enumerate(threads.map(lambda planned: _tried(free, *planned), plan), 1):
            trials.append(finished)
            report(done // len(CALLS), dose)
    some = [planned for planned in plan if planned[1] % SERVED_OF == 1]
    with ThreadPoolExecutor(DRIVERS) as threads:
        served = list(threads.map(lambda planned: _served(folder, *planned), some))
    return _outcome(trials, served)


def _tried(free: "SimpleQueue[Driver]", call: Call, number: int, seed: int) -> Trial:
    driver = free.get()
    try:
        return trial(driver, call, number, seed)
    finally:
        free.put(driver)


def _served(folder: Path, call: Call, number: int, seed: int) -> Outage:
    return outage(folder / f"{call}{number}", call, number, random.Random(seed))


def trial(driver: Driver, call: Call, number: int, seed: int) -> Trial:
    """Work until the n-th call fails; cut the power, retry, cut it again; and look at what each left."""
    rng = random.Random(seed)
    shim, run = driver.shim, f"{call}{number}"
    shim.forget()
    before = shim.failed(call)
    ledger = driver.folder / "disk" / run / "ledger.db"
    ledger.parent.mkdir()
    calls = rng.choice((1, 1, 3, FOR_EVER))
    reported = driver.ask(Order(task="work", ledger=str(ledger), seed=seed, call=call, number=number, calls=calls))
    hit = shim.failed(call) - before
    shim.heal()
    worked = shim.trace()
    retried = driver.ask(Order(task="retry", ledger=str(ledger), posted=reported.posted))
    everything = shim.trace()
    wrong = reported.wrong + retried.wrong
    wrong += [f"{name} was acknowledged, and not there" for name in retried.new if name in reported.acknowledged]
    wrong += _elsewhere("retried", reported.acknowledged, retried.acknowledged)
    if reported.unstopped and any("/" in record.names[0] for record in worked if record.kind == "F"):
        wrong.append("a sync failed, and appends were accepted after it")
    for when, path, acknowledged in (
        ("as it is", ledger, retried.acknowledged),
        ("power cut before the retry", _left(worked, driver.folder / "before", run, rng), reported.acknowledged),
        ("power cut after the retry", _left(everything, driver.folder / "after", run, rng), retried.acknowledged),
    ):
        looked = driver.ask(Order(task="look", ledger=str(path)))
        places = {name: place for place, name in enumerate(looked.ids, 1)}
        wrong += [f"{when}: {text}" for text in looked.wrong] + _elsewhere(when, acknowledged, places)
        shutil.rmtree(path.parent)
    return Trial(call, number, hit, reported, [f"{call} {number}, {calls} in a row: {text}" for text in wrong])


def _elsewhere(when: str, acknowledged: dict[str, int], found: dict[str, int]) -> list[str]:
    """Report acknowledged events that are no longer at their position."""
    lost = [name for name, position in acknowledged.items() if found.get(name) != position]
    return (
        [f"{when}: {len(lost)} of {len(acknowledged)} acknowledged are not where they were: {lost[0]}"] if lost else []
    )


def _left(trace: Sequence[Record], folder: Path, run: str, rng: random.Random) -> Path:
    """The ledger that a power cut leaves now: what was synced, and of the rest nothing, or any of it."""
    disk = Disk(run)
    for record in trace:
        disk.do(record)
    (folder / run).mkdir(parents=True)
    write_image(disk.image(rng.choice(("none", "none", "subset", "garbage")), rng), folder)
    return folder / run / "ledger.db"


def _outcome(trials: Sequence[Trial], served: Sequence[Outage]) -> Outcome:
    figures: Figures = {}
    for call in CALLS:
        mine = [one for one in trials if one.call == call]
        figures[f"{call}s that failed"] = sum(one.hit for one in mine)
        if beyond := [one.number for one in mine if not one.hit]:
            figures[f"the first n beyond the last {call}"] = min(beyond)
    figures["log stopped"] = sum(one.reported.stopped for one in trials)
    figures["opening refused"] = sum(not one.reported.opened for one in trials)
    figures["acknowledged"] = sum(len(one.reported.acknowledged) for one in trials)
    figures["on a server"] = len(served)
    figures["of them stopped"] = sum(one.stopped for one in served)
    figures["acknowledged there"] = sum(one.acknowledged for one in served)
    wrong = [text for one in trials for text in one.wrong] + [text for one in served for text in one.wrong]
    figures["wrong"] = len(wrong)
    if wrong:
        figures["the first"] = wrong[0]
    return Outcome(not wrong, figures)


ERRORS = Fault(
    name="errors",
    title="I/O error on the n-th write, read, sync; n = 1, 2, 3 ...",
    must_hold="a failed sync stops accepting; nothing acknowledged is lost, nothing is half; no wrong answer",
    dose=500,
    unit="n of each kind",
    run=run,
    unfit=unfit,
)
