"""Verify a ledger file, also while a server writes it: rehash every line, and compare everything stored beside it.

Rows are read up to the head at the start of the verification, in pages with one transaction each. So a server can write
meanwhile, and its write-ahead log can be reused. Checkpoints are read before the head, so that their events are in the
file.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import count, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from events.limits import NOTE_BYTES_MAX
from ledger.errors import BadNote, LedgerUnusable
from ledger.evidence_store import EvidenceStore
from ledger.log import Progress
from ledger.private_file import read_private
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema import COLUMNS
from ledger.sqlite.schema_check import check_identity, find_foreign_table, known_objects, read_schema
from ledger.sqlite.wal_check import find_damage
from ledger.transparency.keys import KEY_BYTES_MAX, path_beside
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.signed_note import Signer, Verifier
from ledger.transparency.tiles import HEIGHT, TILE_BYTES, WIDTH, Tile
from ledger.verify.checkpoints import SignatureCheck, bundled_key
from ledger.verify.columns import ColumnCheck
from ledger.verify.event_order import LineHeaders, OrderCheck
from ledger.verify.evidence import ERASED, EvidenceCheck
from ledger.verify.findings import Findings
from ledger.verify.merkle_rebuild import TreeRebuild, describe_difference

PAGE_EVENTS = 8 * WIDTH
"""Rows read at a time: the lines of eight tiles."""

PAGE = f"SELECT {', '.join(COLUMNS)} FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"

TILE_PAGE = "SELECT number, hashes FROM tiles WHERE level = ? AND number >= ? AND number < ?"

TILE_COUNTS = "SELECT (SELECT max(position) FROM events), level, count(*) FROM tiles GROUP BY level"

STORED_TILES = "the tiles that were kept"
"""What messages call the stored tiles."""


class FileFindings(NamedTuple):
    """The verified log: its number of events, their root, and the key that verified its checkpoints."""

    events: int
    root: bytes
    key: Verifier | None


def verify_file(
    findings: Findings,
    path: Path,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    witnesses: Sequence[Verifier] = (),
    quick: bool = False,
    evidence: bool = True,
    progress: Progress = lambda done, total: None,
) -> FileFindings:
    """Verify a ledger file and the files beside it; add the faults to the findings.

    Shapes: `earlier` is a checkpoint that was published before; `witnesses` must have cosigned a checkpoint; `quick`
            skips SQLite's own check of the file; without `evidence` the evidence store is not checked.
    Errors: LedgerUnusable, if the file is not a ledger.
    """
    _check_wal(findings, path)
    notes = read_notes(findings, path, earlier)
    key = key or read_bundled_key(findings, path)
    notes.check_signatures(key)
    notes.check_witnesses(witnesses)
    rebuild = TreeRebuild(notes.sizes)
    with closing(_connect(path)) as connection:
        try:
            if not _check_schema(findings, connection, path):
                return FileFindings(rebuild.edge.size, rebuild.edge.root(), key)
            _RowScan(findings, connection, path, rebuild).run(progress, evidence=evidence)
            if not quick:
                _check_structure(findings, connection)
        except sqlite3.Error as error:
            events = rebuild.edge.size
            findings.check("SQLite", "files").fault(
                f"the file cannot be read after position {events:,}: {error}.", events + 1
            )
    notes.compare_roots(rebuild, STORED_TILES)
    return FileFindings(rebuild.edge.size, rebuild.edge.root(), key)


def _check_wal(findings: Findings, path: Path) -> None:
    """Check that SQLite reads all of the write-ahead log. Errors: LedgerUnusable."""
    log = Path(f"{path.resolve()}-wal")
    if log.exists():
        check = findings.check("write-ahead log", "files")
        check.count += 1
        try:
            if (damage := find_damage(path)) is not None:
                check.fault(f"{log.name}: {damage}")
        except OSError as error:
            raise LedgerUnusable(f"{log} cannot be read: {error}.", "Check its permissions.") from error


def read_notes(
    findings: Findings, path: Path, earlier: bytes | None, shared: Mapping[str, bytes] = MappingProxyType({})
) -> SignatureCheck:
    """Read the signed notes beside a ledger, the given one, and those in its database. Errors: LedgerUnusable."""
    notes = SignatureCheck(findings)
    if earlier is not None:
        notes.read(earlier, "the earlier checkpoint")
    for ending in ("imported", "witnessed", "checkpoint"):
        if ending in shared:
            notes.read(shared[ending], f"the note {ending} in the database")
        if (note := path_beside(path, ending)).exists():
            notes.read(read_private(note, NOTE_BYTES_MAX), note.name, foreign=ending == "imported")
        elif ending == "checkpoint" and ending not in shared:
            findings.notes.append(
                f"There is no {note.name}: no signature confirms the lines. They were compared with the stored tiles, "
                "which may not cover the newest 255 events."
            )
    return notes


def read_bundled_key(
    findings: Findings, path: Path, shared: Mapping[str, bytes] = MappingProxyType({})
) -> Verifier | None:
    """Return the public half of the key beside a ledger or in its database; None if it cannot be used."""
    if "key" in shared:
        return bundled_key(findings, shared["key"].decode(errors="replace"), "the database")
    file = path_beside(path, "key")
    try:
        signer = Signer.parse(read_private(file, KEY_BYTES_MAX).decode().strip())
    except FileNotFoundError:
        findings.notes.append(f"There is no {file.name}: without --key no signature was verified.")
    except OSError as error:
        findings.notes.append(
            f"{file.name} cannot be read ({error.strerror}); without --key no signature was verified."
        )
    except (BadNote, UnicodeDecodeError) as error:
        detail = error.detail if isinstance(error, BadNote) else "it is not text."
        findings.check("signatures", "signatures").fault(f"{file.name} has no key: {detail}")
    else:
        return bundled_key(findings, str(signer.verifier), file.name)
    return None


def _connect(path: Path) -> sqlite3.Connection:
    """Open a read-only connection. Errors: LedgerUnusable."""
    if not path.is_file():
        raise LedgerUnusable(f"There is no ledger at {path}.", "Name one with --ledger.")
    try:
        connection = sqlite3.connect(read_only_uri(path), uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise LedgerUnusable(f"{path} cannot be opened: {error}.", "Check its permissions.") from error
    try:
        check_identity(connection, path)
    except LedgerUnusable:
        connection.close()
        raise
    return connection


def _check_schema(findings: Findings, connection: sqlite3.Connection, path: Path) -> bool:
    """Check that tables, indexes and triggers are the ones that a new ledger has; return whether rows can be read."""
    check = findings.check("schema", "tables, indexes and triggers")
    known, stored = known_objects(), read_schema(connection, path)
    check.count = len(known)
    for item in sorted(known - stored):
        problem = "differs from that of a new ledger" if item.name in {other.name for other in stored} else "is missing"
        check.fault(f"{item.name} {problem}: another program altered the file.")
    tables = {item.name for item in known if item.kind == "table"}
    names = {item.name for item in known}
    for item in sorted(stored):
        if item.kind == "trigger" and item.table in tables and item.name not in names:
            check.fault(f"the trigger {item.name} does not belong to a ledger.")
    return find_foreign_table(stored) is None


def _check_structure(findings: Findings, connection: sqlite3.Connection) -> None:
    """Run SQLite's own check of every page and index (adds a tenth to a third to the time of a verification)."""
    check = findings.check("SQLite", "files")
    check.count += 1
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            check.fault(f"SQLite says: {message}.")


