"""The URI with which a reader opens a SQLite database, also where no file can be made beside it.

A reader of a write-ahead log needs its index, a file ending in -shm, which SQLite makes beside the database. On a
read-only file system, or in a folder without write permission, it cannot be made. The database alone can still be read,
as one that nobody writes (`immutable`), if its write-ahead log is empty or missing.
"""

import os
from pathlib import Path

from ledger.errors import LedgerUnusable
from ledger.sqlite.wal_check import HEADER_BYTES


def read_only_uri(path: Path) -> str:
    """Return the URI of a database for a reader, who never writes or checkpoints it.

    Errors: LedgerUnusable, if the write-ahead log has content and its index cannot be made.
    """
    uri = f"{path.absolute().as_uri()}?mode=ro"
    database = path.resolve()
    if os.access(database.parent, os.W_OK) or _beside(database, "-shm").exists():
        return uri
    if _size(_beside(database, "-wal")) > HEADER_BYTES:
        raise LedgerUnusable(
            f"{path} cannot be read where it is: its newest events are in {database.name}-wal, and SQLite cannot make"
            f" the index of that file, because {database.parent} cannot be written.",
            f"Make the folder writable, or copy both files to one that is: cp {database} {database}-wal FOLDER.",
        )
    return uri if _size(_beside(database, "-journal")) else f"{uri}&immutable=1"


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def can_be_written(ledger: Path) -> bool:
    """Return whether a ledger file exists and can be written, and its folder too, where SQLite makes files."""
    return ledger.is_file() and os.access(ledger, os.W_OK) and os.access(ledger.resolve().parent, os.W_OK)
