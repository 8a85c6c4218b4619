"""The log on PostgreSQL, beside raw COPY, SQLite and peers, with a quorum, from three nodes, and at a larger size."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import asyncpg

from benchmarks import ledgers, load
from benchmarks.append import BATCH_CONNECTIONS, CONNECTIONS, JSON, NDJSON
from benchmarks.measure import Effort, Measure, compare_in_turns, expect_at_least, expect_at_most
from benchmarks.postgres_peers import measure_nats, measure_stores
from events.decision import DecisionRecorded
from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.log import LogReader, Query
from ledger.place import DatabasePlace, Host
from ledger.postgres.connection import connect
from ledger.postgres.create import create_ledger
from ledger.postgres.log import PostgresLog
from ledger.postgres.schema import COLUMNS
from ledger.sqlite.log import SqliteLog
from projections.engine import Engine
from projections.registry import PROJECTIONS
from tests.support.postgres import Primary, postgres_server

SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "30min",
    "max_connections": "100",
}
"""Of every server: enough memory, no checkpoint of the database during a measurement, and a connection for each caller
of a peer."""

NODES = 3

LAG_TARGET_S = 0.1

LAG_EVENTS = 500
"""Events whose way from one node to a follower on another is timed."""

GROUP = 2_000

_numbers = itertools.count()


def measure_postgres(folder: Path, python: Path, small: int, large: int, effort: Effort) -> Iterator[Measure]:
    """Measure appends, reads and followers of a log on PostgreSQL, each in turns with what it is compared with.

    `python` is the peers' Python.
    """
    with postgres_server(settings=SETTINGS) as server:
        yield from _measure_appends(folder, server, effort)
        yield from measure_stores(server, python, partial(_append_over_http, folder, server, effort), effort)
        yield from _measure_nodes(folder, server, effort)
        yield _measure_growth(server, small, large, effort)
        yield _measure_replay(folder, server, small)
        yield _measure_lag(server)
    with postgres_server(standbys=1, settings=SETTINGS) as server:
        yield _measure_quorum(server, effort)
        yield from measure_nats(folder, python, partial(_append_over_http, folder, server, effort), effort)


def _measure_appends(folder: Path, server: Primary, effort: Effort) -> Iterator[Measure]:
    batches, copies, singles, files = [], [], [], []
    for number in range(effort.rounds):
        place = _new_ledger(server)
        with _start_node(folder, place) as node:
            batches.append(ledgers.BATCH * _post(node, ledgers.BATCH_BODY, NDJSON, BATCH_CONNECTIONS, effort))
        rows = asyncio.run(_read_rows(place))
        copies.append(len(rows) / asyncio.run(_copy(_new_ledger(server), rows)))
        with _start_node(folder, _new_ledger(server)) as node:
            singles.append(_post(node, ledgers.SINGLE, JSON, CONNECTIONS, effort))
        with load.start_tallystick(folder / f"beside-{number}.db") as node:
            files.append(_post(node, ledgers.SINGLE, JSON, CONNECTIONS, effort))
    name = f"PostgreSQL: batches of 1,000 over HTTP, {BATCH_CONNECTIONS} writers"
    yield compare_in_turns(name, batches, copies, "events/s", "raw COPY into the same schema", 0.5)
    yield compare_in_turns("PostgreSQL: one event a request", singles, files, "events/s", "the same on SQLite", 0.5)


def _append_over_http(folder: Path, server: Primary, effort: Effort, batch: int) -> float:
    """Return the events per second of appends to a new ledger. SystemExit, if it lacks what was acknowledged."""
    connections, body, media = (
        (CONNECTIONS, ledgers.SINGLE, JSON) if batch == 1 else (BATCH_CONNECTIONS, ledgers.BATCH_BODY, NDJSON)
    )
    place = _new_ledger(server)
    with _start_node(folder, place) as node:
        url = f"{node.url}/events"
        load_result = load.run_wrk(url, connections=connections, seconds=effort.seconds, body=body, media=media)
    stored = len(asyncio.run(_read_rows(place)))
    appends = load_result.answers
    if not appends * batch <= stored <= (appends + connections) * batch:
        raise SystemExit(f"{appends * batch:,} events were acknowledged, and {place} has {stored:,}.")
    return load_result.rate * batch


def _measure_nodes(folder: Path, server: Primary, effort: Effort) -> Iterator[Measure]:
    alone, together, evenness = [], [], []
    for _ in range(effort.rounds):
        with _start_node(folder, _new_ledger(server)) as node:
            alone.append(_post(node, ledgers.SINGLE, JSON, CONNECTIONS, effort))
        place = _new_ledger(server)
        with ExitStack() as stack, ThreadPoolExecutor(NODES) as pool:
            nodes = [stack.enter_context(_start_node(folder, place)) for _ in range(NODES)]
            rates = list(pool.map(lambda node: _post(node, ledgers.SINGLE, JSON, CONNECTIONS, effort), nodes))
        together.append(sum(rates))
        evenness.append(min(rates) * NODES / sum(rates))
    yield compare_in_turns(f"PostgreSQL: {NODES} nodes in total", together, alone, "events/s", "one node", 0.9)
    yield expect_at_least("PostgreSQL: the slowest node", median(evenness), 1.0, "of the mean", "the mean node", 0.6)


def _measure_growth(server: Primary, small: int, large: int, effort: Effort) -> Measure:
    """Append to a large ledger and to new small ones in turns.

    The processor time of an event does not grow with the log, measured at 1,500,000 events. But while a large ledger is
    filled, the server writes out changed pages beside the log that it syncs, whichever ledger they are of. A small one
    that is measured before that is quicker for a reason that has nothing to do with its size.
    """
    full = _new_ledger(server)
    asyncio.run(_fill(full, large))
    on_large, on_small = [], []
    for _ in range(effort.rounds):
        place = _new_ledger(server)
        asyncio.run(_fill(place, small))
        on_small.append(asyncio.run(_append_for(place, effort.seconds)))
        on_large.append(asyncio.run(_append_for(full, effort.seconds)))
    name = f"PostgreSQL: append at {large:,}, groups of {GROUP:,}"
    return compare_in_turns(name, on_large, on_small, "events/s", f"the same at {small:,}", 0.8)


async def _fill(place: DatabasePlace, events: int) -> None:
    """Append until a ledger has so many events."""
    async with _open(place) as log:
        while (done := log.newest.position) < events:
            await log.append(_drafts(done, min(GROUP, events - done)))


def _measure_replay(folder: Path, server: Primary, events: int) -> Measure:
    place, path = _new_ledger(server), folder / "replayed.db"
    on_postgres, on_sqlite = asyncio.run(_replay_both(place, path, events))
    name = f"PostgreSQL: replay of {events:,} events"
    return expect_at_least(name, events / on_postgres, events / on_sqlite, "events/s", "the same on SQLite", 0.8)


async def _replay_both(place: DatabasePlace, path: Path, events: int) -> tuple[float, float]:
    async with _open(place) as log:
        file = await SqliteLog.open(path)
        try:
            for start in range(0, events, GROUP):
                batch = _drafts(start, min(GROUP, events - start))
                await log.append(batch)
                await file.append(batch)
            times = [[await _replay(reader) for reader in (log, file)] for _ in range(5)]
        finally:
            await file.close()
    return median(ours for ours, _ in times), median(other for _, other in times)


async def _replay(reader: LogReader) -> float:
    engine = Engine(reader, PROJECTIONS)
    head = (await reader.head()).position
    start_s = time.perf_counter()
    await engine.replay(head)
    return time.perf_counter() - start_s


def _measure_lag(server: Primary) -> Measure:
    lags = sorted(asyncio.run(_time_follower(_new_ledger(server))))
    p99 = lags[len(lags) * 99 // 100]
    return expect_at_most("PostgreSQL: a follower on another node, p99", p99, LAG_TARGET_S, "s", "the target", 1.0)


async def _time_follower(place: DatabasePlace) -> list[float]:
    """Return the seconds from the answer to an append until a follower on another node has the event."""
    async with _open(place) as log, _open(place) as other:
        arrived: dict[int, float] = {}

        async def follow() -> None:
            async for page in other.follow(Query()):
                arrived.update(dict.fromkeys(page.positions, time.perf_counter()))
                if len(arrived) == LAG_EVENTS:
                    return

        follower = asyncio.create_task(follow())
        answered = {}
        for number in range(LAG_EVENTS):
            (placed,) = await log.append(_drafts(number, 1))
            answered[placed.position] = time.perf_counter()
            await asyncio.sleep(0.01)
        await follower
    return [max(0.0, arrived[position] - answered_s) for position, answered_s in answered.items()]


def _measure_quorum(server: Primary, effort: Effort) -> Measure:
    alone: list[float] = []
    quorum: list[float] = []
    for _ in range(effort.rounds):
        for names, rates in (("", alone), ("ANY 1 (standby1)", quorum)):
            server.synchronous(names)
            rates.append(asyncio.run(_append_for(_new_ledger(server), effort.seconds)))
    name = f"PostgreSQL: quorum with a standby on the same host, groups of {GROUP:,}"
    return compare_in_turns(name, quorum, alone, "events/s", "no standby", 0.5)


async def _append_for(place: DatabasePlace, seconds: float) -> float:
    """Return the events per second of appends to a ledger for some seconds."""
    async with _open(place) as log:
        first, start_s = log.newest.position, time.perf_counter()
        while (elapsed_s := time.perf_counter() - start_s) < seconds:
            await log.append(_drafts(log.newest.position, GROUP))
        return (log.newest.position - first) / elapsed_s


def _drafts(first: int, count: int) -> list[Draft]:
    data = [
        DecisionRecorded(decision_id=f"{number:08x}", decision=f"Use the pool for service {number}", confidence=0.8)
        for number in range(first, first + count)
    ]
    return [VOCABULARY.draft_of(decision, source="/agents/bench") for decision in data]


def _new_ledger(server: Primary) -> DatabasePlace:
    """Make a ledger in the server's own database."""
    host = Host(server.host, server.port)
    place = DatabasePlace(hosts=(host,), database="postgres", ledger=f"bench{next(_numbers)}", user="postgres")
    asyncio.run(create_ledger(place))
    return place


