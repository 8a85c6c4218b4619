"""A ledger file, beside its server or without one: every line rehashed, everything kept beside the lines compared.

Rows are read up to the head that the file has at the beginning, in pages that each are a transaction of their own: a
server goes on writing meanwhile, and no page holds its write-ahead log up. Checkpoints are read before the head, so
that what they are of is there.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ledger.errors import BadNote, LedgerUnusable
from ledger.evidence_store import EvidenceStore
from ledger.sqlite.schema import APPLICATION_ID, COLUMNS, CREATE, SCHEMA_VERSION
from ledger.sqlite.wal_check import find_damage
from ledger.transparency.keys import path_beside
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import Signer, Verifier
from ledger.transparency.tiles import HEIGHT, TILE_BYTES, WIDTH, Tile
from ledger.verify.columns import ColumnCheck
from ledger.verify.event_order import LineHeaders
from ledger.verify.event_order import OrderCheck as Run
from ledger.verify.evidence import ERASED, EvidenceCheck
from ledger.verify.findings import Findings
from ledger.verify.merkle_rebuild import TreeRebuild, difference
from ledger.verify.signatures import NoteCheck, own_key

PAGE_EVENTS = 8 * WIDTH
"""Rows read at once: the lines of eight tiles."""

PAGE = f"SELECT {', '.join(COLUMNS)} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"

TILE_PAGE = "SELECT number, hashes FROM tiles WHERE level = ? AND number >= ? AND number < ?"

TILE_COUNTS = "SELECT (SELECT max(position) FROM events), level, count(*) FROM tiles GROUP BY level"

Progress = Callable[[int, int], None]
"""Told how many events are done, of how many."""

LOCATOR = "the tiles that were kept"


class FileFindings(NamedTuple):
    """A log as it was found: how many events it has, their root, and the key its checkpoints were verified by."""

    events: int
    root: bytes
    key: Verifier | None


def verify_file(
    account: Findings,
    path: Path,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    quick: bool = False,
    evidence: bool = True,
    progress: Progress = lambda done, total: None,
) -> FileFindings:
    """Verify a ledger file and what stands beside it; faults are told in the account.

    Shapes: `earlier` is a checkpoint that was published before; `quick` leaves out SQLite's own check of its file, and
            without `evidence` nothing is said of that.
    Errors: LedgerUnusable, for a file that is no ledger.
    """
    _check_wal(account, path)
    notes = _read_notes(account, path, earlier)
    key = key or _own_key(account, path)
    notes.check_signatures(key)
    regrowth = TreeRebuild(notes.sizes)
    with closing(_connected(path)) as connection:
        try:
            _check_schema(account, connection)
            _Reading(account, connection, path, regrowth).run(progress, evidence=evidence)
            if not quick:
                _check_structure(account, connection)
        except sqlite3.Error as error:
            there = regrowth.edge.size
            account.check("SQLite", "files").fault(
                f"the file cannot be read behind position {there:,}: {error}.", there + 1
            )
    notes.judge(regrowth, LOCATOR)
    return FileFindings(regrowth.edge.size, regrowth.edge.root(), key)


def _check_wal(account: Findings, path: Path) -> None:
    """Whether SQLite reads all of the write-ahead log. Errors: LedgerUnusable."""
    log = Path(f"{path.resolve()}-wal")
    if log.exists():
        check = account.check("write-ahead log", "files")
        check.count += 1
        try:
            if (found := find_damage(path)) is not None:
                check.fault(f"{log.name}: {found}")
        except OSError as error:
            raise LedgerUnusable(f"{log} cannot be read: {error}.", "Check its permissions.") from error


def _read_notes(account: Findings, path: Path, earlier: bytes | None) -> NoteCheck:
    """The notes beside a ledger, and the one that was given."""
    notes = NoteCheck(account)
    if earlier is not None:
        notes.read(earlier, "the earlier checkpoint")
    for ending in ("imported", "witnessed", "checkpoint"):
        if (note := path_beside(path, ending)).exists():
            notes.read(note.read_bytes(), note.name, foreign=ending == "imported")
        elif ending == "checkpoint":
            account.notes.append(
                f"There is no {note.name}: nothing signed says what the lines must be. They were compared with the "
                "tiles kept beside them, in which the newest 255 events may have no part."
            )
    return notes


def _own_key(account: Findings, path: Path) -> Verifier | None:
    """The public half of the key beside a ledger."""
    file = path_beside(path, "key")
    try:
        signer = Signer.parse(file.read_text(encoding="utf-8").strip())
    except FileNotFoundError:
        account.notes.append(f"There is no {file.name}: without --key no signature was verified.")
    except OSError as error:
        account.notes.append(f"{file.name} cannot be read ({error.strerror}): without --key no signature was verified.")
    except (BadNote, UnicodeDecodeError) as error:
        detail = error.detail if isinstance(error, BadNote) else "it is no text."
        account.check("signatures", "signatures").fault(f"{file.name} holds no key: {detail}")
    else:
        return own_key(account, str(signer.verifier), file.name)
    return None


def _connected(path: Path) -> sqlite3.Connection:
    """A read-only connection. Errors: LedgerUnusable."""
    if not path.is_file():
        raise LedgerUnusable(f"There is no ledger at {path}.", "Name one with --ledger.")
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{path} cannot be opened: {error}.", "Check its permissions.") from error
    try:
        ((application,),) = connection.execute("PRAGMA application_id")
        ((version,),) = connection.execute("PRAGMA user_version")
    except sqlite3.Error as error:
        connection.close()
        raise LedgerUnusable(f"{path} is not a ledger: {error}.", "Name another file with --ledger.") from error
    if application == APPLICATION_ID and version == SCHEMA_VERSION:
        return connection
    connection.close()
    if application != APPLICATION_ID:
        raise LedgerUnusable(f"{path} is not a ledger.", "Name another file with --ledger.")
    if version > SCHEMA_VERSION:
        raise LedgerUnusable(f"{path} was written by a newer Tallystick.", "Upgrade this one.")
    raise LedgerUnusable(f"{path} was written by an older Tallystick.", "Open it once for writing: tallystick serve.")


def _check_schema(account: Findings, connection: sqlite3.Connection) -> None:
    """Whether the tables and the triggers that keep them are those that a ledger is made with."""
    check = account.check("schema", "tables, indexes and triggers")
    made = sqlite3.connect(":memory:")
    with closing(made):
        made.executescript(CREATE)
        wanted = _schema_of(made)
    held = _schema_of(connection)
    check.count = len(wanted)
    for name, sql in wanted.items():
        if name not in held:
            check.fault(f"{name} is missing: the file was altered by other means than Tallystick's.")
        elif held[name] != sql:
            check.fault(f"{name} is not as a ledger is made: the file was altered by other means than Tallystick's.")
    ours = {"events", "tiles"}
    for name, table in connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'"):
        if table in ours and name not in wanted:
            check.fault(f"the trigger {name} is none of a ledger's.")


def _schema_of(connection: sqlite3.Connection) -> dict[str, str | None]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master").fetchall())


def _check_structure(account: Findings, connection: sqlite3.Connection) -> None:
    """SQLite's own check: every page, and every index against its table (a tenth to a third on top of all the rest)."""
    check = account.check("SQLite", "files")
    check.count += 1
    for (said,) in connection.execute("PRAGMA integrity_check"):
        if said != "ok":
            check.fault(f"SQLite says: {said}.")


