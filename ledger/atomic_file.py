"""Files that are there whole or not at all, after a power cut, too."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from ledger.errors import LedgerFull, LedgerUnavailable

PART = ".part"
"""Ends the name of a file that is not whole yet."""


def replace_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """A file in place of what was there, synced with its name; of a mode, where one is named.

    Errors: OSError; then what was there still is.
    """
    write_whole(path, data, mode=mode)
    sync_folder(path.parent)


def write_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """A file in place of what was there, synced but for its name. Errors: OSError; then what was there still is."""
    part = path.with_name(path.name + PART)
    try:
        with part.open("wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder. Errors: OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def failure(error: OSError, what: str, done: str) -> LedgerFull | LedgerUnavailable:
    """The error that a file which could not be written is told by: `what` failed, and what was not `done`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LedgerFull(f"The disk is full; {done}.", "Make room, then retry.")
    return LedgerUnavailable(f"{what} failed: {error}; {done}.", "Check the disk, then retry.")
