"""What must hold of a ledger file that was opened after a fault, whatever the fault was."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from events.errors import TallystickError
from events.evidence import EvidenceStored
from events.registry import VOCABULARY
from ledger.evidence_store import EvidenceStore
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.transparency.checkpoints import CheckpointStore
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from tests.faults.lines import wrong_tiles
from tests.faults.posting import draft


class Examined(NamedTuple):
    """The lines of a ledger file, how many of them are under its checkpoint, and what is wrong with it."""

    lines: list[bytes]
    signed: int
    wrong: list[str]


async def examine(ledger: Path, *, append: bool = False) -> Examined:
    """Open a ledger file for writing and signing, look at it, append to it if asked, and close it."""
    lines: list[bytes] = []
    signed = 0
    try:
        log = await SqliteLog.open(ledger)
        try:
            head = (await log.head()).position
            lines = (await log.read(Query(limit=head + 1))).lines
            wrong = await _wrong(log, lines)
            signing = await CheckpointStore.open(ledger, log)
            signed = signing.newest.size if signing.newest else 0
            if append and (await log.append([draft("afterwards")]))[0].position != head + 1:
                wrong.append(f"the next event does not follow position {head}")
        finally:
            await log.close()
        with closing(sqlite3.connect(ledger)) as database:
            ((found,),) = database.execute("PRAGMA integrity_check(1)")
        return Examined(lines, signed, wrong if found == "ok" else [*wrong, f"integrity_check: {found}"])
    except (TallystickError, sqlite3.Error) as error:
        return Examined(lines, signed, [f"cannot be used: {error}"])


async def _wrong(log: SqliteLog, lines: Sequence[bytes]) -> list[str]:
    wrong: list[str] = []
    events = VOCABULARY.events(b"\n".join(lines)) if lines else []
    if [event.position for event in events] != list(range(1, (await log.head()).position + 1)):
        wrong.append("positions are not contiguous")
    times = [event.recordedtime for event in events]
    if times != sorted(times):
        wrong.append("recordedtime decreases")
    if len({(event.source, event.id) for event in events}) != len(events):
        wrong.append("an id is there twice")
    if log.edge != TreeEdge().grow(leaf_hashes(lines))[0]:
        wrong.append("the edge is not that of the lines")
    if tiles := wrong_tiles(log.path):
        wrong.append(f"{tiles} tiles are not those of the lines")
    store = EvidenceStore(log.path)
    wrong += [
        f"evidence {event.data.digest} is not there"
        for event in events
        if isinstance(event.data, EvidenceStored) and not store.is_readable(event.data.digest, event.data.size_bytes)
    ]
    return wrong


def ids_of(lines: Sequence[bytes]) -> list[str]:
    """The ids of some lines."""
    return [event.id for event in VOCABULARY.events(b"\n".join(lines))] if lines else []
