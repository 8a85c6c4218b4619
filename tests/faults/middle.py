"""kill -9 in the middle of long work: folds, replays, imports, copies. Done again, it is as if nothing had been."""

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile, ZipFile

import msgspec

from benchmarks.ledgers import make_ledger
from tests.api.cli.command import command, environment
from tests.faults.lines import Line, stored, wrong_tiles
from tests.faults.row import Fault, Outcome, Report
from tests.support.cstp_installation import WHOLE, write_store
from tests.support.paths import ROOT

EVENTS_PER_DOSE = 600
"""Events of the ledger that is folded, for each time of the dose: 120,000 at full dose, of which two snapshots are."""

ROWS_PER_DOSE = 100
"""Rows that are imported."""

LOOK_S = 0.002
"""How often it is looked whether a process has begun."""

FOLDER, ZIP, BACKUP, LEDGER = "audit", "audit.zip", "copy.db", "ledger.db"

AGAIN = 0.3
"""How often what goes on after a kill is killed, too."""


class Work(NamedTuple):
    """A slow command: its arguments for a folder, and its result.

    `begin` makes the files that the command needs. `result` returns the same text for equal outcomes. `final` is the
    name of the complete output. A server does not end by itself: `says` is in the log line after which we end it.
    """

    name: str
    begin: Callable[[Path], object]
    words: Callable[[Path], list[str]]
    result: Callable[[Path], str]
    final: str | None = None
    says: bytes | None = None


class Clean(NamedTuple):
    """What a run that nobody interrupts comes to, and how long it takes from its beginning."""

    result: str
    seconds: float


class Tally(NamedTuple):
    """Of one dose: kills, those that fell while it worked, and what was wrong afterwards."""

    kills: int
    working: int
    differing: int
    half: int


