"""I8: one writer, in any process. The error for a second writer names the holder of the lock."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ledger.errors import LedgerLocked
from ledger.sqlite.lock import WriterLock, holder_of, lock_path
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.reader import SqliteReader
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.paths import ROOT

ADDRESS = "http://127.0.0.1:8765"
WRITER = """
import asyncio, sys
from pathlib import Path
from ledger.sqlite.log import SqliteLog

async def main():
    log = await SqliteLog.open(Path(sys.argv[1]), address=sys.argv[2] or None)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await log.close()
    print("closed", flush=True)

asyncio.run(main())
"""


@contextmanager
def writer(path: Path, address: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the ledger open until the test stops it."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), address],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


def refusal(path: Path) -> LedgerLocked:
    with pytest.raises(LedgerLocked) as caught:
        run(SqliteLog.open(path))
    return caught.value


async def append_one(path: Path) -> int:
    log = await SqliteLog.open(path)
    try:
        (placed,) = await log.append([recorded()])
    finally:
        await log.close()
    return placed.position


@pytest.mark.slow
def test_i8_a_second_process_is_reported_the_pid_and_the_address(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with writer(path, ADDRESS) as process:
        error = refusal(path)
        assert (error.pid, error.address) == (process.pid, ADDRESS)
        assert str(process.pid) in error.detail
        assert f"--url {ADDRESS}" in error.advice
        holder = holder_of(path)
        assert holder is not None
        assert (holder.pid, holder.address) == (process.pid, ADDRESS)


@pytest.mark.slow
def test_i8_a_holder_without_an_address_is_reported_by_its_pid(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with writer(path) as process:
        error = refusal(path)
        assert (error.pid, error.address) == (process.pid, None)
        assert error.advice == "Wait until it is done, or stop it first."


@pytest.mark.slow
def test_i8_the_lock_is_free_after_the_holder_closes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with writer(path) as process:
        output, _ = process.communicate("\n")
        assert output == "closed\n"
    assert holder_of(path) is None
    assert run(append_one(path)) == 1


@pytest.mark.slow
def test_i8_the_lock_is_free_after_the_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with writer(path) as process:
        process.kill()
        process.wait()
        assert run(append_one(path)) == 1


def test_i8_within_one_process_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        log = await SqliteLog.open(tmp_path / "ledger.db")
        with pytest.raises(LedgerLocked):
            await SqliteLog.open(tmp_path / "ledger.db")
        (placed,) = await log.append([recorded()])
        await log.close()
        assert placed.position == 1

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True], ids=["folder", "file"])
def test_i8_a_link_names_the_same_lock(tmp_path: Path, hard: bool) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    path = folder / "ledger.db"
    run(append_one(path))
    if hard:
        link = tmp_path / "link.db"
        link.symlink_to(path)
    else:
        (tmp_path / "link").symlink_to(folder)
        link = tmp_path / "link" / "ledger.db"
    with writer(path) as process:
        assert refusal(link).pid == process.pid
    assert run(append_one(link)) == 2


@pytest.mark.slow
def test_readers_need_no_lock(tmp_path: Path) -> None:
    async def head(path: Path) -> int:
        reader = await SqliteReader.open(path)
        try:
            return (await reader.head()).position
        finally:
            await reader.close()

    path = tmp_path / "ledger.db"
    with writer(path):
        assert run(head(path)) == 0


def test_releasing_twice_touches_no_other_file(tmp_path: Path) -> None:
    ledger, other = tmp_path / "ledger.db", tmp_path / "other"
    lock = WriterLock.acquire(ledger, ADDRESS)
    lock.release()
    with other.open("w+b") as file:
        file.write(b"precious")
        file.flush()
        lock.release()
        assert other.read_bytes() == b"precious"
    assert lock_path(ledger).read_bytes() == b""


def test_an_unreadable_lock_file_names_nobody(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    assert holder_of(ledger) is None
    lock = WriterLock.acquire(ledger)
    lock_path(ledger).write_bytes(b"{")
    with pytest.raises(LedgerLocked, match="by another process") as caught:
        WriterLock.acquire(ledger)
    assert caught.value.pid is None
    lock.release()
