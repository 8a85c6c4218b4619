"""A disk that is full (I3, I4): on a small file system, again and again, in the log, its tiles, and its checkpoints."""

import asyncio
import errno
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import httpx

from tests.faults.lines import body, examine
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.faults.wire import Answer, Reported, Wire
from tests.support.server import Served, served

WRITERS = 8
DISK_BYTES = 512 << 20
SPACE_BYTES = 2 << 20
"""At most this much space is left free before the writers fill the disk."""

ENOUGH_BYTES = 96 << 20
"""Enough space for every refused event, and to move the whole write-ahead log into the file."""

TIMES = 10
"""A disk is filled so often under one server."""

SMALL_TIMES = 6
"""How many of these times the disk has little space. The write-ahead log then fills up until it is moved."""

COUNTS = ("refused", "of them unknown, events", "acknowledged", "read meanwhile", "with a full write-ahead log")
"""Figures that say how much was tried; of the others each one is a failure."""

REFUSALS = 3
"""A writer that was refused so often takes the disk to be full."""

REFUSED = (507, 503)
WAL_BYTES = 66_000_000
"""A write-ahead log that is longer could not be moved into the file: it is moved at 16,000 pages."""

READS = ("/events?limit=5&order=desc", "/events/1", "/streams/decision/0", "/calibration", "/decisions?limit=2",
         "/decisions?search=bounded&limit=2", "/projections", "/metrics", "/healthz", "/readyz")  # fmt: skip


@contextmanager
def small_disk(folder: Path, size_bytes: int = DISK_BYTES) -> Iterator[Path]:
    """A file system of its own, in memory, that is let go at the end."""
    place = folder / "disk"
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tallystick", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def unfit() -> str | None:
    """Why no file system can be mounted here, or nothing."""
    if os.geteuid() != 0:
        return "only root may mount a small file system"
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "tallystick", "/mnt"]
    tried = subprocess.run(mount, check=False, capture_output=True)
    return tried.stderr.decode().strip() or None


class Disk:
    """A disk whose free space we control with a ballast file."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._ballast = place / "ballast"

    def leave(self, space_bytes: int) -> None:
        """Leave this much free space, or less if the disk has less; others may write to it meanwhile."""
        with self._ballast.open("ab") as file:
            while True:
                held = os.fstat(file.fileno()).st_size
                size = max(0, held + self._free() - space_bytes)
                try:
                    if size > held:
                        os.posix_fallocate(file.fileno(), 0, size)
                    file.truncate(size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                else:
                    return

    def _free(self) -> int:
        found = os.statvfs(self._place)
        return found.f_bavail * found.f_frsize


class Writing:
    """The posted batches and their results."""

    def __init__(self, rng: random.Random) -> None:
        self.acknowledged: dict[str, int] = {}
        self.refused: list[list[str]] = []
        self.unknown: set[str] = set()
        self.refusals = 0
        self.torn = 0
        self._rng = rng
        self._number = 0

    async def open(self, url: str) -> None:
        """Post the stream that is read later."""
        async with Wire.open(url) as wire:
            self._keep(["o.0.0"], await wire.post(body(["o.0.0"])))

    async def fill(self, url: str) -> None:
        """Post until the disk is full, from several connections."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(WRITERS):
                tasks.create_task(self._fill(url))

    async def again(self, url: str, share: float) -> None:
        """Post a share of the refused batches again: there is space now, and none was stored. Forget the rest."""
        refused, self.refused = self.refused, []
        async with Wire.open(url) as wire:
            for ids in refused:
                if self._rng.random() < share:
                    placed = Reported.of(await wire.post(body(ids)))
                    duplicates = sum(one.duplicate for one in placed)
                    self.torn += duplicates not in ((0, len(ids)) if ids[0] in self.unknown else (0,))
                    self._keep(ids, await wire.post(body(ids)))

    async def _fill(self, url: str) -> None:
        refusals = 0
        async with Wire.open(url) as wire:
            while refusals < REFUSALS:
                ids = self._next()
                refusals += not self._keep(ids, await wire.post(body(ids)))

    def _keep(self, ids: list[str], answer: Answer) -> bool:
        if answer.status in REFUSED:
            self.refused.append(ids)
            self.refusals += 1
            if b"ledger-unavailable" in answer.body:  # it is in the write-ahead log, but not in the index
                self.unknown.update(ids)
            return False
        self.acknowledged |= {placed.id: placed.position for placed in Reported.of(answer)}
        return True

    def _next(self) -> list[str]:
        self._number += 1
        kind, size = self._rng.choice((("d", 1), ("d", 300), ("l", 1), ("l", 12)))
        return [f"{kind}.{self._number}.{part}" for part in range(size)]