@asynccontextmanager
async def _open(place: DatabasePlace) -> AsyncIterator[PostgresLog]:
    log = await PostgresLog.open(place, durability="local")
    try:
        yield log
    finally:
        await log.close()


@contextmanager
def _start_node(folder: Path, place: DatabasePlace) -> Iterator[load.ServerProcess]:
    """Start a node with a folder of its own."""
    state = folder / f"node-{next(_numbers)}"
    with load.start_tallystick(str(place), "--state", str(state), "--durability", "local") as server:
        yield server


async def _read_rows(place: DatabasePlace) -> list[asyncpg.Record]:
    connection = await connect(place)
    try:
        return await connection.fetch(f"SELECT {', '.join(COLUMNS)} FROM events ORDER BY position")
    finally:
        connection.abort()


async def _copy(place: DatabasePlace, rows: Sequence[asyncpg.Record]) -> float:
    """Return the seconds for copying rows in transactions of a thousand."""
    connection = await connect(place)
    try:
        start_s = time.perf_counter()
        for first in range(0, len(rows), ledgers.BATCH):
            batch = [tuple(row) for row in rows[first : first + ledgers.BATCH]]
            await connection.copy_records_to_table("events", records=batch, columns=COLUMNS)
        return time.perf_counter() - start_s
    finally:
        connection.abort()


def _post(server: load.ServerProcess, body: bytes, media: str, connections: int, effort: Effort) -> float:
    url = f"{server.url}/events"
    return load.run_wrk(url, connections=connections, seconds=effort.seconds, body=body, media=media).rate
