"""Copies of a ledger file: taken while it is written, and moved to where they are wanted.

A copy is taken by SQLite's online backup, from one read-only connection that holds one read transaction for the whole:
it is the log as it stood when the copy began, a writer never makes it begin again, and it never checkpoints (I8).
Meanwhile the write-ahead log grows by what is written, since none of it can be let go. Afterwards the copy keeps a
rollback journal and no write-ahead log: it is one file, and whoever reads it makes none beside it.

Everything here blocks, and an exception of `progress` ends it.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from shutil import rmtree

from events.evidence import EvidenceErased, EvidenceStored
from events.registry import VOCABULARY
from ledger.atomic_file import sync_folder
from ledger.errors import LedgerFull, LedgerUnavailable
from ledger.sqlite.wal_check import require_whole

STEP_PAGES = 1_000
"""Pages copied (4 MB) before progress is told."""

Progress = Callable[[int, int], None]
"""Told how many are done, of how many."""

SQLITES = ("", "-wal", "-shm", "-journal")
"""How the names end of what SQLite keeps of one file."""

EXHIBITS = "SELECT line FROM events WHERE type IN ('evidence.stored.v1', 'evidence.erased.v1') ORDER BY position"

ERASED = "SELECT 1 FROM events WHERE subject = ? AND type = 'evidence.erased.v1'"


def copy(source: Path, target: Path, *, still: bool = False, progress: Progress) -> None:
    """Copy a ledger file, and sync the copy but for its name. `still` says that nobody writes the source.

    Shapes: `progress` is told pages.
    Errors: LedgerDamaged, LedgerFull, LedgerUnavailable, OSError; the target is of no use then.
    """
    if still:
        require_whole(source)
    wal = source.with_name(source.name + "-wal")
    alone = "&immutable=1" if still and not wal.exists() else ""
    try:
        with (
            closing(_reader(source, alone)) as reader,
            closing(sqlite3.connect(target, isolation_level=None)) as writer,
        ):
            writer.execute("PRAGMA journal_mode = OFF")
            writer.execute("PRAGMA synchronous = OFF")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            reader.backup(writer, pages=STEP_PAGES, progress=lambda _, left, total: progress(total - left, total))
        with closing(sqlite3.connect(target, isolation_level=None)) as copied:
            copied.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            raise LedgerFull(f"The disk is full; {target} was not written.", "Make room, then retry.") from error
        raise LedgerUnavailable(f"{source} cannot be copied: {error}.", "Check the disk, then retry.") from error
    with target.open("rb") as file:
        os.fsync(file.fileno())


def kept_evidence(ledger: Path) -> dict[str, EvidenceStored]:
    """What a log says is kept beside it, by digest: what was stored, and not erased. Errors: LedgerUnavailable."""
    kept: dict[str, EvidenceStored] = {}
    for (line,) in _fetch(ledger, EXHIBITS):
        data = VOCABULARY.event(line).data
        if isinstance(data, EvidenceStored):
            kept[data.digest] = data
        elif isinstance(data, EvidenceErased):
            kept.pop(data.digest, None)
    return kept


def was_erased(ledger: Path, digest: str) -> bool:
    """Whether a log says that evidence was erased. Errors: LedgerUnavailable."""
    return bool(_fetch(ledger, ERASED, (f"evidence/{digest}",)))


def clear(path: Path, *endings: str) -> None:
    """Remove what there is of some names, `path` with an ending: files, or whole folders. Errors: OSError."""
    for ending in endings:
        stale = path.with_name(path.name + ending)
        if stale.is_dir() and not stale.is_symlink():
            rmtree(stale)
        else:
            stale.unlink(missing_ok=True)


def move(source: Path, target: Path, *endings: str) -> list[Path]:
    """Move what there is of some names, `source` with an ending, to the same of `target`; where it stands then.

    Each is synced before the next, in the order given: what comes last is the sign that all is there. Errors: OSError.
    """
    moved: list[Path] = []
    for ending in endings:
        with suppress(FileNotFoundError):
            moved.append(source.with_name(source.name + ending).rename(target.with_name(target.name + ending)))
            sync_folder(target.parent)
    sync_folder(source.parent)
    return moved


def _reader(ledger: Path, options: str = "") -> sqlite3.Connection:
    return sqlite3.connect(f"{ledger.absolute().as_uri()}?mode=ro{options}", uri=True, isolation_level=None)


def _fetch(ledger: Path, statement: str, parameters: Sequence[str] = ()) -> list[tuple[bytes]]:
    try:
        with closing(_reader(ledger)) as reader:
            return reader.execute(statement, parameters).fetchall()
    except sqlite3.Error as error:
        raise LedgerUnavailable(f"{ledger} cannot be read: {error}.", "Check the disk, then retry.") from error
