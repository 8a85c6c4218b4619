"""Opening a file that is not a ledger: it is refused and not changed, and no handle stays open."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ledger.errors import LedgerUnusable
from ledger.log import Query
from ledger.sqlite.lock import holder_of
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from ledger.sqlite.schema import APPLICATION_ID, SCHEMA_VERSION
from tests.support.drafts import recorded
from tests.support.event_loop import run


def refusal(path: Path, opener: type[SqliteLog | SqliteReader], match: str) -> LedgerUnusable:
    """Why a file is refused; no connection's thread and no lock is left behind."""
    before = path.read_bytes() if path.is_file() else None
    threads = set(threading.enumerate())
    with pytest.raises(LedgerUnusable, match=match) as caught:
        run(opener.open(path))
    for thread in set(threading.enumerate()) - threads:
        thread.join()
    assert holder_of(path) is None
    assert (path.read_bytes() if path.is_file() else None) == before
    return caught.value


BOTH = pytest.mark.parametrize("opener", [SqliteLog, SqliteReader])


@BOTH
@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as one" * 20, b"hello"])
def test_a_file_that_is_no_database(tmp_path: Path, opener: type[SqliteLog], content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refusal(path, opener, "notes.txt (is not a ledger|cannot be used): file is not a database")


@BOTH
@pytest.mark.parametrize("application", [0, 7])
def test_a_database_of_another_application(tmp_path: Path, opener: type[SqliteLog], application: int) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"CREATE TABLE mine (x); PRAGMA application_id = {application};")
    error = refusal(path, opener, "other.db is not a ledger")
    assert error.advice == "Name another file with --ledger."


@BOTH
@pytest.mark.parametrize(
    ("version", "message", "advice"),
    [
        (SCHEMA_VERSION + 1, "written by a newer Tallystick", "Upgrade this one."),
        (SCHEMA_VERSION - 1, "before version 0.1.0", "Open it once with version 0.1.0"),
    ],
)
def test_a_ledger_of_another_version(
    tmp_path: Path, opener: type[SqliteLog], version: int, message: str, advice: str
) -> None:
    path = tmp_path / "ledger.db"
    run(open_and_close(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    assert refusal(path, opener, message).advice.startswith(advice)


@BOTH
def test_a_file_cut_short(tmp_path: Path, opener: type[SqliteLog]) -> None:
    path = tmp_path / "ledger.db"
    run(open_and_close(path))
    path.write_bytes(path.read_bytes()[:5000])
    refusal(path, opener, "malformed|not a ledger|cannot be used")


def test_a_writer_refuses_a_ledger_without_its_table(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"CREATE TABLE other (x); PRAGMA application_id = {APPLICATION_ID};"
            f"PRAGMA user_version = {SCHEMA_VERSION}; PRAGMA journal_mode = WAL;"
        )
    refusal(path, SqliteLog, "the table events is missing")


def test_a_writer_refuses_a_missing_folder_and_makes_nothing(tmp_path: Path) -> None:
    refusal(tmp_path / "no" / "ledger.db", SqliteLog, "There is no folder")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_refuses_a_missing_file_and_makes_nothing(tmp_path: Path) -> None:
    error = refusal(tmp_path / "ledger.db", SqliteReader, "There is no ledger at")
    assert "--ledger" in error.advice
    assert list(tmp_path.iterdir()) == []


@BOTH
def test_a_folder_is_no_ledger(tmp_path: Path, opener: type[SqliteLog]) -> None:
    (tmp_path / "ledger.db").mkdir()
    refusal(tmp_path / "ledger.db", opener, "is not a file that can be written|There is no ledger")
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_a_lock_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ledger.db.lock").mkdir()
    refusal(tmp_path / "ledger.db", SqliteLog, "cannot be locked: .*ledger.db.lock")


def test_a_reader_refuses_an_empty_file_and_a_writer_begins_in_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    refusal(path, SqliteReader, "is not a ledger")
    run(open_and_close(path))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


@pytest.mark.parametrize("name", ["a b.db", "what?mode=rw.db", "100%25#1.db", "übung.db", "it's.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    run(open_and_close(path, events=2))
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted([name, f"{name}.lock"])

    async def positions() -> list[int]:
        reader = await SqliteReader.open(path)
        try:
            return list((await reader.read(Query())).positions)
        finally:
            await reader.close()

    assert run(positions()) == [1, 2]


def test_the_sqlite_connections_end_with_the_log(tmp_path: Path) -> None:
    threads = set(threading.enumerate())
    run(open_and_close(tmp_path / "ledger.db", events=1))
    left = [thread for thread in set(threading.enumerate()) - threads if "asyncio" not in thread.name]
    for thread in left:
        thread.join()
    assert not any(thread.is_alive() for thread in left)


async def open_and_close(path: Path, events: int = 0) -> None:
    log = await SqliteLog.open(path)
    await asyncio.gather(*(log.append([recorded(f"d{number}")]) for number in range(events)))
    await log.close()
