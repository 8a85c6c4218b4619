"""The length of a write-ahead log, as its headers tell it, against what SQLite says when it moves it."""

import asyncio
import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import LedgerUnusable
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.wal_flush import WalGauge
from tests.support.drafts import batch_of


def pages(gauge: WalGauge) -> int:
    return next(number for number in range(1, 10_000) if not gauge.reaches(number)) - 1


def test_the_gauge_counts_the_pages_of_a_log_and_of_the_one_begun_after_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA wal_autocheckpoint = 0")
        database.execute("CREATE TABLE t (x)")
        gauge = WalGauge(ledger)
        found = []
        for rows in (500, 20, 3):
            database.execute("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)"
                             " INSERT INTO t SELECT hex(zeroblob(900)) FROM n", (rows,))  # fmt: skip
            counted = pages(gauge)
            _, length, moved = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            found.append(counted)
            assert counted == length == moved
        assert found[0] > found[1] > found[2] > 0
        gauge.close()


def test_a_log_is_moved_into_the_file_when_it_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.sqlite.log.CHECKPOINT_PAGES", 30)

    async def grow() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        for number in range(200):
            await log.append(batch_of(1, prefix=f"{number}-"))
        await log.close()

    async def size() -> int:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        for number in range(200):
            await log.append(batch_of(1, prefix=f"again-{number}-"))
        length = (tmp_path / "ledger.db-wal").stat().st_size
        await log.close()
        return length

    asyncio.run(grow())
    assert asyncio.run(size()) < 60 * 4_200


def test_a_lock_file_that_cannot_be_written_is_no_ledger_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", fail)
    with pytest.raises(LedgerUnusable, match=r"ledger\.db\.lock cannot be written"):
        asyncio.run(SqliteLog.open(tmp_path / "ledger.db"))
