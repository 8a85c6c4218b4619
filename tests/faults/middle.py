"""kill -9 in the middle of long work: folds, replays, imports, copies. Done again, it is as if nothing had been."""

import asyncio
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.ledgers import make
from tests.cli.command import ROOT, command, environment
from tests.cli.installation import WHOLE, write_store
from tests.faults.lines import Line, stored, wrong_tiles
from tests.faults.row import Fault, Outcome, Tell

EVENTS_PER_DOSE = 600
"""Events of the ledger that is folded, for each time of the dose: 120,000 at full dose, of which two snapshots are."""

ROWS_PER_DOSE = 100
"""Rows that are imported."""

EARLIEST = 0.3
"""The earliest kill, as a part of the time that the work takes: before it a process only loads."""

AGAIN = 0.3
"""How often what goes on after a kill is killed, too."""


class Work(NamedTuple):
    """A verb that takes long: its words in a folder, and what came of it.

    `begin` makes what the folder holds before; `result` is the same text for equal outcomes; `half` says whether
    something that is not whole stands under the final name. `says` is in the log line that ends it, of a server,
    which does not end by itself.
    """

    name: str
    begin: Callable[[Path], object]
    words: Callable[[Path], list[str]]
    result: Callable[[Path], str]
    half: Callable[[Path], bool] = lambda place: False
    says: bytes | None = None


class Tally(NamedTuple):
    """Of one dose: kills, those that fell while it worked, and what was wrong afterwards."""

    kills: int
    working: int
    differing: int
    half: int


def works(folder: Path, dose: int) -> list[Work]:
    """Every work, over sources that are made once."""
    ledger, rows, store = folder / "source.db", folder / "rows.jsonl", folder / "store" / "decisions.db"
    asyncio.run(make(ledger, EVENTS_PER_DOSE * dose))
    rows.write_bytes(b"".join(_row(number) for number in range(ROWS_PER_DOSE * dose)))
    write_store(store, [WHOLE | {"id": f"{number:08x}"} for number in range(ROWS_PER_DOSE * dose // 4)])

    def copy(place: Path) -> None:
        shutil.copyfile(ledger, place / "ledger.db")

    return [
        Work("fold", copy, lambda place: _verb(place, "serve", "--port", "0"), _views, says=b'"event":"folded"'),
        Work("replay", copy, lambda place: _verb(place, "replay", "--check"), _views),
        Work("import decisions", _nothing, lambda place: _verb(place, "import", "decisions", rows), _lines),
        Work("import cstp", _nothing, lambda place: _verb(place, "import", "cstp", store.parent), _lines),
    ]


def _nothing(place: Path) -> None:
    """A work that makes its own ledger."""


def _row(number: int) -> bytes:
    return msgspec.json.encode(
        {
            "agent": f"agent-{number % 7}", "decision": f"Take the number {number}", "confidence": number % 10 / 10,
            "outcome": ("success", "failure")[number % 2], "id": f"row-{number}", "time": "2026-02-05T10:00:00Z",
            "review_time": "2026-02-06T10:00:00Z",
        }
    ) + b"\n"  # fmt: skip


def _verb(place: Path, *words: str | Path) -> list[str]:
    return command(place / "ledger.db", *words)


def _views(place: Path) -> str:
    """The digests of all views as they are kept, and whether they are those of a replay."""
    ended = subprocess.run(
        _verb(place, "replay", "--check", "--json"), cwd=ROOT, env=environment(), check=False, capture_output=True
    )
    return f"exit code {ended.returncode}: {ended.stdout.decode()}"


def _lines(place: Path) -> str:
    """A digest of every event, but for when it was recorded."""
    decode, digest = msgspec.json.Decoder(Line).decode, sha256()
    for raw in stored(place / "ledger.db"):
        line = decode(raw)
        line.recordedtime = ""
        digest.update(msgspec.json.encode(line))
    return f"{digest.hexdigest()} {wrong_tiles(place / 'ledger.db')} wrong tiles"


def _start(work: Work, place: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        work.words(place), cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _finish(work: Work, place: Path) -> None:
    """Do a work to its end."""
    with _start(work, place) as process:
        assert process.stderr is not None
        said: list[bytes] = []
        for line in process.stderr:
            said.append(line)
            if work.says is not None and work.says in line:
                process.terminate()
        assert process.wait() == 0, (work.name, process.returncode, b"".join(said[-20:]))


def _interrupt(work: Work, place: Path, wait_s: float) -> bool:
    """Kill a work after some time; whether it was still at it."""
    with _start(work, place) as process:
        assert process.stderr is not None
        os.set_blocking(process.stderr.fileno(), False)
        time.sleep(wait_s)
        said = process.stderr.read() or b""
        working = process.poll() is None and not (work.says is not None and work.says in said)
        process.kill()
    return working


class Clean(NamedTuple):
    """What a run that nobody interrupts comes to, and how long the work takes."""

    result: str
    seconds: float


def _clean(work: Work, place: Path) -> Clean:
    place.mkdir()
    work.begin(place)
    began = time.monotonic()
    _finish(work, place)
    seconds = time.monotonic() - began
    clean = Clean(work.result(place), seconds)
    shutil.rmtree(place)
    return clean


def _dose(work: Work, clean: Clean, place: Path, rng: random.Random) -> Tally:
    """Kill a work once or several times, and do it again."""
    place.mkdir()
    work.begin(place)
    kills = working = half = 0
    while not kills or rng.random() < AGAIN:
        kills += 1
        working += _interrupt(work, place, rng.uniform(EARLIEST, 1) * clean.seconds)
        half += work.half(place)
    _finish(work, place)
    differing = work.result(place) != clean.result
    shutil.rmtree(place)
    return Tally(kills, working, int(differing), half)


def run(folder: Path, dose: int, rng: random.Random, tell: Tell) -> Outcome:
    """Interrupt the works in turn, so often in all; what was found."""
    known = works(folder, dose)
    clean = {work.name: _clean(work, folder / "clean") for work in known}
    tallies: dict[str, list[Tally]] = {work.name: [] for work in known}
    for number in range(dose):
        work = known[number % len(known)]
        tallies[work.name].append(_dose(work, clean[work.name], folder / "place", rng))
        tell(number + 1, dose)
    found = [sum(column) for column in zip(*(one for each in tallies.values() for one in each), strict=True)]
    kills, working, differing, half = found
    each = ", ".join(f"{name} {sum(one.working for one in each)}" for name, each in tallies.items())
    return Outcome(
        not (differing or half),
        {
            "kills": kills, "in the middle": working, "of these": each,
            "digests that differ": differing, "half under a final name": half,
        },
    )  # fmt: skip


MIDDLE = Fault(
    name="middle",
    title="kill in mid-fold, mid-replay, mid-import",
    must_hold="digest equal to a clean run; no half file under the final name",
    dose=200,
    unit="works",
    run=run,
)
