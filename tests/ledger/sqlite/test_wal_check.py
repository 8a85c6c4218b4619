"""A write-ahead log that was left behind: whole, torn where nobody was answered, or damaged."""

import asyncio
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import LedgerDamaged
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.wal_check import find_damage
from tests.support.drafts import recorded

APPENDS = 12
SEED = 11


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """A ledger file and its log, as a kill leaves them."""
    path = tmp_path_factory.mktemp("killed") / "ledger.db"

    async def scenario() -> tuple[bytes, bytes]:
        log = await SqliteLog.open(path)
        for number in range(APPENDS):
            await log.append([recorded(f"d-{number}-{place}") for place in range(3)])
        left = path.read_bytes(), Path(f"{path}-wal").read_bytes()
        await log.close()
        return left

    return asyncio.run(scenario())


def left(folder: Path, ledger: bytes, wal: bytes) -> Path:
    path = folder / "ledger.db"
    path.write_bytes(ledger)
    Path(f"{path}-wal").write_bytes(wal)
    return path


def test_a_flipped_bit_anywhere_is_damage_and_the_ledger_is_not_opened(
    killed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    ledger, wal = killed
    places = [*range(0, 32, 5), len(wal) - 1, *(rng.randrange(len(wal)) for _ in range(60))]
    for place in places:
        flipped = bytearray(wal)
        flipped[place] ^= 1 << rng.randrange(8)
        assert find_damage(left(tmp_path, ledger, bytes(flipped))) is not None, place
    path = tmp_path / "ledger.db"
    with pytest.raises(LedgerDamaged, match=r"-wal is damaged: frame \d+ \(page \d+ of the ledger\)"):
        asyncio.run(SqliteLog.open(path))


def test_a_log_that_is_whole_or_torn_is_not_damaged(killed: tuple[bytes, bytes], tmp_path: Path) -> None:
    ledger, wal = killed
    assert find_damage(left(tmp_path, ledger, wal)) is None
    for end in range(0, len(wal), 9_973):
        assert find_damage(left(tmp_path, ledger, wal[:end])) is None, end
        assert find_damage(left(tmp_path, ledger, wal[:end] + bytes(len(wal) - end))) is None, end


def test_half_a_new_header_loses_nothing_where_the_file_has_what_stands_behind_it(
    killed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    ledger, wal = killed
    path = left(tmp_path, ledger, wal)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(FULL)")
        moved = path.read_bytes()
    begun = wal[:15] + bytes([wal[15] ^ 1]) + wal[16:]  # how often logs were begun: the last of what a torn write left
    assert find_damage(left(tmp_path, ledger, begun)) is not None
    assert find_damage(left(tmp_path, moved[:-1] + b"x", begun)) is not None
    path = left(tmp_path, moved, begun)
    assert find_damage(path) is None

    async def head() -> int:
        log = await SqliteLog.open(path)
        await log.close()
        return log.newest.position

    assert asyncio.run(head()) == 3 * APPENDS


def test_more_than_a_bit_is_damage_where_a_commit_and_more_stand_behind_it(
    killed: tuple[bytes, bytes], tmp_path: Path
) -> None:
    ledger, wal = killed
    middle = len(wal) // 2
    path = left(tmp_path, ledger, wal[:middle] + bytes(100) + wal[middle + 100 :])
    found = find_damage(path)
    assert found is not None
    assert found.frame == (middle - 32) // (4096 + 24) + 1
