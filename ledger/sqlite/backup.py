"""Copies of a ledger file, also while another process writes it; and removing and moving the files of a ledger.

SQLite's online backup makes the copy, from a read-only connection that keeps one read transaction: the copy is the log
at the moment when the copy began, a writer cannot make it restart, and it never checkpoints (I8). Meanwhile the
write-ahead log keeps growing, because no part of it can be reused. The copy uses a rollback journal instead of a
write-ahead log: it is one file, and a reader creates no other file beside it.

All functions block. An exception raised by `progress` ends the copy.
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from shutil import rmtree

from events.decode_error_messages import DECODE_ERRORS
from events.evidence import EvidenceErased, EvidenceStored
from events.registry import VOCABULARY
from ledger.atomic_file import sync_folder
from ledger.errors import LedgerFull, LedgerUnavailable
from ledger.log import Progress
from ledger.private_file import make_private_file
from ledger.sqlite.read_only import read_only_uri
from ledger.sqlite.schema_check import check_ledger
from ledger.sqlite.wal_check import require_undamaged

STEP_PAGES = 1_000
"""Pages (4 MB) between two calls of `progress`."""

SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps for one database."""

EVIDENCE_EVENTS = "SELECT line FROM events WHERE type IN ('evidence.stored.v1', 'evidence.erased.v1') ORDER BY position"

ERASURE = "SELECT 1 FROM events WHERE subject = ? AND type = 'evidence.erased.v1'"


def copy_ledger(source: Path, target: Path, *, still: bool = False, progress: Progress) -> None:
    """Copy a ledger file and sync the copy, but not its folder.

    Shapes: `still` says that no process writes the source; `progress` counts pages.
    Errors: LedgerDamaged, LedgerFull, LedgerUnavailable, OSError; the target is then unusable.
    """
    if still:
        require_undamaged(source)
    wal = source.with_name(source.name + "-wal")
    immutable = "&immutable=1" if still and not wal.exists() else ""
    make_private_file(target)
    try:
        with (
            closing(_reader(source, immutable)) as reader,
            closing(sqlite3.connect(target, isolation_level=None)) as writer,
        ):
            writer.execute("PRAGMA journal_mode = OFF")
            writer.execute("PRAGMA synchronous = OFF")
            reader.execute("BEGIN")
            # BEGIN alone reads nothing: only a first read fixes the state that is copied
            reader.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            reader.backup(
                writer, pages=STEP_PAGES, progress=lambda _, remaining, total: progress(total - remaining, total)
            )
        with closing(sqlite3.connect(target, isolation_level=None)) as copied:
            # the header that was copied says that the file has a write-ahead log
            copied.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            raise LedgerFull(f"The disk is full; {target} was not written.", "Free disk space, then retry.") from error
        raise LedgerUnavailable(f"{source} cannot be copied: {error}.", "Check the disk, then retry.") from error
    with target.open("rb") as file:
        os.fsync(file.fileno())


def stored_evidence(ledger: Path) -> dict[str, EvidenceStored]:
    """Return the events of the evidence that was stored and not erased, by digest.

    Errors: LedgerUnavailable, LedgerUnusable.
    """
    stored: dict[str, EvidenceStored] = {}
    for (line,) in _fetch(ledger, EVIDENCE_EVENTS):
        try:
            data = VOCABULARY.event(line).data
        except DECODE_ERRORS:  # the verification of the copy names this line
            continue
        if isinstance(data, EvidenceStored):
            stored[data.digest] = data
        elif isinstance(data, EvidenceErased):
            stored.pop(data.digest, None)
    return stored


def is_erased(ledger: Path, digest: str) -> bool:
    """Return whether the log records the erasure of some evidence. Errors: LedgerUnavailable, LedgerUnusable."""
    return bool(_fetch(ledger, ERASURE, (f"evidence/{digest}",)))


def remove_files(path: Path, *suffixes: str) -> None:
    """Remove the existing files and folders whose name is that of `path` with a suffix. Errors: OSError."""
    for suffix in suffixes:
        file = path.with_name(path.name + suffix)
        if file.is_dir() and not file.is_symlink():
            rmtree(file)
        else:
            file.unlink(missing_ok=True)


def move_files(source: Path, target: Path, *suffixes: str) -> list[Path]:
    """Move the existing files whose name is `source` with a suffix to `target` with it; return their new paths.

    Each move is synced before the next, in the given order: once the last file exists, all of them do. Errors: OSError.
    """
    moved: list[Path] = []
    for suffix in suffixes:
        with suppress(FileNotFoundError):
            moved.append(source.with_name(source.name + suffix).rename(target.with_name(target.name + suffix)))
            sync_folder(target.parent)
    sync_folder(source.parent)
    return moved


def _reader(ledger: Path, options: str = "") -> sqlite3.Connection:
    uri = read_only_uri(ledger)
    return sqlite3.connect(uri if uri.endswith(options) else uri + options, uri=True, isolation_level=None)


def _fetch(ledger: Path, statement: str, parameters: Sequence[str] = ()) -> list[tuple[bytes]]:
    try:
        with closing(_reader(ledger)) as reader:
            check_ledger(reader, ledger)
            return reader.execute(statement, parameters).fetchall()
    except sqlite3.Error as error:
        raise LedgerUnavailable(f"{ledger} cannot be read: {error}.", "Check the disk, then retry.") from error
