"""What users would pick instead of the log on PostgreSQL, in the same run and in turns.

Equal for all: the server with its settings, so that each acknowledged append is synced; the payload; and the number of
callers, each of which appends the next event when the one before is acknowledged. What is different favours the peers:
ours is behind HTTP, and theirs are libraries and functions that a process calls. Every peer must have exactly as many
events afterwards as it acknowledged.

An event begins a stream, and each reader must see all events in one order. `eventsourcing` has that order in its
table of events. message-db has it within a category, so all of its streams are in one. It is also measured with a
category for each caller, which have no common order: a function that reads them all may miss an event.

NATS JetStream with three replicas acknowledges what two of them have on disk. It is beside ours with a standby that
each commit waits for.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from benchmarks import ledgers
from benchmarks.append import BATCH_CONNECTIONS, CONNECTIONS
from benchmarks.measure import Effort, Measure, compare_beside, compare_in_turns
from benchmarks.peer_servers import is_installed
from benchmarks.store_servers import append_to, make_message_db, message_db_installer, start_nats
from tests.support.postgres import PostgresServer, new_database

RATIO_MIN = 3.0
"""How many times the appends a second of a peer on the same server are expected at least."""

NAMES = {1: "one event an append", ledgers.BATCH: f"batches of {ledgers.BATCH:,}"}
"""The rows of the report by the events of an append."""

CALLERS = {1: CONNECTIONS, ledgers.BATCH: BATCH_CONNECTIONS}
"""Appends at the same time, by the events of each."""

AppendOurs = Callable[[int], float]
"""Appends to a new ledger, so many events at a time; returns the events per second."""

_databases = count()


class Peer(NamedTuple):
    """A peer: its name in the report, the events of an append, and what returns its events per second.

    `ratio_min` is how many times that ours must be; None for a peer that is only shown.
    """

    name: str
    batch: int
    measure: Callable[[], float]
    ratio_min: float | None = None


def measure_stores(server: PostgresServer, python: Path, append_ours: AppendOurs, effort: Effort) -> Iterator[Measure]:
    """Measure ours and every installed peer that is a database on the same server, in turns."""
    yield from _measure("PostgreSQL", list(_stores(server, python, effort)), append_ours, effort)


def measure_nats(folder: Path, python: Path, append_ours: AppendOurs, effort: Effort) -> Iterator[Measure]:
    """Measure ours and NATS JetStream, if it is installed, in turns."""
    name = "NATS JetStream, 3 replicas"
    if not is_installed(python, "nats", "uvloop"):
        _leave_out(name, python)
        return
    with start_nats(python, folder) as address:
        peer = Peer(name, 1, partial(_append_to, python, "nats", address, 1, effort))
        yield from _measure("PostgreSQL with a standby", [peer], append_ours, effort)


def _measure(ours_name: str, peers: list[Peer], append_ours: AppendOurs, effort: Effort) -> Iterator[Measure]:
    sizes = sorted({peer.batch for peer in peers})
    ours: dict[int, list[float]] = {batch: [] for batch in sizes}
    theirs: list[list[float]] = [[] for _ in peers]
    for _ in range(effort.rounds):
        for batch in sizes:
            ours[batch].append(append_ours(batch))
        for peer, rates in zip(peers, theirs, strict=True):
            rates.append(peer.measure())
    for peer, rates in zip(peers, theirs, strict=True):
        row = f"{ours_name}: {NAMES[peer.batch]}", ours[peer.batch], rates, "events/s", peer.name
        yield compare_beside(*row) if peer.ratio_min is None else compare_in_turns(*row, peer.ratio_min)


def _stores(server: PostgresServer, python: Path, effort: Effort) -> Iterator[Peer]:
    if is_installed(python, "eventsourcing", "psycopg", "uvloop"):
        for batch, ratio_min in ((1, RATIO_MIN), (ledgers.BATCH, None)):
            yield Peer("eventsourcing", batch, partial(_eventsourcing, server, python, batch, effort), ratio_min)
    else:
        _leave_out("eventsourcing with PostgreSQL", python)
    if is_installed(python, "asyncpg", "uvloop") and message_db_installer(python).exists():
        measure = partial(_message_db, server, python, effort)
        yield Peer("message-db", 1, partial(measure, 1), RATIO_MIN)
        yield Peer(f"message-db, {CONNECTIONS} categories without a common order", 1, partial(measure, 1, CONNECTIONS))
        yield Peer("message-db", ledgers.BATCH, partial(measure, ledgers.BATCH))
    else:
        _leave_out("message-db", python)


def _eventsourcing(server: PostgresServer, python: Path, batch: int, effort: Effort) -> float:
    return _append_to(python, "eventsourcing", server.dsn(new_database(server)), batch, effort)


def _message_db(server: PostgresServer, python: Path, effort: Effort, batch: int, categories: int = 1) -> float:
    address = make_message_db(message_db_installer(python), server, f"message_db{next(_databases)}")
    return _append_to(python, "message-db", address, batch, effort, "--categories", str(categories))


def _append_to(python: Path, peer: str, address: str, batch: int, effort: Effort, *options: str) -> float:
    callers, seconds = str(CALLERS[batch]), str(effort.seconds)
    return append_to(python, peer, address, "--callers", callers, "--batch", str(batch), "--seconds", seconds, *options)


def _leave_out(name: str, python: Path) -> None:
    Console(stderr=True).print(f"  {name}: left out, {python.parent.parent} does not have it. Run: make peers")
