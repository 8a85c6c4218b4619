"""Replaying: all projections over a million mixed events and over runs, beside a bare scan, and beside a peer."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, UUIDAsHex
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from api.http.server import tune_garbage_collection
from benchmarks import ledgers
from benchmarks.measure import Measure, at_least, median, paired
from events.registry import VOCABULARY
from ledger import SqliteReader
from projections.engine import Engine
from projections.registry import PROJECTIONS

ROUNDS = 5
PEER_EVENTS = 50_000
ATTEMPTS = 10


def replaying(folder: Path, events: int, runs: int) -> Iterator[Measure]:
    """Replay of everything; the scan decodes each line into the same structs; the peer decodes the same payloads."""
    path, beside = folder / "replay.db", folder / "runs.db"
    asyncio.run(ledgers.make(path, events))
    ours, bare = _in_turns(path)
    name = f"replay of {events:,}, all projections"
    yield paired(name, ours, bare, "events/s", "SELECT + msgspec decode", 0.5)
    lines = [line for *_, line in ledgers.rows(path)[:PEER_EVENTS]]
    peer = len(lines) / _peer(folder / "peer.db", [line for line in lines if isinstance(line, bytes)])
    yield at_least(name, median(ours), peer, "events/s", "eventsourcing, read and decode", 3.0)
    asyncio.run(ledgers.make_runs(beside, runs, ATTEMPTS))
    name = f"replay of {runs:,} imported runs of {ATTEMPTS} attempts"
    yield paired(name, *_in_turns(beside), "events/s", "SELECT + msgspec decode", 0.5)


def _in_turns(path: Path) -> tuple[list[float], list[float]]:
    """Events a second of replays and of bare scans."""
    events, ours, bare = len(ledgers.rows(path)), [], []
    for _ in range(ROUNDS):
        bare.append(events / _apart(_scan, path))
        ours.append(events / _apart(_replay, path))
    return ours, bare


def _apart(measured: Callable[[Path], float], path: Path) -> float:
    """A measurement in a process of its own, as `tallystick replay` is one: no heap that another has worn."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=tune_garbage_collection) as pool:
        return pool.submit(measured, path).result()


def _replay(path: Path) -> float:
    return asyncio.run(_replay_all(path))


async def _replay_all(path: Path) -> float:
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
