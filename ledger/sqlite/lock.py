"""The writer's lock (I8: one writer at a time). It is a kernel lock (flock), so it ends with its process."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Self

import msgspec

from ledger.errors import LedgerLocked, LedgerUnusable
from ledger.private_file import open_private, read_private
from tallystick.shapes.parts import LockHolder

HOLDER_BYTES_MAX = 4_096
"""One lock file."""

INSTANCE_BYTES = 16
"""Random bytes in the name of a server."""


class WriterLock:
    """The exclusive right to write one ledger file, held until `release`."""

    def __init__(self, descriptor: int, instance: str | None) -> None:
        self._descriptor: int | None = descriptor
        self.instance = instance

    @classmethod
    def acquire(cls, ledger: Path, address: str | None = None) -> Self:
        """Lock a ledger file. Errors: LedgerLocked, with the holder's pid and address, LedgerUnusable."""
        try:
            descriptor = open_private(lock_path(ledger), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise LedgerUnusable(f"{ledger} cannot be locked: {error}.", "Check the folder's permissions.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            holder = holder_of(ledger)
            raise LedgerLocked(
                str(ledger), holder.pid if holder else None, holder.address if holder else None
            ) from None
        instance = token_hex(INSTANCE_BYTES) if address is not None else None
        try:
            # not by O_TRUNC: before the lock is held, the file names another process
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(LockHolder(os.getpid(), address, instance)), 0)
        except OSError as error:
            os.close(descriptor)
            raise LedgerUnusable(f"{lock_path(ledger)} cannot be written: {error}.", "Check the disk.") from error
        return cls(descriptor, instance)

    def release(self) -> None:
        """Release the lock. The file remains: without it, two processes could lock two files of the same name."""
        if self._descriptor is None:
            return
        with suppress(OSError):  # a stale entry does no harm: only a process that cannot get the lock reads it
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        self._descriptor = None


def lock_path(ledger: Path) -> Path:
    """Return the path of the lock file beside a ledger file; the same for all symbolic links to the ledger."""
    ledger = ledger.resolve()
    return ledger.with_name(ledger.name + ".lock")


def holder_of(ledger: Path) -> LockHolder | None:
    """Return the process that the lock file names; None if it names none."""
    try:
        return msgspec.json.decode(read_private(lock_path(ledger), HOLDER_BYTES_MAX), type=LockHolder)
    except (OSError, LedgerUnusable, msgspec.DecodeError):
        return None


def find_writer(ledger: Path) -> LockHolder | None:
    """Return the process that holds the lock of a ledger file now; None if no process holds it.

    The lock file may name a process that ended without releasing the lock. To find that out, this takes a shared lock
    for an instant.
    """
    holder = holder_of(ledger)
    if holder is None:
        return None
    with os.fdopen(open_private(lock_path(ledger), os.O_RDONLY), "rb") as file:
        try:
            # shared: two processes that ask at once must not take each other for the writer
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return holder
        return None
