"""Grow the Merkle tree of a ledger in PostgreSQL (I7): full tiles are stored after the commit, from the lines alone.

Of all nodes, the one that holds an advisory lock does this, so that the work is done once. Nothing else depends on the
lock: two nodes would store the same tiles, and a stored tile that differs stops the node that finds it.
"""

import asyncio
from contextlib import suppress

from ledger.errors import LedgerDamaged, LedgerUnavailable, LedgerUnusable
from ledger.log import LogReader
from ledger.place import DatabasePlace
from ledger.postgres.connection import UNREADABLE, LedgerConnection, UnknownOutcomeError, connect_durably
from ledger.transparency.tiles import WIDTH, Tile
from ledger.transparency.tree import LogTree

STEP = 8 * WIDTH
"""Events that are hashed at a time."""

PAUSE_S = 0.25
"""Seconds between two tries to become the node that stores the tiles, or to connect again."""

CONNECT_S = 10.0
"""Seconds for connecting."""

_LOCK = "SELECT pg_try_advisory_lock('head'::regclass::oid::int, 1)"

_COUNT = "SELECT coalesce(max(number) + 1, 0) FROM tiles WHERE level = 0"

_INSERT = """
INSERT INTO tiles (level, number, hashes) SELECT * FROM unnest($1::int[], $2::bigint[], $3::bytea[])
ON CONFLICT DO NOTHING RETURNING level, number
"""

_HASHES = "SELECT hashes FROM tiles WHERE level = $1 AND number = $2"


class TileKeeper:
    """Stores the tiles of a ledger while it runs, if no other node does."""

    def __init__(self, place: DatabasePlace, reader: LogReader) -> None:
        self.damage: LedgerDamaged | None = None
        """Why this node stores no tiles any more: a stored one is not that of the lines."""
        self._place = place
        self._reader = reader
        self._connection: LedgerConnection | None = None
        self._task = asyncio.create_task(self._run(), name="ledger-tiles")

    async def close(self) -> None:
        """Stop, and release the lock."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._disconnect()

    async def _run(self) -> None:
        while self.damage is None:
            try:
                await self._keep()
            except LedgerDamaged as error:
                self.damage = error
            except (*UNREADABLE, UnknownOutcomeError, LedgerUnavailable, LedgerUnusable):
                pass  # reads and appends report it
            self._disconnect()
            await asyncio.sleep(PAUSE_S)

    async def _keep(self) -> None:
        """Wait for the lock, then store every tile that the log fills."""
        connection = self._connection = await connect_durably(self._place, CONNECT_S)
        while not await connection.fetchval(_LOCK):  # noqa: ASYNC110 - no event tells of a lock's release
            await asyncio.sleep(PAUSE_S)
        stored = await connection.fetchval(_COUNT)
        edge = await LogTree(self._reader).edge(stored * WIDTH)
        while True:
            head = (await self._reader.head()).position
            while head - edge.size >= WIDTH:
                end = min(head - head % WIDTH, edge.size + STEP)
                edge, filled = edge.grow(await LogTree(self._reader).leaves(edge.size, end))
                await self._store(connection, filled)
            await self._reader.wait_for_events(head)

    async def _store(self, connection: LedgerConnection, filled: list[Tile]) -> None:
        """Store tiles; compare those that are stored already. Errors: LedgerDamaged, UnknownOutcomeError."""
        await connection.execute("BEGIN")
        levels, numbers, hashes = zip(*filled, strict=True)
        stored = set(map(tuple, await connection.fetch(_INSERT, levels, numbers, hashes)))
        for tile in filled:
            if (tile.level, tile.number) not in stored:
                found = await connection.fetchval(_HASHES, tile.level, tile.number)
                if found != tile.hashes:
                    detail = f"tile {tile.number} of level {tile.level} is not that of the lines."
                    raise LedgerDamaged(str(self._place), [detail], "Nothing is signed; find out who altered it.")
        await connection.commit()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.abort()
            self._connection = None