class _Reading:
    """One pass over the rows, with all that is compared on the way."""

    def __init__(self, account: Findings, connection: sqlite3.Connection, path: Path, regrowth: TreeRebuild) -> None:
        self._account = account
        self._connection = connection
        self._store = EvidenceStore(path)
        self._regrowth = regrowth
        self._run = Run(account, LineHeaders, complete=True, streams=True)
        self._columns = ColumnCheck(account.check("columns", "rows"))
        self._tiles = account.check("tiles", "tiles")
        self._exhibits = EvidenceCheck()

    def run(self, progress: Progress, *, evidence: bool) -> None:
        """Read and compare every row there is now. Errors: sqlite3.Error."""
        ((head,),) = self._connection.execute("SELECT coalesce(max(position), 0) FROM events")
        for rows in self._pages(head):
            lines = self._lines(rows)
            found = self._run.take(lines)
            self._columns.take(rows, found, self._regrowth.edge.size + 1)
            self._exhibits.take(found, lines)
            self._grow(lines)
            progress(self._regrowth.edge.size, head)
        self._run.end()
        self._count_tiles()
        if evidence:
            self._exhibits.check(self._account, self._store, self._erased)

    def _pages(self, head: int) -> Iterator[list[Any]]:
        after = 0
        while rows := self._connection.execute(PAGE, (after, head, PAGE_EVENTS)).fetchall():
            yield rows
            after = rows[-1][0]

    def _lines(self, rows: Sequence[Sequence[Any]]) -> list[bytes]:
        """The lines of rows. A flipped bit makes text of bytes, or a number, which SQLite gives as what it is then."""
        lines = [row[-1] for row in rows]
        for place, line in enumerate(lines):
            if not isinstance(line, bytes):
                lines[place] = str(line).encode()
                detail = f"column line holds {type(line).__name__} and no bytes."
                self._columns.fault(detail, self._regrowth.edge.size + place + 1)
        return lines

    def _grow(self, lines: Sequence[bytes]) -> None:
        """Grow the tree by lines. A page that a damaged file gives too few of ends in no whole tile."""
        number, partial = divmod(self._regrowth.edge.size, WIDTH)
        end = number + (partial + len(lines)) // WIDTH
        kept: dict[int, Any] = dict(self._connection.execute(TILE_PAGE, (0, number, end)).fetchall())
        whole = takewhile(lambda one: _is_tile(kept.get(one)), count(number)) if partial == 0 else ()
        for tile in self._regrowth.grow(leaf_hashes(lines), b"".join(kept[one] for one in whole)):
            self._compare(tile, kept)

    def _compare(self, tile: Tile, leaves: dict[int, Any]) -> None:
        """Whether a tile is kept as the lines make it; those of level 0 were read with the page."""
        self._tiles.count += 1
        level, number, hashes = tile
        held = leaves.get(number) if level == 0 else self._tile(level, number)
        if held != hashes:
            self._tiles.fault(*difference(tile, held))

    def _tile(self, level: int, number: int) -> object:
        found = self._connection.execute(TILE_PAGE, (level, number, number + 1)).fetchone()
        return None if found is None else found[1]

    def _count_tiles(self) -> None:
        """Whether there are as many tiles as the events that there are at this moment fill."""
        for head, level, tiles in self._connection.execute(TILE_COUNTS):
            if not isinstance(level, int) or level < 0:
                self._tiles.fault(f"a tile stands at level {level!r}.")
                continue
            filled = (head or 0) >> HEIGHT * (level + 1)
            if tiles > filled:
                self._tiles.fault(f"level {level} has {tiles:,} tiles; {head or 0:,} events fill {filled:,}.")

    def _erased(self, digest: str) -> bool:
        found = self._connection.execute(
            "SELECT 1 FROM events WHERE subject = ? AND type = ?", (f"evidence/{digest}", ERASED)
        )
        return found.fetchone() is not None


def _is_tile(hashes: object) -> bool:
    return isinstance(hashes, bytes) and len(hashes) == TILE_BYTES
