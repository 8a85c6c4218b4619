"""Power loss: a server is recorded as it works, and every disk that a cut may leave is opened again.

A workload is several clients with singles, batches, evidence, retries and reads; tiles fill, the write-ahead log is
moved into the file, and some are stopped or killed when idle and go on. The trace contains everything
that the server sends, so the trace itself shows which positions the server had acknowledged before each cut.
"""

import asyncio
import multiprocessing
import os
import random
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.faults.disk import MANNERS, Disk, Image, memory, write_image
from tests.faults.lines import stored
from tests.faults.posting import Poster, event, some_text
from tests.faults.row import Fault, Outcome, Report
from tests.faults.served import WAL_PAGES
from tests.faults.shim import Record, Shim, unfit
from tests.faults.soundness import Examined, examine
from tests.support.server import Served

NAME = "ledger.db"
_CHECKPOINT = re.compile(rb"[!-~]+\n([0-9]+)\n[A-Za-z0-9+/]{43}=\n\n")
_POSITION = re.compile(rb'"position":([0-9]+)')


class Found(NamedTuple):
    """The result of one workload: how much it tried, and which checks failed."""

    events: int
    promised: int
    """Events under the newest checkpoint that was given out."""
    syncs: int
    cuts: int
    images: int
    beyond: int
    """Images that hold more than was acknowledged. This is allowed: the server did not report a failure either."""
    wrong: list[str]


