"""When to move the write-ahead log into the file, and the flush of a log that an earlier process left.

SQLite can move the log into the file automatically, but then reports no failed sync. So the writer requests each move
and gets its error. To know when to move, it checks whether the log has a current frame at a given length.

Source: SQLite's file format, "The Write-Ahead Log".
"""

import asyncio
import os
import sqlite3
from pathlib import Path

import aiosqlite

from ledger.atomic_file import sync_folder
from ledger.sqlite.wal_check import FRAME_HEADER_BYTES, FRAME_SALTS, HEADER_BYTES, PAGE_BYTES, SALTS

MOVE_WAL = "PRAGMA wal_checkpoint(PASSIVE)"
"""Move the frames that no reader needs from the write-ahead log into the file; do not wait for readers."""

FLUSH_WAL = "PRAGMA wal_checkpoint(FULL)"
"""Move all frames; wait for readers, as long as SQLite waits for a lock."""

STEP_BYTES = 1 << 20
"""Bytes written again at a time."""


class WalGauge:
    """Measures one write-ahead log while a connection keeps it open. Errors of all methods: OSError."""

    def __init__(self, ledger: Path) -> None:
        self._descriptor: int | None = os.open(f"{ledger.resolve()}-wal", os.O_RDONLY | os.O_CLOEXEC)

    def reaches(self, pages: int) -> bool:
        """Return whether the log has so many current pages; frames from before its last restart have other salts."""
        assert self._descriptor is not None, "closed"
        header = os.pread(self._descriptor, HEADER_BYTES, 0)
        page_bytes = int.from_bytes(header[PAGE_BYTES])
        last = HEADER_BYTES + (pages - 1) * (FRAME_HEADER_BYTES + page_bytes)
        frame = os.pread(self._descriptor, FRAME_HEADER_BYTES, last)
        return len(frame) == FRAME_HEADER_BYTES and frame[FRAME_SALTS] == header[SALTS]

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None


async def flush_wal(writer: aiosqlite.Connection, path: Path) -> None:
    """Make the events of an opened file durable before anyone reads them. Errors: sqlite3.Error, OSError.

    After a failed sync, events of an earlier writer may be in the machine's memory alone: no later sync of the log
    writes them, because the kernel counts them as written. Moving them into the file writes them. (A reader of an older
    state delays that; the delayed frames are then moved together with later ones. If the disk is full, the log's bytes
    are written again in place instead.)
    The folder is synced here because SQLite does not report a failed sync of it, after which a new file may lose its
    name in a crash.
    """
    try:
        await writer.execute_fetchall(FLUSH_WAL)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_FULL:
            raise
        await asyncio.to_thread(_write_again, Path(f"{path.resolve()}-wal"))
    sync_folder(path.resolve().parent)


def _write_again(path: Path) -> None:
    """Write the bytes of a file again and sync them, which needs no disk space. Errors: OSError."""
    with path.open("r+b", buffering=0) as file:
        offset = 0
        while data := os.pread(file.fileno(), STEP_BYTES, offset):
            offset += os.pwrite(file.fileno(), data, offset)
        os.fsync(file.fileno())
