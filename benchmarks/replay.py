"""Replay rates of all projections over mixed events and over runs, next to a bare scan and to a peer."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import msgspec
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import DatetimeAsISO, JSONTranscoder, Mapper, UUIDAsHex
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from api.http.server import tune_garbage_collection
from benchmarks import ledgers
from benchmarks.measure import Measure, compare_in_turns, expect_at_least
from events.registry import VOCABULARY
from ledger.sqlite.reader import SqliteReader
from projections.engine import Engine
from projections.registry import PROJECTIONS

ROUNDS = 5
PEER_EVENTS = 50_000
ATTEMPTS = 10


def measure_replay(folder: Path, events: int, runs: int) -> Iterator[Measure]:
    """Measure a replay; the scan decodes each line into the same structs; the peer decodes the same payloads."""
    path, runs_path = folder / "replay.db", folder / "runs.db"
    asyncio.run(ledgers.make_ledger(path, events))
    ours, bare = _in_turns(path)
    name = f"replay of {events:,}, all projections"
    yield compare_in_turns(name, ours, bare, "events/s", "SELECT + msgspec decode", 0.7)
    lines = [line for *_, line in ledgers.read_rows(path)[:PEER_EVENTS]]
    peer = len(lines) / _time_peer(folder / "peer.db", [line for line in lines if isinstance(line, bytes)])
    yield expect_at_least(name, median(ours), peer, "events/s", "eventsourcing, read and decode", 5.0)
    asyncio.run(ledgers.make_run_ledger(runs_path, runs, ATTEMPTS))
    name = f"replay of {runs:,} imported runs of {ATTEMPTS} attempts"
    yield compare_in_turns(name, *_in_turns(runs_path), "events/s", "SELECT + msgspec decode", 0.5)


def _in_turns(path: Path) -> tuple[list[float], list[float]]:
    """Return the events per second of replays and of bare scans, measured in turns."""
    events, ours, bare = len(ledgers.read_rows(path)), [], []
    for _ in range(ROUNDS):
        bare.append(events / _in_new_process(_time_scan, path))
        ours.append(events / _in_new_process(_time_replay, path))
    return ours, bare


def _in_new_process(measure: Callable[[Path], float], path: Path) -> float:
    """Measure in a new process, as `tallystick replay` runs, so that no earlier measurement has fragmented the heap."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=tune_garbage_collection) as pool:
        return pool.submit(measure, path).result()


def _time_replay(path: Path) -> float:
    return asyncio.run(_replay_all(path))


async def _replay_all(path: Path) -> float:
    reader = await SqliteReader.open(path)
    try:
        engine = Engine(reader, PROJECTIONS)
        head = (await reader.head()).position
        started_s = time.perf_counter()
        await engine.replay(head)
        return time.perf_counter() - started_s
    finally:
        await reader.close()


def _time_scan(path: Path) -> float:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    decode = VOCABULARY.stored
    started_s = time.perf_counter()
    for (line,) in connection.execute("SELECT line FROM events ORDER BY position"):
        decode(line)
    elapsed_s = time.perf_counter() - started_s
    connection.close()
    return elapsed_s


@dataclass(frozen=True)
class PeerEvent(DomainEvent):
    """One of our events, declared as users of the peer declare theirs."""

    payload: dict[str, object]


def _time_peer(path: Path, lines: list[bytes]) -> float:
    """Return the seconds that the peer takes to select its notifications and map each to its domain event."""
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
    started_s = time.perf_counter()
    start = 0
    while page := recorder.select_notifications(start=start, limit=ledgers.BATCH, inclusive_of_start=False):
        for notification in page:
            mapper.to_domain_event(notification)
        start = page[-1].id
    elapsed_s = time.perf_counter() - started_s
    datastore.close()
    return elapsed_s


def _peer_event(line: bytes) -> PeerEvent:
    now = datetime.now(UTC)
    return PeerEvent(originator_id=uuid4(), originator_version=1, timestamp=now, payload=msgspec.json.decode(line))
