"""One flipped bit: it is found where a ledger is opened or verified, and its place is named, or it is provably unused.

A flip counts as unused only where everything reads as before: every column of every row, every tile and the digest of
every view, and where the file can still be opened for writing, appended to, and verified afterwards. A flip in a
snapshot is found where that snapshot is left aside; the views must be the same in any case. What is neither is wrong.
"""

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from api.verify.export import verify_export
from events.errors import TallystickError
from ledger.errors import ViewDamaged
from ledger.sqlite.backup import remove_files
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from ledger.sqlite.schema import COLUMNS
from ledger.transparency.checkpoints import checkpoint_path
from ledger.transparency.keys import key_path
from ledger.transparency.signed_note import Checkpoint, Signer
from ledger.verify import Finding as Reported
from ledger.verify import Findings, verify_file
from projections.engine import Engine
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots
from tests.api.cli.command import done
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.support.drafts import recorded, reviewed

EVENTS = 1_300
"""Five full tiles, one partial tile, and snapshots of the views."""

GROUP = 13
SIGNED = EVENTS - 4 * GROUP
"""Events under the newest checkpoint of the ledger that was killed; the last groups were only acknowledged."""

LAYERS = ("database", "tiles", "log", "snapshot", "export")
EXPORT = "export"
FILES = ("", "-wal", ".views.db", ".key", ".checkpoint")

SECRET = bytes(32)
"""Seals the snapshots."""

Digests = dict[str, str]


class Read(NamedTuple):
    """All that a ledger says."""

    rows: list[tuple[object, ...]]
    tiles: list[tuple[object, ...]]
    views: Digests


