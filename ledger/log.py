"""The interface of the log: append, read, follow, head. Every implementation passes `tests/ledger/contract/`."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from events.envelope import Draft
from events.limits import PAGE_EVENTS_DEFAULT
from ledger.errors import LedgerUnavailable
from tallystick.shapes.appended import AppendedEvent

Order = Literal["asc", "desc"]

Progress = Callable[[int, int], None]
"""Called with the number done and the total."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to read. `after` and `before` are exclusive positions; times are inclusive, in UTC microseconds."""

    after: int = 0
    before: int | None = None
    limit: int = PAGE_EVENTS_DEFAULT
    order: Order = "asc"
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    source: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    correlationid: str | None = None
    """Read every line between the positions to find these events: the log has no index of correlation ids."""
    positions: tuple[int, ...] = ()
    """Read only events at these positions, if any are named."""
    walk: bool = False
    """Set it to read all matching events page by page: SQLite then avoids each index whose result it must sort."""
    firsts: str = ""
    """A kind of streams, as `decision`: the page states where the stream of each of their events begins."""

    def end(self, head: int) -> int:
        """Return the position before which its events are, in a log up to `head`."""
        return head + 1 if self.before is None else min(self.before, head + 1)


class LogPage(NamedTuple):
    """One page of stored lines in the order of the query.

    `ndjson` has the lines as they are stored, joined by line feeds; `positions` has their positions; `more` says
    whether further events match the query. `firsts` has for each event the position of the first event of its stream,
    if the query asks for it; 0 for a stream of another kind.
    """

    ndjson: bytes
    positions: Sequence[int]
    more: bool
    firsts: Sequence[int] = ()

    @property
    def lines(self) -> list[bytes]:
        return self.ndjson.split(b"\n") if self.positions else []


class Head(NamedTuple):
    """The newest event: its position (0 for an empty log) and recordedtime in UTC microseconds."""

    position: int
    recorded_us: int


class Permissions(NamedTuple):
    """What the caller of an append may do in streams of other sources; by default, everything.

    `as_owner`: append events that are for the owner of the stream (`Author.OWNER`).
    `as_first`: append events that are for the first author of their kind (`Author.FIRST`).
    `not_own`: a source that may not append events of the latter kind to its own streams; None: it may.
    """

    as_owner: bool = True
    as_first: bool = True
    not_own: str | None = None

    @property
    def in_every_stream(self) -> bool:
        """Whether the caller may append to the streams of every source."""
        return self.as_owner and self.as_first and self.not_own is None


UNRESTRICTED = Permissions()


class LogReader(Protocol):
    """Read access to the log."""

    async def head(self) -> Head:
        """Return the newest committed event."""
        ...

    async def read(self, query: Query) -> LogPage:
        """Return one page of events. Errors: LedgerUnavailable."""
        ...

    def follow(self, query: Query) -> AsyncIterator[LogPage]:
        """Yield every matching event after `query.after`, in order: the committed ones, then new ones, without end."""
        ...

    async def wait_for_events(self, seen: int) -> None:
        """Wait until there may be events after a position, which was the newest."""
        ...

    async def position_at(self, recorded_us: int) -> int:
        """Return the last position recorded at or before a moment in UTC microseconds; 0 if there is none."""
        ...

    async def recorded_at(self, position: int) -> int:
        """Return when a position was recorded, in UTC microseconds. Errors: NotFound."""
        ...

    async def counts(self, query: Query) -> dict[str, int]:
        """Count the matching events of each type; `limit` and `order` are ignored. Errors: LedgerUnavailable."""
        ...

    async def subjects(self, positions: Sequence[int]) -> list[str]:
        """Return the streams of the events at some positions, in their order. Errors: LedgerUnavailable."""
        ...

    async def first_positions(self, subjects: Sequence[str]) -> dict[str, int]:
        """Return the position of the first event of each of some streams, without those that do not exist."""
        ...

    async def positions_in_stream(self, subject: str, versions: Sequence[int]) -> dict[int, int]:
        """Return the position of each of some versions of a stream, by version, without those that do not exist."""
        ...

    async def positions_of_id(self, event_id: str, limit: int) -> list[int]:
        """Return at most `limit` positions of the events with an id, of every source, in ascending order."""
        ...

    async def streams_starting_with(self, beginning: str, upto: int, limit: int) -> list[str]:
        """Return at most `limit` streams whose names start with a text and that began up to a position, by name."""
        ...

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        """Return at most `count` stored full tiles of a level, from number `first`, in order.

        There are none after the first one that is not stored. See `ledger/transparency/tiles.py`.
        """
        ...

    async def close(self) -> None:
        """Close the files or connections. For a log that writes, finish the accepted appends first."""
        ...


class Log(LogReader, Protocol):
    """Read and write access to the log. `ledger/transparency/tree.py` has the part of it that proves events."""

    @property
    def newest(self) -> Head:
        """Return the newest committed event that this process knows, without waiting."""
        ...

    @property
    def waiting_events(self) -> int:
        """Return the number of events that this process has accepted and not yet committed."""
        ...

    @property
    def broken(self) -> LedgerUnavailable | None:
        """Return why the writer refuses all appends; None while it accepts them."""
        ...

    @property
    def instance(self) -> str | None:
        """Return the random name by which clients recognize this server; None if none can look for it."""
        ...

    async def append(self, batch: Sequence[Draft], permissions: Permissions = UNRESTRICTED) -> list[AppendedEvent]:
        """Append a batch atomically; return the position of each event.

        Shapes: 1..BATCH_EVENTS_MAX drafts with `source` set, over any number of streams; positions are contiguous.
        Errors: InvalidEvent, AppendRefused (nothing written: correct, or read and decide again);
                LedgerBusy, LedgerFull (nothing written: retry later);
                LedgerUnavailable (outcome unknown: retry with the same ids).
        Source: invariants I1..I6.
        """
        ...
