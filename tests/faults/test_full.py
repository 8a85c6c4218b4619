"""A full disk (I3, I4), at a small dose."""

import random
from pathlib import Path

import pytest

from ledger.errors import LedgerFull, LedgerUnavailable
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from tests.faults import full
from tests.support.drafts import recorded
from tests.support.event_loop import run

pytestmark = pytest.mark.slow

PAGE_BYTES = 4096
INDEXED_BYTES = 4_030 * (PAGE_BYTES + 24)
"""A write-ahead log that is almost as long as the first page of its index tells: 4,062 frames."""


@pytest.fixture(autouse=True)
def fit() -> None:
    if why := full.unfit():
        pytest.skip(why)


def test_a_full_disk_refuses_whole_batches_and_is_recovered_from(tmp_path: Path) -> None:
    held, figures = full.run(tmp_path, 2, random.Random(7), lambda done, total: None)
    assert held, figures
    assert int(figures["refused"]) > 0


def test_an_index_of_the_write_ahead_log_that_finds_no_space_stops_no_writer(tmp_path: Path) -> None:
    """SQLite writes a transaction, and then the index of where it is: that is the smaller file, and seldom grows."""

    async def scenario(place: Path) -> None:
        disk, wal, index = (full.Disk(place), place / "ledger.db-wal", place / "ledger.db-shm")
        log = await SqliteLog.open(place / "ledger.db")
        while wal.stat().st_size < INDEXED_BYTES:
            await log.append([recorded(text="x" * 20_000)])
        errors, posted = set(), 0
        while index.stat().st_size == 8 * PAGE_BYTES:
            for pages in range(100):
                disk.leave(pages * PAGE_BYTES)
                try:
                    await log.append([recorded(f"d{posted}", id=f"d{posted}")])
                    break
                except (LedgerFull, LedgerUnavailable) as error:
                    errors.add(type(error))
            posted += 1
        assert errors == {LedgerFull, LedgerUnavailable}
        assert log.broken is None
        page = await log.read(Query(limit=100_000))
        ids = [line.split(b'"id":"', 1)[1].split(b'"')[0].decode() for line in page.lines]
        assert list(page.positions) == list(range(1, len(ids) + 1))
        assert ids[-posted:] == [f"d{number}" for number in range(posted)]
        await log.close()

    with full.small_disk(tmp_path) as place:
        run(scenario(place))
