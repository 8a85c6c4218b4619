"""Read a ledger from a standby: the events that are signed.

A standby shows what it has replayed, also events that were not confirmed, and that a failover may lose. A checkpoint is
signed for events that were confirmed before, so those that it covers are in the log for good.
"""

import asyncio
from collections.abc import Sequence
from typing import Self

import asyncpg
from msgspec import structs

from ledger.errors import LedgerUnavailable, LedgerUnusable, NotFound
from ledger.log import Head, LogPage, LogReader, Query
from ledger.place import DatabasePlace, Place
from ledger.postgres.connection import (
    UNREADABLE,
    LedgerConnection,
    UnknownOutcomeError,
    connect_standby,
    unusable,
)
from ledger.postgres.reader import POLL_S, PostgresReader
from ledger.transparency.checkpoints import checkpoint_path, read_checkpoint
from ledger.transparency.shared_checkpoints import NEWEST
from ledger.transparency.signed_note import SignedCheckpoint

CONNECT_S = 10.0
"""Seconds for connecting."""

CATCH_UP_S = 30.0
"""Seconds that a reader waits for events that the standby has not replayed yet."""

_CHECKPOINT = "SELECT content FROM notes WHERE name = $1"

_RECORDED = "SELECT recordedtime FROM events WHERE position = $1"


class StandbyReader(PostgresReader):
    """A view of the signed events of a ledger, on one standby: others may have replayed less."""

    retried = (*PostgresReader.retried, asyncpg.SerializationError)
    """Replaying may end a statement that reads: a conflict with recovery."""

    @classmethod
    async def open(cls, place: DatabasePlace) -> Self:
        """Open a ledger on the first standby that answers: `place` of the reader names it. Errors: LedgerUnusable."""
        try:
            connection = await connect_standby(place, CONNECT_S)
        except UNREADABLE as error:
            raise unusable(place, error) from error
        assert connection.server is not None
        reader = cls(structs.replace(place, hosts=(connection.server,)))
        reader._idle.append(connection)
        return reader

    async def _connect(self) -> LedgerConnection:
        return await connect_standby(self.place, CONNECT_S)

    async def head(self) -> Head:
        """Return the newest signed event. Errors: LedgerUnavailable, BadNote."""
        notes = await self._fetch(_CHECKPOINT, NEWEST)
        size = SignedCheckpoint.parse(notes[0][0]).size if notes else 0
        recorded = await self._fetch(_RECORDED, size) if size else [(0,)]
        if not recorded:
            detail = f"{self.place} lacks the event at position {size}, which was signed."
            raise LedgerUnavailable(detail, "Read from the primary server: tallystick verify.")
        self.note_head(Head(size, int(recorded[0][0])))
        return Head(size, int(recorded[0][0]))

    async def catch_up(self, size: int) -> None:
        """Wait until this standby has a checkpoint of `size` events or more. Errors: LedgerUnavailable."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + CATCH_UP_S
        while (signed := (await self.head()).position) < size:
            if loop.time() > deadline_s:
                raise LedgerUnavailable(
                    f"{self.place} is a standby with {signed} signed events; this machine has seen {size}.",
                    "Wait until it has caught up, or read from another server.",
                )
            await asyncio.sleep(POLL_S)

    async def read(self, query: Query) -> LogPage:
        return await super().read(await self._bounded(query))

    async def recorded_at(self, position: int) -> int:
        if position > (end := await self._end(position)):
            raise NotFound(f"Position {position} is not in the log.", f"It ends at {end}.")
        return await super().recorded_at(position)

    async def counts(self, query: Query) -> dict[str, int]:
        return await super().counts(await self._bounded(query))

    async def first_positions(self, subjects: Sequence[str]) -> dict[str, int]:
        found = await super().first_positions(subjects)
        end = await self._end(max(found.values(), default=0))
        return {subject: position for subject, position in found.items() if position <= end}

    async def positions_in_stream(self, subject: str, versions: Sequence[int]) -> dict[int, int]:
        found = await super().positions_in_stream(subject, versions)
        end = await self._end(max(found.values(), default=0))
        return {version: position for version, position in found.items() if position <= end}

    async def positions_of_id(self, event_id: str, limit: int) -> list[int]:
        found = await super().positions_of_id(event_id, limit)
        end = await self._end(max(found, default=0))
        return [position for position in found if position <= end]

    async def streams_starting_with(self, beginning: str, upto: int, limit: int) -> list[str]:
        return await super().streams_starting_with(beginning, min(upto, await self._end(upto)), limit)

    async def _bounded(self, query: Query) -> Query:
        end = await self._end(None if query.before is None else query.before - 1)
        return query if query.before is not None and query.before <= end + 1 else structs.replace(query, before=end + 1)

    async def _end(self, position: int | None) -> int:
        """Return the newest signed position, which is looked up unless a position is known to be signed."""
        known = self.newest.position
        return known if position is not None and position <= known else (await self.head()).position


async def open_reader(place: DatabasePlace) -> PostgresReader:
    """Open a ledger for reading on its primary server; if none can be reached, on a standby. Errors: LedgerUnusable."""
    reader = PostgresReader(place)
    try:
        await reader.connect()
    except (*UNREADABLE, UnknownOutcomeError) as error:
        try:
            return await StandbyReader.open(place)
        except LedgerUnusable:
            raise unusable(place, error) from error
    return reader


async def wait_for_seen(reader: LogReader, place: Place) -> None:
    """Wait until a standby has the newest checkpoint that this machine saw. Errors: LedgerUnavailable, BadNote."""
    if isinstance(reader, StandbyReader):
        seen = await asyncio.to_thread(read_checkpoint, checkpoint_path(place.path))
        await reader.catch_up(0 if seen is None else seen.size)