class Given(NamedTuple):
    """A ledger as it was, by the endings of its files' names, and what it says."""

    files: dict[str, bytes]
    read: Read


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many flips in each of the layers."""
    closed, killed = asyncio.run(_make(folder / "made.db"))
    tiles = _tile_bytes(folder / "pages.db", closed)
    wal = range(len(killed.files["-wal"]))
    views = range(len(closed.files[".views.db"]))
    places: dict[str, tuple[Given, str, Sequence[int]]] = {
        "database": (closed, "", range(len(closed.files[""]))),
        "tiles": (closed, "", tiles),
        "log": (killed, "-wal", wal),
        "snapshot": (closed, ".views.db", views),
    }
    export = _export(folder, closed)
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    for number, layer in enumerate(LAYERS):
        for turn in range(dose):
            if layer == "export":
                file = rng.choice(sorted(export))
                bit = rng.randrange(8 * len(export[file]))
                verdict = _flip_export(folder / EXPORT / file, export[file], bit)
            else:
                given, ending, bytes_ = places[layer]
                bit = 8 * rng.choice(bytes_) + rng.randrange(8)
                verdict = asyncio.run(_flip(folder / "flipped.db", layer, given, ending, bit))
            counted[f"{layer}: {verdict}"] += 1
            if verdict not in ("located", "unused"):
                wrong.append(f"{layer}, bit {bit % 8} of byte {bit // 8}: {verdict}")
            report(number * dose + turn + 1, len(LAYERS) * dose)
    figures: Figures = {name: counted[name] for name in sorted(counted)}
    figures["wrong"] = len(wrong)
    if wrong:
        figures["the first"] = wrong[0]
    return Outcome(not wrong, figures)


async def _make(path: Path) -> tuple[Given, Given]:
    """A ledger that was closed, and the same as a kill would have left it: half of its events are in its log."""
    signer = Signer.make("tests.example/bits")
    key_path(path).write_text(signer.secret() + "\n")
    log = await SqliteLog.open(path)
    await _append(log, 0, EVENTS // 2)
    await log.close()
    log = await SqliteLog.open(path)
    await _append(log, EVENTS // 2, SIGNED)
    _sign(path, signer, log)
    await _append(log, SIGNED, EVENTS)
    killed = {ending: path.with_name(path.name + ending).read_bytes() for ending in FILES if ending != ".views.db"}
    _sign(path, signer, log)
    await log.close()
    await _views(path, save=True)
    read = await _read(path)
    closed = {ending: path.with_name(path.name + ending).read_bytes() for ending in FILES if ending != "-wal"}
    return Given(closed, read), Given(killed, read)


def _export(folder: Path, given: Given) -> dict[str, bytes]:
    """An export of a ledger, by the names of its files."""
    for name, data in given.files.items():
        (folder / f"exported.db{name}").write_bytes(data)
    done(folder / "exported.db", "export", "--output", folder / EXPORT)
    return {path.name: path.read_bytes() for path in (folder / EXPORT).iterdir()}


def _flip_export(file: Path, data: bytes, bit: int) -> str:
    """Flip one bit in an exported file. Return `located` if a finding names the file or a position, else the fault."""
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    file.write_bytes(flipped)
    account = Findings()
    try:
        verify_export(account, file.parent)
    except TallystickError:
        return "located" if file.name == "manifest.json" else f"{file.name} makes it unusable"
    finally:
        file.write_bytes(data)
    if account.right:
        return f"nothing is found in {file.name}"
    faults = [fault for check in account.checks for fault in check.faults]
    named = any(fault.position is not None or file.name in fault.detail for fault in faults)
    return "located" if named else f"found in {file.name}, at no place"


async def _append(log: SqliteLog, first: int, end: int) -> None:
    for start in range(first, end, GROUP):
        numbers = range(start, min(end, start + GROUP))
        drafts = [
            recorded(f"d-{at}", f"Keep the queue bounded, {at}") if at % 2 == 0 else reviewed(f"d-{at - 1}")
            for at in numbers
        ]
        await log.append(drafts)


def _sign(path: Path, signer: Signer, log: SqliteLog) -> None:
    edge = log.edge
    text = Checkpoint(signer.verifier.name, edge.size, edge.root()).text()
    checkpoint_path(path).write_bytes(signer.sign(text).encode())


def _tile_bytes(path: Path, given: Given) -> list[int]:
    """The bytes of the pages that hold tiles."""
    path.write_bytes(given.files[""])
    with closing(sqlite3.connect(path)) as connection:
        ((page_bytes,),) = connection.execute("PRAGMA page_size")
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name LIKE '%tiles%'").fetchall()
    remove_files(path, "", "-wal", "-shm")
    return [byte for (page,) in pages for byte in range((page - 1) * page_bytes, page * page_bytes)]


async def _flip(path: Path, layer: str, given: Given, ending: str, bit: int) -> str:
    """Flip one bit. Return `located`, `unused`, or the problem."""
    remove_files(path, *FILES, "-shm", "-journal", ".views.db-wal", ".views.db-shm", ".lock")
    for name, data in given.files.items():
        path.with_name(path.name + name).write_bytes(data)
    flipped = bytearray(given.files[ending])
    flipped[bit // 8] ^= 1 << bit % 8
    path.with_name(path.name + ending).write_bytes(flipped)
    if layer == "snapshot":
        return await _judge_snapshot(path, given)
    return await asyncio.to_thread(_verdict, path) or await _judge_unused(path, given)


def _verdict(path: Path) -> str | None:
    """Whether verifying finds the flip, and names where it is; None where it finds nothing."""
    account = Findings()
    try:
        verify_file(account, path)
    except TallystickError:
        return "located"  # the file itself: its header is not that of a ledger
    if account.right:
        return None
    faults = [fault for check in account.checks for fault in check.faults]
    return "located" if any(fault.position is not None or _placed(fault) for fault in faults) else "found, at no place"


def _placed(fault: Reported) -> bool:
    """Whether a fault without a position names a page, an index, a table, a frame, a file or a short run of lines."""
    if fault.check == "roots":
        return "they fit up to position" in fault.detail
    return fault.check in ("schema", "SQLite", "tiles", "write-ahead log", "checkpoints", "signatures")


async def _judge_unused(path: Path, given: Given) -> str:
    """Whether all reads as it did, and can be gone on with."""
    if await _read(path) != given.read:
        return "it reads otherwise, and nothing says so"
    try:
        log = await SqliteLog.open(path)
        try:
            placed = await log.append([recorded("afterwards")])
        finally:
            await log.close()
    except TallystickError:
        return "located"  # as a file that cannot be written
    if placed[0].position != EVENTS + 1:
        return f"the next event got position {placed[0].position}"
    return "it is damaged by the next event" if await asyncio.to_thread(_verdict, path) else "unused"


async def _judge_snapshot(path: Path, given: Given) -> str:
    """Whether the views are what they were, and whether a snapshot was left aside for that."""
    views, used = await _views(path)
    if views != given.read.views:
        return "a view is another, and nothing says so"
    return "unused" if used else "located"


async def _views(path: Path, *, save: bool = False) -> tuple[Digests, bool]:
    """The digest of each view as a server opens them, and whether every one went on from the newest snapshot."""
    reader = await SqliteReader.open(path)
    snapshots = await Snapshots.open(path.with_name(path.name + ".views.db"), writable=True, secret=SECRET)
    engine = Engine(reader, PROJECTIONS, snapshots)
    try:
        head = (await reader.head()).position
        newest = [await snapshots.latest(kind.name, kind.version, head) for kind in PROJECTIONS]
        used = all(one is not None and one.position == head for one in newest)
        await engine.start()
        try:
            return _contents(engine), used
        except ViewDamaged:
            await engine.catch_up()
            return _contents(engine), False
    finally:
        if save:
            await engine.close()
        else:
            await snapshots.close()
        await reader.close()


def _contents(engine: Engine) -> Digests:
    """The digest of each view, of all that its tables hold."""
    digests = {}
    for name, state in engine.live.items():
        columns = [table.column(column) for table in state.tables().values() for column in table.saved().columns]
        digests[name] = sha256(b"".join([state.encode(), *(column.tobytes() for column in columns)])).hexdigest()
    return digests


async def _read(path: Path) -> Read:
    """Everything there is."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM events ORDER BY position").fetchall()
            tiles = connection.execute("SELECT level, number, hashes FROM tiles ORDER BY level, number").fetchall()
    except sqlite3.Error as error:
        return Read([(str(error),)], [], {})
    views, _ = await _views(path)
    return Read(rows, tiles, views)


def unfit() -> str | None:
    """Pages are found by SQLite's `dbstat`."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("SELECT 1 FROM dbstat")
        except sqlite3.Error as error:
            return f"SQLite here cannot tell which page is whose ({error})"
    return None


BITS = Fault(
    name="bits",
    title="one flipped bit in database, tiles, write-ahead log, snapshot and export",
    must_hold="found and located, or provably unused; a damaged snapshot is left aside, and the views are the same",
    dose=1_000,
    unit="flips each",
    run=run,
    unfit=unfit,
)
