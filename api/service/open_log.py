"""Open the log of a ledger, by the kind of its place: a file, or a database of PostgreSQL."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ledger.clock import Clock, system_clock
from ledger.errors import LedgerLocked, LedgerUnusable
from ledger.log import LogReader
from ledger.place import DatabasePlace, Place
from ledger.shared_notes import Notes
from ledger.sqlite.lock import WriterLock
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.read_only import can_be_written
from ledger.sqlite.reader import SqliteReader
from ledger.transparency.tree import TreeLog

if TYPE_CHECKING:
    from ledger.postgres.notes import SharedNotes


class Connections(NamedTuple):
    """The open connections of a ledger service."""

    log: TreeLog | None
    """The log, if it is open for writing."""
    scanner: LogReader
    """A reader of its own: long reads on it keep no append and no other reader waiting."""
    keeps_files: bool
    """Whether this process alone may change the files beside the ledger: snapshots, and what a crash left behind."""
    place: Place
    """The place that is read: for a ledger that is read from a standby, with that server alone."""
    notes: Notes | None = None
    """What all nodes of a ledger in a database share; None for a file."""
    standby: bool = False
    """Whether the ledger is read from a standby, as far as it is signed."""


class CommittedReader:
    """The log for the engine: the writer's head, and reads on a connection of their own, so that no reader waits.

    Names are looked up on the connection of other readers, where they do not wait for a fold.
    """

    def __init__(self, log: TreeLog, scanner: LogReader) -> None:
        self.head = log.head
        self.read = scanner.read
        self.follow = log.follow
        self.wait_for_events = log.wait_for_events
        self.position_at = scanner.position_at
        self.recorded_at = scanner.recorded_at
        self.counts = scanner.counts
        self.tiles = scanner.tiles
        self.subjects = log.subjects
        self.first_positions = log.first_positions
        self.positions_in_stream = log.positions_in_stream
        self.positions_of_id = log.positions_of_id
        self.streams_starting_with = log.streams_starting_with
        self.close = scanner.close


async def open_log(place: Place, *, clock: Clock = system_clock, address: str | None = None) -> TreeLog:
    """Open the log of a place for writing. A file that does not exist is created.

    `address` is that of this process's server: the lock of a file names it. Errors: LedgerLocked, LedgerUnusable.
    """
    if place.database is None:
        return await SqliteLog.open(place.path, clock=clock, address=address)
    with needing_extra():
        from ledger.postgres.log import PostgresLog  # noqa: PLC0415 - the extra postgres
    return await PostgresLog.open(place.database, durability=place.durability, clock=clock)


async def open_reader(place: Place, *, primary: bool = False) -> LogReader:
    """Open the log of a place for reading. Errors: LedgerUnusable.

    A ledger in a database whose primary server cannot be reached is read from a standby, as far as it is signed; not
    with `primary`, for a process that writes it.
    """
    if place.database is None:
        return await SqliteReader.open(place.path)
    if primary:
        with needing_extra():
            from ledger.postgres.reader import PostgresReader  # noqa: PLC0415 - the extra postgres
        return await PostgresReader.open(place.database)
    with needing_extra():
        from ledger.postgres import standby  # noqa: PLC0415 - the extra postgres
    return await standby.open_reader(place.database)


def can_write(place: Place) -> bool:
    """Return whether a ledger can be opened for writing, as far as that shows before: whether a file can be written."""
    return place.database is not None or can_be_written(place.path)


async def open_connections(
    opened: AsyncExitStack, place: Place, *, writable: bool, clock: Clock, address: str | None
) -> Connections:
    """Open the connections of a ledger service. `opened` closes them. Errors: LedgerLocked, LedgerUnusable."""
    log, keeps_files = None, writable
    if writable:
        lock = _lock_files(place, address)
        if lock is not None:
            opened.callback(lock.release)
        keeps_files = lock is not None or place.database is None
        log = await open_log(place, clock=clock, address=address)
        opened.push_async_callback(log.close)
    scanner = await open_reader(place, primary=writable)
    opened.push_async_callback(scanner.close)
    if (database := place.database) is None:
        return Connections(log, scanner, keeps_files, place)
    with needing_extra():
        from ledger.postgres.notes import SharedNotes  # noqa: PLC0415 - the extra postgres
        from ledger.postgres.standby import StandbyReader  # noqa: PLC0415 - the extra postgres
    if isinstance(scanner, StandbyReader):
        place = replace(place, database=scanner.place)
        notes = SharedNotes(await StandbyReader.open(scanner.place))
    else:
        notes = await SharedNotes.open(database)
    opened.push_async_callback(notes.close)
    return Connections(log, scanner, keeps_files, place, notes, isinstance(scanner, StandbyReader))


async def open_notes(database: DatabasePlace) -> "SharedNotes":
    """Open what all nodes of a ledger share. Errors: LedgerUnusable."""
    with needing_extra():
        from ledger.postgres.notes import SharedNotes  # noqa: PLC0415 - the extra postgres
    return await SharedNotes.open(database)


def _lock_files(place: Place, address: str | None) -> WriterLock | None:
    """Lock the files that this node keeps of a ledger in a database; None if another process has them.

    Each process may write the database. The lock of a ledger file is the log's own: it is not taken here.
    Errors: LedgerUnusable.
    """
    if place.database is None:
        return None
    place.make_folder()
    try:
        return WriterLock.acquire(place.path, address)
    except LedgerLocked:
        return None


@contextmanager
def needing_extra() -> Iterator[None]:
    """Import the log on PostgreSQL. Errors: LedgerUnusable, without its packages."""
    try:
        yield
    except ModuleNotFoundError as error:
        detail = f"A ledger in PostgreSQL needs packages that are not installed: {error.name}."
        raise LedgerUnusable(detail, "Install them: pip install 'tallystick[postgres]'.") from error
