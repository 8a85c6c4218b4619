"""Write groups of appends into PostgreSQL: lock the head, look up, admit, COPY, commit.

I8 The node that holds the row lock of the head writes. Nodes need no leader: PostgreSQL puts their groups in order.
I5 A group whose commit was not confirmed is looked up after the next connection's barrier. It is there whole or not at
   all (I3), because its ids were made before. Its callers get the same answers as if the commit had been confirmed.

An event of a batch takes more processor time in the node than in the server. So nothing is gained by copying rows while
later ones are admitted, or by answering a group while the next one is copied: the node is busy all the time.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from events.errors import TallystickError
from events.vocabulary import Vocabulary
from ledger.admission import ExistingEvent, GroupAdmission, Lookups, PreparedEvent, StreamHead
from ledger.append_queue import Answer
from ledger.clock import Clock
from ledger.errors import Forked, LedgerUnavailable
from ledger.log import Head
from ledger.lookup_keys import AuthorKeys, LookupKeys
from ledger.place import DatabasePlace, Durability
from ledger.postgres.connection import LOST, LedgerConnection, UnknownOutcomeError, connect_durably
from ledger.postgres.durability import check_durability
from ledger.postgres.moved import require_unmoved
from ledger.postgres.replaced import unless_replaced
from ledger.postgres.schema import COLUMNS, FIRST_AUTHORS, LOCK_HEAD, LOOK_UP, MOVE_BARRIER, OWNERS
from tallystick.shapes.appended import AppendedEvent

RETRY_S = 12.0
"""Seconds for which a group is written again, or looked up, after a connection was lost: a failover takes as long."""

PAUSE_S = 0.1
"""Seconds between two tries."""

PLANS = {"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"}
"""Every statement of the writer looks up rows in an index, also if the planner knows only an empty table."""

_LINE, _POSITION = COLUMNS.index("line"), COLUMNS.index("position")

_LINE_AT = "SELECT line FROM events WHERE position = $1"


class CommittedGroup(NamedTuple):
    """The answer of each batch of a group, and the log's head after it. `first` and `line` are its first event's."""

    answers: list[Answer]
    head: Head
    first: int = 0
    line: bytes = b""


class PostgresWriter:
    """Writes groups of appends, one at a time, on a connection of its own."""

    def __init__(self, place: DatabasePlace, vocabulary: Vocabulary, clock: Clock, durability: Durability) -> None:
        self._place = place
        self._vocabulary = vocabulary
        self._clock = clock
        self._durability: Durability = durability
        self._rng = random.Random()
        self._connection: LedgerConnection | None = None
        self._unconfirmed: CommittedGroup | None = None
        """The group whose commit was sent, until its outcome is known."""
        self._confirmed = 0
        """The newest position that a commit of this writer has confirmed, with everything before it."""
        self._closed = False
        self._lost = False
        """Whether the last connection was lost, and not closed because the server refused a group."""
        self.reconnected: Callable[[], None] = lambda: None
        """Called once a connection follows one that was lost: the primary may be another server than before."""

    async def connect(self, timeout_s: float) -> LedgerConnection:
        """Return the connection; connect if there is none, to a server that is as durable as promised.

        Errors: LedgerUnusable, LOST, UnknownOutcomeError, asyncpg.PostgresError.
        """
        if self._connection is None or self._connection.is_closed():
            self._lost = self._lost or self._connection is not None
            connection = self._connection = await connect_durably(self._place, timeout_s, **PLANS)
            await unless_replaced(self._place, connection, self._check(connection))
            if self._lost:
                self._lost = False
                self.reconnected()
        return self._connection

    async def _check(self, connection: LedgerConnection) -> None:
        await check_durability(connection, self._place, self._durability)
        await require_unmoved(connection, self._place)

    def close(self) -> None:
        """Close the connection at once. A group that is being committed gets no further try."""
        self._closed = True
        self.abort()

    def abort(self) -> None:
        """Close the connection at once. A group that is being committed then has an unknown outcome."""
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    async def write(self, batches: Sequence[Sequence[PreparedEvent]], near: Head) -> CommittedGroup:
        """Write the batches that the log admits, each whole or not at all (I3). `near` is the head, or was it before.

        Errors: LedgerUnavailable, whose detail says whether something may have been written; Forked, if the ledger has
        lost events; asyncpg.PostgresError, if the server refuses the rows, and has written none.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + RETRY_S
        self._unconfirmed = None
        while True:
            try:
                return await self._try(batches, near, max(PAUSE_S, deadline_s - loop.time()))
            except Exception as error:
                self.abort()
                lost = isinstance(error, (*LOST, UnknownOutcomeError))
                self._lost = self._lost or lost
                if isinstance(error, Forked) or (self.settled and not lost):
                    raise
                if self._closed or loop.time() >= deadline_s:
                    raise self._unwritten(error) from error
            except BaseException:
                self.abort()
                raise
            await asyncio.sleep(PAUSE_S)

    async def _try(self, batches: Sequence[Sequence[PreparedEvent]], near: Head, timeout_s: float) -> CommittedGroup:
        fresh = self._connection is None or self._connection.is_closed()
        connection = await self.connect(timeout_s)
        return await unless_replaced(self._place, connection, self._try_on(connection, batches, near, fresh=fresh))

    async def _try_on(
        self, connection: LedgerConnection, batches: Sequence[Sequence[PreparedEvent]], near: Head, *, fresh: bool
    ) -> CommittedGroup:
        if self._unconfirmed is not None and await self._is_committed(connection, self._unconfirmed):
            return self._unconfirmed
        return await self._write(connection, batches, near, fresh=fresh)

    async def _write(
        self, connection: LedgerConnection, batches: Sequence[Sequence[PreparedEvent]], known: Head, *, fresh: bool
    ) -> CommittedGroup:
        await connection.execute(LOCK_HEAD)
        keys, near = LookupKeys(batches, self._rng), known
        while True:
            keys.name_streams(near.position)
            near, lookups = await _look_up(connection, keys)
            if near.position < known.position:
                raise _shorter(known, near, fresh=fresh)
            if not keys.find_taken(lookups.streams):
                break
        self._unconfirmed = None
        lookups = await self._look_up_authors(connection, lookups, keys.authors())
        group = GroupAdmission(self._vocabulary, near, self._clock(), lookups, self._rng)
        answers = [_admit_batch(group, batch) for batch in keys.batches]
        if not group.rows:
            await self._confirm(connection, near)
            return CommittedGroup(answers, near)
        rows = list(zip(*[iter(group.rows)] * len(COLUMNS), strict=True))
        await connection.copy_records_to_table("events", records=rows, columns=COLUMNS)
        line = rows[0][_LINE]
        assert isinstance(line, bytes)
        head = Head(group.position, group.recorded_us)
        self._unconfirmed = CommittedGroup(answers, head, near.position + 1, line)
        await connection.commit()
        committed, self._unconfirmed = self._unconfirmed, None
        self._confirmed = head.position
        return committed

    async def _confirm(self, connection: LedgerConnection, head: Head) -> None:
        """End a transaction that writes no event, so that its answers hold: what they rest on is durable.

        An event of another node may be on the primary alone, if the wait of its commit was cancelled.
        """
        if head.position <= self._confirmed:
            await connection.rollback()
            return
        await connection.execute(MOVE_BARRIER)
        await connection.commit()
        self._confirmed = head.position

    async def _look_up_authors(
        self, connection: LedgerConnection, lookups: Lookups, keys: AuthorKeys | None
    ) -> Lookups:
        """Look up who began the streams of events whose author must be checked."""
        if keys is None:
            return lookups
        owners = {row[0]: row[1] for row in await connection.fetch(OWNERS, list(keys.owned))}
        kinds = list(self._vocabulary.first_author_types)
        firsts = await connection.fetch(FIRST_AUTHORS, list(keys.shared), kinds) if keys.shared else ()
        return lookups._replace(owners=owners, firsts={row[0]: row[1] for row in firsts})

    async def _is_committed(self, connection: LedgerConnection, group: CommittedGroup) -> bool:
        """Return whether a group is in the log, after the barrier of a new connection."""
        return bool(await connection.fetchval(_LINE_AT, group.first) == group.line)

    @property
    def settled(self) -> bool:
        """Return whether no commit was sent whose outcome is unknown."""
        return self._unconfirmed is None

    def _unwritten(self, error: Exception) -> LedgerUnavailable:
        reason = (str(error) or type(error).__name__).strip().rstrip(".")
        if self._unconfirmed is None:
            detail = f"{self._place} cannot be written: {reason}."
            return LedgerUnavailable(detail, "Retry when the database answers.", written=False)
        return LedgerUnavailable(
            f"{self._place} did not confirm the commit: {reason}. Whether this append is in the log is unknown.",
            "Retry with the same ids when the database answers.",
        )