class Client(threading.Thread):
    """Posts as its seed says, one request after another."""

    def __init__(self, url: str, name: str, rng: random.Random, requests: int) -> None:
        super().__init__()
        self._url, self._prefix, self._rng, self._requests = url, name, rng, requests
        self.statuses: list[int] = []

    def run(self) -> None:
        with Poster(self._url) as poster:
            for number in range(self._requests):
                self._ask(poster, f"{self._prefix}-{number}")

    def _ask(self, poster: Poster, name: str) -> None:
        kind = self._rng.random()
        if kind < 0.08:
            blob = self._rng.randbytes(self._rng.randint(1, 20_000))
            answer = poster.ask("PUT", "/evidence", blob, "application/octet-stream")
        elif kind < 0.2:
            answer = poster.ask("GET", self._rng.choice(("/events?limit=20&order=desc", "/checkpoint")))
        else:
            sizes = (1, 1, 1, self._rng.randint(2, 9), self._rng.randint(20, 60), self._rng.randint(250, 300))
            size = self._rng.choices(sizes, weights=(4, 4, 4, 4, 2, 1))[0]
            lines = [event(f"{name}-{place}", some_text(self._rng)) for place in range(size)]
            answer = poster.post(*lines)
            if self._rng.random() < 0.1:
                answer = poster.post(*lines)
        self.statuses.append(answer.status)


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many workloads, each on its own, in as many processes as there are cores."""
    seeds = [rng.getrandbits(64) for _ in range(dose)]
    found: list[Found] = []
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        works = [pool.submit(work, folder / str(number), seed) for number, seed in enumerate(seeds)]
        for done, finished in enumerate(as_completed(works), 1):
            found.append(finished.result())
            report(done, dose)
    wrong = [text for one in found for text in one.wrong]
    figures: dict[str, int | float | str] = {
        "events": sum(one.events for one in found),
        "events under checkpoints given out": sum(one.promised for one in found),
        "syncs": sum(one.syncs for one in found),
        "cuts": sum(one.cuts for one in found),
        "disks opened": sum(one.images for one in found),
        "of them with more than was acknowledged": sum(one.beyond for one in found),
        "wrong": len(wrong),
    }
    if wrong:
        figures["the first"] = wrong[0]
    return Outcome(not wrong, figures)


def work(folder: Path, seed: int) -> Found:
    """Record one workload, and open what cuts of it leave."""
    rng = random.Random(seed)
    with memory(folder) as place:
        shim = Shim(place / "disk", folder, traced=True)
        ledger = place / "disk" / NAME
        play(ledger, shim, rng)
        return asyncio.run(cut(shim.trace(), list(stored(ledger)), place, rng))


def play(ledger: Path, shim: Shim, rng: random.Random) -> None:
    """The workload; between its parts the server is stopped, or killed when it has answered all."""
    environment = {**shim.environment, WAL_PAGES: str(rng.choice((10, 40, 160, 16_000)))}
    parts = rng.choice((1, 1, 1, 2, 3))
    for part in range(parts):
        server = Served(ledger, module="tests.faults.served", environment=environment)
        try:
            clients = [
                Client(server.url, f"{part}.{number}", random.Random(rng.random()), rng.randint(2, 6))
                for number in range(rng.randint(1, 4))
            ]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            statuses = {status for client in clients for status in client.statuses}
            assert statuses <= {200, 201}, statuses
            if rng.random() < 0.3:
                server.process.kill()
                server.process.wait()
        finally:
            server.stop()


async def cut(
    trace: Sequence[Record], history: list[bytes], folder: Path, rng: random.Random, most: int | None = None
) -> Found:
    """Open what is left by a cut before and after each sync and each answer, and at some steps between: at most some.

    An image that was left before is not opened again.
    """
    disk, reported, promised, known, wrong = Disk(), 0, 0, dict[bytes, Examined](), list[str]()
    syncs = cuts = beyond = 0
    chosen = sorted(set(_cuts(trace, rng)))
    if most is not None:
        chosen = rng.sample(chosen, min(most, len(chosen)))
    for step, record in enumerate([*trace, None]):
        if step in chosen:
            cuts += 1
            for manner in MANNERS:
                image = disk.image(manner, rng)
                digest = _digest(image)
                if digest not in known:
                    known[digest] = await _opened(image, folder / f"{step}-{manner}", history)
                    wrong += [
                        f"cut before step {step} of {len(trace)}, {manner}: {text}" for text in known[digest].wrong
                    ]
                left, signed = len(known[digest].lines), known[digest].signed
                beyond += left > reported
                if left < reported or signed < promised:
                    short = f"{reported} acknowledged, {promised} signed; {left} and {signed} are left"
                    wrong.append(f"{manner} before step {step} of {len(trace)}: {short}")
        if record is not None:
            disk.do(record)
            syncs += record.kind in "SD"
            if record.kind == "A":
                reported = max([reported, *map(int, _POSITION.findall(record.data))])
                promised = max([promised, *map(int, _CHECKPOINT.findall(record.data))])
    assert reported == len(history), (reported, len(history))
    return Found(len(history), promised, syncs, cuts, len(known), beyond, wrong)


async def _opened(image: Image, place: Path, history: list[bytes]) -> Examined:
    """What an image holds, and what is wrong with it."""
    place.mkdir()
    write_image(image, place)
    found = await examine(place / NAME, append=True)
    shutil.rmtree(place)
    if found.lines != history[: len(found.lines)]:
        found.wrong.append(f"its {len(found.lines)} events are not the first of {len(history)}")
    return found


def _cuts(trace: Sequence[Record], rng: random.Random) -> Iterator[int]:
    """The steps before which the power goes."""
    last = 0
    for step, record in enumerate(trace):
        if record.kind in "SD":
            yield from (step, step + 1, rng.randint(last, step))
            last = step
        elif record.kind == "A":
            yield step + 1
    yield len(trace)


def _digest(image: Image) -> bytes:
    hashed = sha256()
    for name, content in image.items():
        hashed.update(f"{name} {len(content)} ".encode())
        hashed.update(content)
    return hashed.digest()


POWER = Fault(
    name="power",
    title="power loss: cut at every sync, torn and reordered unsynced sectors",
    must_hold="opens; a prefix no shorter than the last acknowledgement, or the last checkpoint; can be appended to",
    dose=200,
    unit="workloads",
    run=run,
    unfit=unfit,
)
