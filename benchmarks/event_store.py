"""A peer: `eventsourcing` with SQLite, in this process: aggregates saved one by one and in batches, and read again.

Its database has a write-ahead log and SQLite's default, a sync at each commit.
"""

import time
from pathlib import Path
from uuid import UUID

import msgspec
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate

from benchmarks.ledgers import BATCH, SINGLE

EVENT = msgspec.json.decode(SINGLE)


class RecordedDecision(Aggregate):
    """A decision as users of the peer declare it: one event for each."""

    def __init__(self, payload: dict[str, object]) -> None:
        self.payload = payload


class EventStore:
    """An application of the peer over a new database file."""

    def __init__(self, path: Path) -> None:
        self._application = Application[UUID](
            env={"PERSISTENCE_MODULE": "eventsourcing.sqlite", "SQLITE_DBNAME": str(path)}
        )

    def close(self) -> None:
        """Close the database."""
        self._application.close()

    def save_rate(self, seconds: float, batch: int) -> float:
        """Return the events per second of saves of so many events each, for some seconds."""
        started_s, saved = time.perf_counter(), 0
        while (elapsed_s := time.perf_counter() - started_s) < seconds or not saved:
            self._application.save(*(RecordedDecision(EVENT) for _ in range(batch)))
            saved += batch
        return saved / elapsed_s

    def read_rate(self) -> float:
        """Return the events per second of reading all events and mapping each to its domain event."""
        recorder, mapper = self._application.recorder, self._application.mapper
        started_s, start = time.perf_counter(), 0
        read = 0
        while page := recorder.select_notifications(start=start, limit=BATCH, inclusive_of_start=False):
            for notification in page:
                mapper.to_domain_event(notification)
            read, start = read + len(page), page[-1].id
        return read / (time.perf_counter() - started_s)
