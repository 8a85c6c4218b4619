"""The log on PostgreSQL: every node groups its own appends, and the row lock of the head puts the groups in order.

I1 A trigger refuses an insert that does not follow the head.
I2 Triggers and the rights of the service role refuse every change.
I3 A group is one transaction.
I4 The commit waits for the disk, and for the standbys that the cluster demands; see `connection.py`.
I5 Unique (source, id); a group with an unknown outcome is looked up, see `writer.py`.
I6 recordedtime is the greater of the node's clock and the head's.
I7 Tiles are stored after the commit, from the lines alone; see `tiles.py`.
I8 The node that holds the row lock of the head writes.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

import asyncpg

from events.envelope import Draft
from events.errors import TallystickError
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary
from ledger.append_queue import AppendQueue, Group, answer_group
from ledger.clock import Clock, system_clock
from ledger.errors import Forked, LedgerFull, LedgerUnavailable, LedgerUnusable
from ledger.log import UNRESTRICTED, Permissions
from ledger.place import DatabasePlace, Durability
from ledger.postgres.connection import UNREADABLE, UnknownOutcomeError, unusable
from ledger.postgres.durability import check_durability
from ledger.postgres.reader import BARRIER_S, PostgresReader, elapsed_s
from ledger.postgres.tiles import TileKeeper
from ledger.postgres.writer import PostgresWriter
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import LogTree
from tallystick.shapes.appended import AppendedEvent

CHECK_S = 10.0
"""Seconds between two checks of what the server promises."""

AWAKE_S = 1.0
"""Seconds between two notes that this process runs."""

CLOSE_S = 10.0
"""Seconds that closing waits for a commit, which does not end while the standbys are down."""


class PostgresLog(PostgresReader):
    """The log with its writer. Any number of nodes may have it open."""

    def __init__(
        self, place: DatabasePlace, writer: PostgresWriter, vocabulary: Vocabulary, durability: Durability
    ) -> None:
        super().__init__(place)
        self.durability: Durability = durability
        """What the operator was promised about a confirmed commit."""
        self._writer = writer
        writer.reconnected = self.disconnect  # the server before may be slow to notice that it was replaced
        self._queue = AppendQueue(vocabulary, self._commit, self._explain)
        self._tiles = TileKeeper(place, self)
        self._edge = TreeEdge()
        self._check = asyncio.create_task(self._check_again(), name="ledger-durability")
        self._forked: LedgerUnavailable | None = None
        self._awake_s = elapsed_s()
        self._stops = asyncio.create_task(self._watch_stops(), name="ledger-stops")
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        place: DatabasePlace,
        *,
        durability: Durability = "quorum",
        vocabulary: Vocabulary = VOCABULARY,
        clock: Clock = system_clock,
    ) -> Self:
        """Open a ledger for writing. Errors: LedgerUnusable, also if commits are less durable than promised."""
        writer = PostgresWriter(place, vocabulary, clock, durability)
        try:
            await writer.connect(BARRIER_S)
        except BaseException as error:
            writer.close()
            if isinstance(error, (*UNREADABLE, UnknownOutcomeError)):
                raise unusable(place, error) from error
            raise
        log = cls(place, writer, vocabulary, durability)
        try:
            await log.head()
        except BaseException:
            await log.close()
            raise
        return log

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        finished = asyncio.create_task(self._queue.close())
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(finished), CLOSE_S)
        self._writer.close()
        await finished
        self._check.cancel()
        self._stops.cancel()
        await self._tiles.close()
        await super().close()

    @property
    def waiting_events(self) -> int:
        """Return the number of events that are accepted and not yet committed."""
        return self._queue.waiting_events

    @property
    def broken(self) -> LedgerUnavailable | None:
        """Return why all appends are refused; None while they are accepted."""
        return self._queue.broken

    @property
    def instance(self) -> str | None:
        """Return None: any node may write, so nobody looks for the one that does."""
        return None

    @property
    def edge(self) -> TreeEdge:
        """Return the right edge of the tree, as far as this node has computed it, without waiting."""
        return self._edge

    async def wait_for_tree(self, size: int) -> TreeEdge:
        """Compute the right edge of the tree of all events that this node knows, at least of `size`.

        Errors: LedgerUnavailable; LedgerDamaged, if a stored tile is not that of its lines.
        """
        if self._tiles.damage is not None:
            raise self._tiles.damage
        size = max(size, self.newest.position)
        if size > self._edge.size:
            edge = await LogTree(self, self._edge).edge(size)
            self._edge = max(edge, self._edge)
        return self._edge

    def refuse_appends(self, reason: Forked) -> None:
        """Refuse every append until the log is opened again: a new event would take the position of a lost one."""
        self._queue.broken = self._forked = LedgerUnavailable(reason.detail, reason.advice)

    async def append(self, batch: Sequence[Draft], permissions: Permissions = UNRESTRICTED) -> list[AppendedEvent]:
        return await self._queue.append(batch, permissions)

    async def _commit(self, group: Group) -> None:
        try:
            committed = await self._writer.write([waiting.batch for waiting in group], self.newest)
        except Forked as error:
            self.refuse_appends(error)
            unknown = f"{error.found} Whether this append is in the copy that had more is unknown."
            raise LedgerUnavailable(error.detail if self._writer.settled else unknown, error.advice) from error
        answer_group(group, committed.answers)
        self.note_head(committed.head)

    async def _watch_stops(self) -> None:
        """Notice that this process was stopped, by a signal or because its machine was suspended."""
        while True:
            await asyncio.sleep(AWAKE_S)
            self.note_awake()

    async def _check_again(self) -> None:
        """Check now and then whether commits are as durable as promised; if not, refuse appends until they are."""
        while True:
            await asyncio.sleep(CHECK_S)
            try:
                await self.run(lambda connection: check_durability(connection, self.place, self.durability))
            except LedgerUnusable as error:
                self._queue.broken = LedgerUnavailable(error.detail, error.advice, written=False)
            except LedgerUnavailable:
                pass  # appends report it, and go on as soon as the database answers
            else:
                self._queue.broken = self._forked

    def _explain(self, error: Exception) -> TallystickError:
        """Return the answer to a group that was not written, or of which nobody knows."""
        if isinstance(error, LedgerUnusable):
            return LedgerUnavailable(error.detail, error.advice, written=False)
        if isinstance(error, TallystickError):
            return error
        if isinstance(error, asyncpg.DiskFullError):
            return LedgerFull(f"The disk of {self.place} is full.", "Free disk space, then retry.", written=False)
        return LedgerUnavailable(
            f"{self.place} refused the append: {str(error).strip().rstrip('.')}.",
            "Look into the log of the database.",
            written=False,
        )
