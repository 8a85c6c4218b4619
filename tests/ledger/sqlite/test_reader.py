"""A reader in its own connection: beside the writer, after it, and never changing a byte of the file."""

import asyncio
import hashlib
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from ledger.errors import LedgerUnavailable, NotFound
from ledger.log import Query
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader, _where
from tests.api.verify.sealed_ledger import alter
from tests.support.drafts import batch_of, recorded
from tests.support.event_loop import collect, run


@asynccontextmanager
async def writing(path: Path) -> AsyncIterator[SqliteLog]:
    log = await SqliteLog.open(path)
    try:
        yield log
    finally:
        await log.close()


@asynccontextmanager
async def reading(path: Path) -> AsyncIterator[SqliteReader]:
    reader = await SqliteReader.open(path)
    try:
        yield reader
    finally:
        await reader.close()


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def test_a_reader_beside_the_writer_sees_what_is_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with writing(path) as log, reading(path) as reader:
            assert (await reader.head()).position == 0
            assert (await reader.read(Query())).lines == []
            for number in range(1, 6):
                await log.append([recorded()])
                assert await reader.head() == await log.head()
                assert list((await reader.read(Query())).positions) == list(range(1, number + 1))
            assert (await reader.read(Query())) == (await log.read(Query()))

    run(scenario())


def test_a_reader_follows_another_connections_writer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with writing(path) as log, reading(path) as reader:
            await log.append(batch_of(3, "old"))
            seen = asyncio.create_task(collect(reader, Query(limit=2), 9))
            for number in range(3):
                await log.append(batch_of(2, f"new{number}-"))
            assert await seen == (await log.read(Query())).lines

    run(scenario())


def test_a_reader_opens_where_no_log_and_no_index_lie_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with writing(path) as log:
            await log.append(batch_of(10))
            lines = (await log.read(Query())).lines
        assert not beside(path, "-wal").exists()
        assert not beside(path, "-shm").exists()
        before = digest(path)
        async with reading(path) as reader:
            assert (await reader.read(Query())).lines == lines
            assert (await reader.head()).position == 10
        assert digest(path) == before
        async with writing(path) as log:
            assert (await log.head()).position == 10
            assert (await log.read(Query())).lines == lines

    run(scenario())


def test_i8_a_reader_never_checkpoints(tmp_path: Path) -> None:
    """Of a writer that died, the write-ahead log is left; a reader reads from it and leaves it where it is."""
    path, left = tmp_path / "ledger.db", tmp_path / "left.db"

    async def scenario() -> None:
        async with writing(path) as log:
            await log.append(batch_of(50))
            for suffix in ("", "-wal"):
                shutil.copyfile(beside(path, suffix), beside(left, suffix))
            lines = (await log.read(Query())).lines
        before = digest(left), digest(beside(left, "-wal"))
        for _ in range(2):
            async with reading(left) as reader:
                assert (await reader.read(Query())).lines == lines
        assert (digest(left), digest(beside(left, "-wal"))) == before

    run(scenario())


def test_i8_a_reader_that_closes_last_leaves_the_writers_files(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with reading_after_writing(path) as reader:
            before = digest(path)
            assert (await reader.head()).position == 2
        assert digest(path) == before
        async with writing(path) as log:
            (placed,) = await log.append([recorded()])
            assert placed.position == 3

    run(scenario())


@asynccontextmanager
async def reading_after_writing(path: Path) -> AsyncIterator[SqliteReader]:
    """A reader that outlives the writer it was opened beside."""
    log = await SqliteLog.open(path)
    await log.append(batch_of(2))
    reader = await SqliteReader.open(path)
    assert (await reader.head()).position == 2
    await log.close()
    try:
        yield reader
    finally:
        await reader.close()


@pytest.mark.parametrize(
    "statement", ["DELETE FROM events", "CREATE TABLE t (x)", "PRAGMA user_version = 9", "DROP TRIGGER events_kept"]
)
def test_a_readers_connection_cannot_write(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with reading_after_writing(path) as reader:
            with pytest.raises(LedgerUnavailable, match="readonly"):
                await reader._fetch(statement, ())

    run(scenario())


@pytest.mark.parametrize("query", [Query(), Query(order="desc"), Query(after=1, before=4), Query(limit=3)])
def test_a_run_that_lacks_an_event_is_not_given_as_if_it_had_it(tmp_path: Path, query: Query) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with writing(path) as log:
            await log.append(batch_of(5))
        alter(path, "DELETE FROM events WHERE position = 3")
        async with reading(path) as reader:
            with pytest.raises(LedgerUnavailable, match="lacks events"):
                await reader.read(query)
            assert list((await reader.read(Query(after=3))).positions) == [4, 5]
            assert (await reader.read(Query(after=9))).positions == []

    run(scenario())


def test_a_closed_reader_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with reading_after_writing(path) as reader:
            pass
        with pytest.raises(LedgerUnavailable, match="cannot be read"):
            await reader.head()
        with pytest.raises(LedgerUnavailable):
            await reader.recorded_at(1)
        assert [page async for page in reader.follow(Query())] == []

    run(scenario())


def test_a_position_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with reading_after_writing(path) as reader:
            for position in (0, 3, -1):
                with pytest.raises(NotFound, match=f"Position {position} is not in the log. It ends at 2."):
                    await reader.recorded_at(position)

    run(scenario())


@pytest.mark.parametrize("streams", [1, 256, 2_000])
def test_streams_are_found_by_their_index_however_many_there_are(tmp_path: Path, streams: int) -> None:
    path, subjects = tmp_path / "ledger.db", tuple(f"decision/{number}" for number in range(streams))

    async def scenario() -> None:
        async with writing(path) as log:
            await log.append([recorded()])
        where, parameters = _where(Query(subjects=subjects, before=9))
        statement = f"EXPLAIN QUERY PLAN SELECT line FROM events WHERE {where} ORDER BY position LIMIT 1000"
        with closing(sqlite3.connect(path)) as connection:
            plan = [row[3] for row in connection.execute(statement, parameters)]
        assert "INDEX sqlite_autoindex_events_1 (subject=?)" in plan[0]

    run(scenario())
