"""The interface of the log: append, read, follow, head. Every implementation passes `tests/contract/`."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from events.envelope import Draft
from events.limits import PAGE_EVENTS_DEFAULT

Order = Literal["asc", "desc"]


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to read. Bounds are exclusive positions; `since` and `until` bound `time`, in UTC microseconds."""

    after: int = 0
    before: int | None = None
    limit: int = PAGE_EVENTS_DEFAULT
    order: Order = "asc"
    types: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    source: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    walk: bool = False
    """Read on from where the last page ended, for who reads all that fits: no index that would be sorted a page."""


class Page(NamedTuple):
    """A run of stored lines in the order asked for.

    `ndjson` holds them joined by line feeds, as they are stored; `positions` are theirs; `more` says whether the
    query would have found another.
    """

    ndjson: bytes
    positions: Sequence[int]
    more: bool

    @property
    def lines(self) -> list[bytes]:
        return self.ndjson.split(b"\n") if self.positions else []


class Head(NamedTuple):
    """The newest event: its position (0 for an empty log) and recordedtime in UTC microseconds."""

    position: int
    recorded_us: int


class AppendedEvent(msgspec.Struct, frozen=True, gc=False):
    """Where an event stands; `duplicate` when it stood there before this append."""

    position: int
    id: str
    subject: str
    streamversion: int
    duplicate: bool


class LogReader(Protocol):
    """What a reader of the log can do."""

    async def head(self) -> Head:
        """The newest committed event."""
        ...

    async def read(self, query: Query) -> Page:
        """One page of events. Errors: LedgerUnavailable."""
        ...

    def follow(self, query: Query) -> AsyncIterator[Page]:
        """Every event after `query.after` that fits, those committed and those to come, in order, without end."""
        ...

    async def position_at(self, recorded_us: int) -> int:
        """The last position recorded at or before a moment; 0 when there is none."""
        ...

    async def recorded_at(self, position: int) -> int:
        """When a position was recorded, UTC microseconds. Errors: NotFound."""
        ...

    async def counts(self, query: Query) -> dict[str, int]:
        """How many events of each type fit a query, whatever its limit and order. Errors: LedgerUnavailable."""
        ...

    async def tiles(self, level: int, first: int, count: int) -> list[bytes]:
        """Read stored full tiles from a number on, in order; see `ledger/transparency/tiles.py`."""
        ...


class Log(LogReader, Protocol):
    """The log with its writer."""

    async def append(self, batch: Sequence[Draft]) -> list[AppendedEvent]:
        """Append a batch atomically; return where each event stands.

        Shapes: 1..BATCH_EVENTS_MAX drafts with `source` set, over any number of streams; positions are contiguous.
        Errors: InvalidEvent, AppendRefused (nothing written: correct, or read and decide again);
                LedgerBusy, LedgerFull (nothing written: retry later);
                LedgerUnavailable (outcome unknown: retry with the same ids).
        Source: invariants I1..I6.
        """
        ...

    async def close(self) -> None:
        """Answer what was accepted, then let go of the files."""
        ...
