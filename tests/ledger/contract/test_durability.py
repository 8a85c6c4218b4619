"""I4: what was acknowledged is on disk, as seen from outside the process that wrote it."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from tests.support.drafts import batch_of, recorded
from tests.support.event_loop import run
from tests.support.paths import ROOT

ENDLESS = """
import asyncio, sys
from pathlib import Path
from ledger.sqlite.log import SqliteLog
from tests.support.drafts import recorded

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]))
    async def post(agent):
        number = 0
        while True:
            number += 1
            batch = [recorded(id=f"{agent}.{number}.{part}") for part in range(3)]
            for placed in await log.append(batch):
                print(placed.position, placed.id, flush=True)
    await asyncio.gather(*(post(agent) for agent in range(8)))

asyncio.run(main())
"""


def seen_from_outside(path: Path) -> list[tuple[int, bytes]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT position, line FROM events ORDER BY position").fetchall()


def copy_of(path: Path, number: int) -> Path:
    """The file and its write-ahead log as they lie there at this instant."""
    copy = path.with_name(f"copy{number}.db")
    shutil.copyfile(path, copy)
    shutil.copyfile(path.with_name(path.name + "-wal"), copy.with_name(copy.name + "-wal"))
    return copy


def test_i4_an_acknowledged_event_is_in_the_files(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        log = await SqliteLog.open(path)
        for number in range(1, 6):
            await log.append([recorded(), recorded()])
            outside, copied = seen_from_outside(path), seen_from_outside(copy_of(path, number))
            assert [position for position, _ in outside] == list(range(1, 2 * number + 1))
            assert [line for _, line in outside] == (await log.read(Query())).lines
            assert copied == outside
        await log.close()

    run(scenario())


def test_i4_the_answer_follows_the_sync(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        settings = [
            await log._writer.connection.execute_fetchall(f"PRAGMA {name}") for name in ("synchronous", "journal_mode")
        ]
        await log.close()
        assert [list(rows) for rows in settings] == [[(2,)], [("wal",)]]

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("acknowledged", [1, 100])
def test_i4_what_was_acknowledged_survives_the_death_of_the_process(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "ledger.db"
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(acknowledged)]
        process.kill()
        lines += process.stdout.read().splitlines(keepends=True)
    answered = {int(position): name for position, name in (line.split() for line in lines if line.endswith("\n"))}
    assert len(answered) >= acknowledged

    async def scenario() -> None:
        reader = await SqliteReader.open(path)
        head = (await reader.head()).position
        await reader.close()
        log = await SqliteLog.open(path)
        assert (await log.head()).position == head
        kept = dict(zip((await log.read(Query(limit=head))).positions, await ids(log, head), strict=True))
        assert sorted(kept) == list(range(1, head + 1))
        assert answered.items() <= kept.items()
        assert head % 3 == 0
        (placed,) = await log.append([recorded()])
        assert placed.position == head + 1
        await log.close()

    run(scenario())


async def ids(log: SqliteLog, limit: int) -> list[str]:
    rows = await log._fetch("SELECT id FROM events ORDER BY position LIMIT ?", (limit,))
    return [row[0] for row in rows]


def test_i4_a_checkpoint_loses_nothing(tmp_path: Path) -> None:
    """The write-ahead log moves into the file while readers look on."""
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        log = await SqliteLog.open(path)
        await log._writer.connection.execute_fetchall("PRAGMA wal_autocheckpoint = 10")
        reader = await SqliteReader.open(path)
        for number in range(20):
            await asyncio.gather(*(log.append(batch_of(20, f"{number}.{part}.")) for part in range(5)))
            assert (await reader.head()).position == 100 * (number + 1)
        lines = (await reader.read(Query(limit=2000))).lines
        assert lines == [line for _, line in seen_from_outside(path)]
        assert len(lines) == 2000
        await reader.close()
        await log.close()
        assert [line for _, line in seen_from_outside(path)] == lines

    run(scenario())