class Reading:
    """Requests to a server on a full disk."""

    def __init__(self, rng: random.Random) -> None:
        self.failed: set[str] = set()
        self.reads = 0
        self._rng = rng

    def ask(self, http: httpx.Client) -> None:
        """Read what there is, and put evidence, which must be refused whole or kept whole."""
        for path in READS:
            self._check(path, http.get(path).status_code, (200,))
        self._check("/checkpoint", http.get("/checkpoint").status_code, (200, 404, *REFUSED))
        data = self._rng.randbytes(self._rng.choice((500, 3_000_000)))
        put = http.put("/evidence", content=data)
        self._check("PUT /evidence", put.status_code, (201, *REFUSED))
        got = http.get(f"/evidence/{sha256(data).hexdigest()}")
        self._check("GET /evidence", got.status_code, (200,) if put.status_code == 201 else (404,))

    def _check(self, path: str, status: int, allowed: tuple[int, ...]) -> None:
        self.reads += 1
        if status not in allowed:
            self.failed.add(f"{path} {status}")


def _filled(disk: Disk, server: Served, writing: Writing, reading: Reading, space_bytes: int) -> None:
    """Leave some space, write until the disk is full, and read."""
    disk.leave(space_bytes)
    asyncio.run(writing.fill(server.url))
    with httpx.Client(base_url=server.url, timeout=60) as http:
        reading.ask(http)


def _relieved(disk: Disk, server: Served, writing: Writing) -> None:
    """Free some space, and post half of the refused batches again."""
    disk.leave(ENOUGH_BYTES)
    asyncio.run(writing.again(server.url, share=0.5))


def _disk(folder: Path, times: int, rng: random.Random, report: Callable[[], None]) -> Figures:
    """Fill a disk so many times under one server, and once more under one that is killed; what was found."""
    writing, reading = Writing(rng), Reading(rng)
    with small_disk(folder) as place:
        disk, ledger = Disk(place), place / "ledger.db"
        with served(ledger) as server:
            asyncio.run(writing.open(server.url))
            for number in range(times):
                space_bytes = int(rng.uniform(0, SPACE_BYTES)) if number < SMALL_TIMES else WAL_BYTES
                _filled(disk, server, writing, reading, space_bytes)
                _relieved(disk, server, writing)
                report()
            wal_bytes = ledger.with_name("ledger.db-wal").stat().st_size
            _filled(disk, server, writing, reading, SPACE_BYTES)
            server.process.kill()
        with served(ledger, logs=folder) as server:
            _filled(disk, server, writing, reading, 0)
            _relieved(disk, server, writing)
        found = examine(ledger, writing.acknowledged, writing.acknowledged.keys() | writing.unknown)
    return {
        "refused": writing.refusals, "of them unknown, events": len(writing.unknown),
        "acknowledged": len(writing.acknowledged), "read meanwhile": reading.reads,
        "with a full write-ahead log": max(0, times - SMALL_TIMES) if wal_bytes > WAL_BYTES else 0,
        **found, "of a refused batch written": writing.torn, "reads failed": ", ".join(sorted(reading.failed)) or 0,
    }  # fmt: skip


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """Fill disk after disk, each so often; what was found, in all."""
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        report(done, dose)

    parts = [_disk(folder, min(TIMES, dose - start), rng, count) for start in range(0, dose, TIMES)]
    figures: Figures = {name: sum(int(part[name]) for part in parts) for name in parts[0] if name != "reads failed"} | {
        "reads failed": next((part["reads failed"] for part in parts if part["reads failed"]), 0)
    }
    held = not any(value for name, value in figures.items() if name not in COUNTS)
    return Outcome(held and (dose < TIMES or bool(figures["with a full write-ahead log"])), figures)


FULL = Fault(
    name="full",
    title="disk full, on a small tmpfs",
    must_hold="507 or 503, whole batch refused, reads go on, recovers without restart",
    dose=50,
    unit="times",
    run=run,
    unfit=unfit,
)
