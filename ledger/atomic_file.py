"""Atomic file writes: a file is written whole or not at all, even across a power failure."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ledger.errors import LedgerFull, LedgerUnavailable
from ledger.private_file import FILE_MODE, refuse_link

PART = ".part"
"""Suffix of a file's name while it is being written."""


def replace_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Write a file as `write_whole` does, and sync its folder. Errors: as there; the previous file is kept."""
    write_whole(path, data, mode=mode)
    sync_folder(path.parent)


def write_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content and sync it, but not its folder; only one process may write it at a time.

    A killed attempt leaves `PATH.part`, which the next one removes. `mode` sets the permissions before anything is
    written; by default a file keeps its own, and a new one is private.
    Errors: LedgerUnusable, if the path is a symbolic link; OSError; the previous file is kept.
    """
    refuse_link(path)
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else FILE_MODE
    part = path.with_name(path.name + PART)
    part.unlink(missing_ok=True)
    _write(path, part, data, mode=mode)


def write_text(path: Path, text: str, *, exclusive: bool = False) -> None:
    """Write a text as UTF-8, as `write_whole` does; several processes may write the same file at the same time.

    It is a file that the user names, so that its permissions follow the umask.
    Errors: OSError; FileExistsError, if `exclusive` and the file exists.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}{PART}")
    part.unlink(missing_ok=True)
    _write(path, part, text.encode(), exclusive=exclusive)


def _write(path: Path, part: Path, data: bytes, *, mode: int | None = None, exclusive: bool = False) -> None:
    try:
        with part.open("xb") as file:  # exclusive: a symbolic link there is not followed
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if exclusive:
            os.link(part, path)
            part.unlink()
        else:
            part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names of its files survive a power failure. Errors: OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_error(error: OSError, action: str, outcome: str) -> LedgerFull | LedgerUnavailable:
    """Return the error to raise for a failed write: `action` names the write, `outcome` says what state remains."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return LedgerFull(f"The disk is full; {outcome}.", "Free disk space, then retry.")
    return LedgerUnavailable(f"{action} failed: {error}; {outcome}.", "Check the disk, then retry.")