class _RowScan:
    """One pass over the rows, with all comparisons."""

    def __init__(self, findings: Findings, connection: sqlite3.Connection, path: Path, rebuild: TreeRebuild) -> None:
        self._findings = findings
        self._connection = connection
        self._store = EvidenceStore(path)
        self._rebuild = rebuild
        self._order = OrderCheck(findings, LineHeaders, complete=True, streams=True)
        self._columns = ColumnCheck(findings.check("columns", "rows"))
        self._tiles = findings.check("tiles", "tiles")
        self._evidence = EvidenceCheck()

    def run(self, progress: Progress, *, evidence: bool) -> None:
        """Read and compare every row up to the current head. Errors: sqlite3.Error."""
        ((head,),) = self._connection.execute("SELECT coalesce(max(position), 0) FROM events")
        for rows in self._pages(head):
            lines = self._lines(rows)
            headers = self._order.check(lines)
            self._columns.compare(rows, headers, self._rebuild.edge.size + 1)
            self._evidence.add(headers, lines)
            self._grow(lines)
            progress(self._rebuild.edge.size, head)
        self._order.end()
        self._count_tiles()
        if evidence:
            self._evidence.check(self._findings, self._store, self._erased)

    def _pages(self, head: int) -> Iterator[list[Any]]:
        after = 0
        while rows := self._connection.execute(PAGE, (after, head, PAGE_EVENTS)).fetchall():
            yield rows
            if rows[-1][0] <= after:
                raise sqlite3.DatabaseError("the table of events is not in its order")
            after = rows[-1][0]

    def _lines(self, rows: Sequence[Sequence[Any]]) -> list[bytes]:
        """Return the lines of rows. After a bit flip SQLite may return a line as text or as a number."""
        lines = [row[-1] for row in rows]
        for index, line in enumerate(lines):
            if not isinstance(line, bytes):
                lines[index] = str(line).encode()
                detail = f"column line holds {type(line).__name__}, not bytes."
                self._columns.fault(detail, self._rebuild.edge.size + index + 1)
        return lines

    def _grow(self, lines: Sequence[bytes]) -> None:
        """Grow the tree by lines. A damaged file may have fewer than a page; they then do not end with a full tile."""
        number, partial = divmod(self._rebuild.edge.size, WIDTH)
        end = number + (partial + len(lines)) // WIDTH
        stored: dict[int, Any] = dict(self._connection.execute(TILE_PAGE, (0, number, end)).fetchall())
        full = takewhile(lambda index: _is_tile(stored.get(index)), count(number)) if partial == 0 else ()
        for tile in self._rebuild.grow(leaf_hashes(lines), b"".join(stored[index] for index in full)):
            self._compare(tile, stored)

    def _compare(self, tile: Tile, leaves: dict[int, Any]) -> None:
        """Compare a tile of the lines with the stored one; `leaves` has the stored tiles of level 0."""
        self._tiles.count += 1
        level, number, hashes = tile
        stored = leaves.get(number) if level == 0 else self._tile(level, number)
        if stored != hashes:
            self._tiles.fault(*describe_difference(tile, stored))

    def _tile(self, level: int, number: int) -> object:
        row = self._connection.execute(TILE_PAGE, (level, number, number + 1)).fetchone()
        return None if row is None else row[1]

    def _count_tiles(self) -> None:
        """Check that no level has more tiles than the current events fill."""
        for head, level, tiles in self._connection.execute(TILE_COUNTS):
            if not isinstance(level, int) or level < 0:
                self._tiles.fault(f"a tile has the level {level!r}.")
                continue
            filled = (head or 0) >> HEIGHT * (level + 1)
            if tiles > filled:
                self._tiles.fault(f"level {level} has {tiles:,} tiles; {head or 0:,} events fill {filled:,}.")

    def _erased(self, digest: str) -> bool:
        erasure = self._connection.execute(
            "SELECT 1 FROM events WHERE subject = ? AND type = ?", (f"evidence/{digest}", ERASED)
        )
        return erasure.fetchone() is not None


def _is_tile(hashes: object) -> bool:
    return isinstance(hashes, bytes) and len(hashes) == TILE_BYTES
