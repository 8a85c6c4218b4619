"""How long the write-ahead log of a ledger file is, told from its headers, and what in it must be moved at once.

SQLite moves the log into the file by itself, but tells nobody when a sync fails there. So the writer asks for it, and
is told; to know when, it looks whether a frame that far in the log is one of the log as it is now.

Source: SQLite's file format, "The Write-Ahead Log".
"""

import asyncio
import os
import sqlite3
from pathlib import Path

import aiosqlite

MOVE_WAL = "PRAGMA wal_checkpoint(PASSIVE)"
"""Move what no reader needs from the write-ahead log into the file; wait for nobody."""

SETTLE_WAL = "PRAGMA wal_checkpoint(FULL)"
"""Move all of it; wait for readers, as long as SQLite waits for a lock."""

STEP_BYTES = 1 << 20
HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_PAGE_BYTES, _SALTS, _FRAME_SALTS = slice(8, 12), slice(16, 24), slice(8, 16)


class WalGauge:
    """The length of one write-ahead log, while a connection keeps it open. Errors of all: OSError."""

    def __init__(self, ledger: Path) -> None:
        self._descriptor: int | None = os.open(f"{ledger.resolve()}-wal", os.O_RDONLY | os.O_CLOEXEC)

    def reaches(self, pages: int) -> bool:
        """Whether there are so many pages in it; those of a log that was begun anew since have other salts."""
        assert self._descriptor is not None, "closed"
        header = os.pread(self._descriptor, HEADER_BYTES, 0)
        page_bytes = int.from_bytes(header[_PAGE_BYTES], "big")
        last = HEADER_BYTES + (pages - 1) * (FRAME_HEADER_BYTES + page_bytes)
        frame = os.pread(self._descriptor, FRAME_HEADER_BYTES, last)
        return len(frame) == FRAME_HEADER_BYTES and frame[_FRAME_SALTS] == header[_SALTS]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


async def settle(writer: aiosqlite.Connection, path: Path) -> None:
    """Put what was found on the disk before anybody is told of it. Errors: sqlite3.Error, OSError.

    After a failed sync the log may hold, in the memory of the machine alone, events of a writer that is gone: no later
    sync of the log writes them, as they count as written. Moved into the file they are. (A reader that is in the midst
    of an older state holds that up; then what it holds up is moved with what comes next. And where the disk is full,
    the log is written again where it is, byte for byte.)
    And SQLite tells nobody when the sync of the folder fails, without which a new file may have no name after a crash.
    """
    try:
        await writer.execute_fetchall(SETTLE_WAL)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
            raise
        await asyncio.to_thread(_write_again, Path(f"{path.resolve()}-wal"))
    folder = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write_again(path: Path) -> None:
    """Write the bytes of a file once more, and sync them: it needs no room. Errors: OSError."""
    with path.open("r+b", buffering=0) as file:
        at = 0
        while data := os.pread(file.fileno(), STEP_BYTES, at):
            at += os.pwrite(file.fileno(), data, at)
        os.fsync(file.fileno())
