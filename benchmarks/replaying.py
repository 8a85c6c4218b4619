"""Replaying: all projections over a million mixed events, beside a bare scan with decoding, and beside a peer."""

import asyncio
import gc
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, UUIDAsHex
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from api.server import settle_collector
from benchmarks import ledgers
from benchmarks.measure import Measure, at_least, median
from events.registry import VOCABULARY
from ledger import SqliteReader
from projections import PROJECTIONS, Engine

ROUNDS = 3
PEER_EVENTS = 50_000


def replaying(folder: Path, events: int) -> Iterator[Measure]:
    """Replay of everything; the scan decodes each line into the same structs; the peer decodes the same payloads."""
    path = folder / "replay.db"
    asyncio.run(ledgers.make(path, events))
    ours, bare = [], []
    settle_collector()
    for _ in range(ROUNDS):
        bare.append(events / _scan(path))
        gc.collect()
        ours.append(events / asyncio.run(_replay(path)))
        gc.collect()
    yield at_least(
        f"replay of {events:,}, all projections", median(ours), median(bare), "events/s", "SELECT + msgspec decode", 0.5
    )
    lines = [line for *_, line in ledgers.rows(path)[:PEER_EVENTS]]
    peer = len(lines) / _peer(folder / "peer.db", [line for line in lines if isinstance(line, bytes)])
    yield at_least(
        f"replay of {events:,}, all projections", median(ours), peer, "events/s", "eventsourcing, read and decode", 3.0
    )


async def _replay(path: Path) -> float:
    reader = await SqliteReader.open(path)
    try:
        engine = Engine(reader, PROJECTIONS)
        head = (await reader.head()).position
        began = time.perf_counter()
        await engine.replay(head)
        return time.perf_counter() - began
    finally:
        await reader.close()


def _scan(path: Path) -> float:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    decode = VOCABULARY.stored
    began = time.perf_counter()
    for (line,) in connection.execute("SELECT line FROM events ORDER BY position"):
        decode(line)
    elapsed_s = time.perf_counter() - began
    connection.close()
    return elapsed_s


@dataclass(frozen=True)
class PeerEvent(DomainEvent):
    """One of our events as the peer's users declare theirs."""

    payload: dict[str, object]


def _peer(path: Path, lines: list[bytes]) -> float:
    """The time the peer takes to select its notifications and map each to its domain event, payloads as ours."""
    datastore = SQLiteDatastore(str(path))
    recorder = SQLiteApplicationRecorder(datastore)
    recorder.create_table()
    transcoder = JSONTranscoder()
    transcoder.register(UUIDAsHex())
    transcoder.register(DatetimeAsISO())
    mapper = Mapper[UUID](transcoder)
    stored = [mapper.to_stored_event(_peer_event(line)) for line in lines]
    for start in range(0, len(stored), ledgers.BATCH):
        recorder.insert_events(stored[start : start + ledgers.BATCH])
    began = time.perf_counter()
    start = 0
    while page := recorder.select_notifications(start=start, limit=ledgers.BATCH, inclusive_of_start=False):
        for notification in page:
            mapper.to_domain_event(notification)
        start = page[-1].id
    elapsed_s = time.perf_counter() - began
    datastore.close()
    return elapsed_s


def _peer_event(line: bytes) -> PeerEvent:
    now = datetime.now(UTC)
    return PeerEvent(originator_id=uuid4(), originator_version=1, timestamp=now, payload=msgspec.json.decode(line))