async def _look_up(connection: LedgerConnection, keys: LookupKeys) -> tuple[Head, Lookups]:
    """Look up the head, every stream and every id of a group. The transaction holds the lock of the head."""
    sources, ids = [source for source, _ in keys.ids], [event_id for _, event_id in keys.ids]
    lookups = Lookups({}, {})
    (head, *found) = await connection.fetch(LOOK_UP, list(keys.subjects), sources, ids)
    for subject, version, type_, source, event_id, position, _, line in found:
        if line is None:
            lookups.streams[subject] = StreamHead(version, type_)
        else:
            appended = AppendedEvent(position, event_id, subject, version, duplicate=False)
            lookups.taken[source, event_id] = ExistingEvent(appended, line)
    return Head(head["position"], head["recorded_us"]), lookups


def _shorter(known: Head, found: Head, *, fresh: bool) -> Exception:
    """Return the error of a ledger that has fewer events than this node knows.

    On a fresh connection, which has passed its barrier, they are lost. Another one may be to a replaced server.
    """
    detail = f"This node knows {known.position} events, and the ledger has {found.position}."
    return Forked(detail, appends=False) if fresh else ConnectionError(detail)


def _admit_batch(group: GroupAdmission, batch: Sequence[PreparedEvent]) -> Answer:
    try:
        return group.admit(batch)
    except TallystickError as error:
        return error