def works(folder: Path, dose: int) -> list[Work]:
    """Every work, over sources that are made once."""
    ledger, rows, store = folder / "source.db", folder / "rows.jsonl", folder / "store" / "decisions.db"
    asyncio.run(make_ledger(ledger, EVENTS_PER_DOSE * dose))
    rows.write_bytes(b"".join(_row(number) for number in range(ROWS_PER_DOSE * dose)))
    write_store(store, [WHOLE | {"id": f"{number:08x}"} for number in range(ROWS_PER_DOSE * dose // 4)])

    audit = folder / "source"
    for words in (("key", "make"), ("export", "--output", audit)):
        subprocess.run(command(ledger, *words), cwd=ROOT, env=environment(), check=True, capture_output=True)

    def copy(place: Path) -> None:
        for suffix in ("", ".key"):
            shutil.copyfile(f"{ledger}{suffix}", place / f"{LEDGER}{suffix}")

    def verb(*words: str | Path) -> Callable[[Path], list[str]]:
        return lambda place: command(place / LEDGER, *words)

    def making(final: str, *words: str) -> Callable[[Path], list[str]]:
        return lambda place: command(place / LEDGER, *words, place / final)

    return [
        Work("fold", copy, verb("serve", "--port", "0"), _views, says=b'"event":"folded"'),
        Work("import decisions", _nothing, verb("import", "decisions", rows), _lines),
        Work("backup", copy, making(BACKUP, "backup"), lambda place: _copied(place / BACKUP), BACKUP),
        Work("export", copy, making(FOLDER, "export", "--output"), _exported, FOLDER),
        Work("export a ZIP", copy, making(ZIP, "export", "--output"), _zipped, ZIP),
        Work("import ledger", _nothing, verb("import", "ledger", audit), lambda place: _copied(place / LEDGER), LEDGER),
        Work("replay", copy, verb("replay", "--check"), _views),
        Work("import cstp", _nothing, verb("import", "cstp", store.parent), _lines),
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


def _views(place: Path) -> str:
    """The digests of all views as they are kept, and whether they are those of a replay."""
    ended = subprocess.run(
        command(place / LEDGER, "replay", "--check", "--json"),
        cwd=ROOT,
        env=environment(),
        check=False,
        capture_output=True,
    )
    return f"exit code {ended.returncode}: {ended.stdout.decode()}"


def _lines(place: Path) -> str:
    """A digest of every event, but for when it was recorded."""
    decode, digest = msgspec.json.Decoder(Line).decode, sha256()
    for raw in stored(place / LEDGER):
        line = decode(raw)
        line.recordedtime = ""
        digest.update(msgspec.json.encode(line))
    return f"{digest.hexdigest()} {wrong_tiles(place / 'ledger.db')} wrong tiles"


def _exported(place: Path) -> str:
    """A digest of every member, but for when they were made."""
    return _digest({path.name: path.read_bytes() for path in (place / FOLDER).iterdir()})


def _zipped(place: Path) -> str:
    with ZipFile(place / ZIP) as archive:
        return _digest({name: archive.read(name) for name in archive.namelist()})


def _digest(members: dict[str, bytes]) -> str:
    manifest = msgspec.json.decode(members.pop("manifest.json"), type=dict[str, object])
    del manifest["created"], manifest["digest"]
    members["manifest.json"] = msgspec.json.encode(manifest)
    return sha256(msgspec.msgpack.encode(sorted(members.items()))).hexdigest()


def _copied(ledger: Path) -> str:
    """A digest of every line as it is stored."""
    digest = sha256(b"\n".join(stored(ledger))).hexdigest()
    return f"{digest} {wrong_tiles(ledger)} wrong tiles"


def _half(work: Work, clean: Clean, place: Path) -> bool:
    """Return whether the file with the final name is incomplete."""
    if work.final is None or not (place / work.final).exists():
        return False
    try:
        return work.result(place) != clean.result
    except (OSError, KeyError, BadZipFile, sqlite3.Error, msgspec.DecodeError):
        return True


def _start(work: Work, place: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        work.words(place), cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def _await_beginning(process: "subprocess.Popen[bytes]", place: Path) -> None:
    """Wait until a process has opened something of its place: until then it only loads."""
    descriptors = Path(f"/proc/{process.pid}/fd")
    while process.poll() is None:
        with suppress(OSError):
            if any(place in descriptor.readlink().parents for descriptor in descriptors.iterdir()):
                return
        time.sleep(LOOK_S)


def _finish(work: Work, place: Path) -> float:
    """Do a work to its end; the seconds from its beginning."""
    with _start(work, place) as process:
        assert process.stderr is not None
        _await_beginning(process, place)
        began = time.monotonic()
        said: list[bytes] = []
        for line in process.stderr:
            said.append(line)
            if work.says is not None and work.says in line:
                process.terminate()
        assert process.wait() == 0, (work.name, process.returncode, b"".join(said[-20:]))
        return time.monotonic() - began


def _interrupt(work: Work, place: Path, wait_s: float) -> bool:
    """Kill a work some time after its beginning; whether it was still at it."""
    with _start(work, place) as process:
        assert process.stderr is not None
        _await_beginning(process, place)
        os.set_blocking(process.stderr.fileno(), False)
        time.sleep(wait_s)
        said = process.stderr.read() or b""
        working = process.poll() is None and not (work.says is not None and work.says in said)
        process.kill()
    return working


def _clean(work: Work, place: Path) -> Clean:
    place.mkdir()
    work.begin(place)
    seconds = _finish(work, place)
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
        working += _interrupt(work, place, rng.random() * clean.seconds)
        half += _half(work, clean, place)
        if work.final is not None and (place / work.final).exists():
            break
    if work.final is None or not (place / work.final).exists():
        _finish(work, place)
    differing = work.result(place) != clean.result
    shutil.rmtree(place)
    return Tally(kills, working, int(differing), half)


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """Interrupt the works in turn, so often in all; what was found."""
    known = works(folder, dose)[:dose]
    clean = [_clean(work, folder / "clean") for work in known]
    tallies: dict[str, list[Tally]] = {work.name: [] for work in known}
    for number in range(dose):
        work = known[number % len(known)]
        tallies[work.name].append(_dose(work, clean[number % len(known)], folder / "place", rng))
        report(number + 1, dose)
    found = [sum(column) for column in zip(*(one for each in tallies.values() for one in each), strict=True)]
    kills, working, differing, half = found
    each = ", ".join(f"{name} {sum(one.working for one in each)}" for name, each in tallies.items())
    wrong = [name for name, each in tallies.items() if any(one.differing or one.half for one in each)]
    return Outcome(
        not (differing or half),
        {
            "kills": kills, "in the middle": working, "of these": each,
            "wrong": ", ".join(wrong) or 0, "digests that differ": differing, "half under a final name": half,
        },
    )  # fmt: skip


MIDDLE = Fault(
    name="middle",
    title="kill in mid-replay, mid-export, mid-backup, mid-import",
    must_hold="digest equal to a clean run; no half file under the final name",
    dose=200,
    unit="works",
    run=run,
)
