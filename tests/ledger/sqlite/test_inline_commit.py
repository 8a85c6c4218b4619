"""Where a group is written: on the event loop's thread while the disk is quick, else on the connection's thread."""

import sqlite3
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Self

import pytest

from ledger.clock import system_clock
from ledger.sqlite.log import SqliteLog
from ledger.sqlite.writer import AVERAGED_COMMITS, INLINE_S, STALL_FACTOR, STALL_S, DiskTimes
from tests.support.drafts import batch_of
from tests.support.event_loop import run

MEMORY = Path("/dev/shm")
"""A file system in memory, on which each sync is quick."""

APPENDS_MAX = 200_000
"""Far more appends than it takes until their thread changes, even after a stall of the machine."""


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    if not MEMORY.is_dir():
        pytest.skip("there is no file system in memory")
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


class ThreadOfAppends:
    """A log whose clock notes on which thread a group is admitted: the thread that writes a small group."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self.appended = 0
        self.log: SqliteLog

    @classmethod
    async def open(cls, folder: Path) -> Self:
        opened = cls()
        opened.log = await SqliteLog.open(folder / "ledger.db", clock=opened._clock)
        return opened

    def _clock(self) -> datetime:
        self._threads.append(threading.current_thread())
        return system_clock()

    async def append_on_loop(self) -> bool:
        """Append an event, and return whether it was written on the event loop's thread."""
        await self.log.append(batch_of(1, prefix=f"{self.appended}-"))
        self.appended += 1
        return self._threads[-1] is threading.current_thread()

    async def append_until(self, *, on_loop: bool) -> None:
        """Append until an event was written there. After a real stall, that is not at once."""
        for _ in range(APPENDS_MAX):
            if await self.append_on_loop() is on_loop:
                return
        pytest.fail("the thread never changed")


@pytest.mark.slow
def test_a_group_is_written_on_the_loop_only_while_the_disk_is_quick(quick_folder: Path) -> None:
    async def scenario() -> None:
        appends = await ThreadOfAppends.open(quick_folder)
        assert not await appends.append_on_loop(), "before a group was measured"
        await appends.append_until(on_loop=True)
        await appends.log._writer.connection.run(_slow_down)
        await appends.append_until(on_loop=False)
        assert not any([await appends.append_on_loop() for _ in range(AVERAGED_COMMITS)])
        await appends.log._writer.connection.run(sqlite3.Connection.set_trace_callback, None)
        await appends.append_until(on_loop=True)
        assert (await appends.log.head()).position == appends.appended
        await appends.log.close()

    run(scenario())


def test_a_large_group_is_written_beside_the_loop(quick_folder: Path) -> None:
    """Its admission alone takes longer than a read should wait."""
    inserting: list[threading.Thread] = []

    async def scenario() -> None:
        appends = await ThreadOfAppends.open(quick_folder)
        await appends.append_until(on_loop=True)
        note = lambda: inserting.append(threading.current_thread())  # noqa: E731
        await appends.log._writer.connection.run(sqlite3.Connection.set_progress_handler, note, 50)
        await appends.log.append(batch_of(1_000, prefix="large-"))
        assert inserting
        assert threading.current_thread() not in inserting
        await appends.append_until(on_loop=True)
        assert inserting[-1] is threading.current_thread()
        await appends.log.close()

    run(scenario())


def test_slow_groups_are_written_beside_the_loop_until_enough_were_quick() -> None:
    times = DiskTimes()
    assert not times.is_quick(0.0), "before a group was measured"
    assert _quick_after(times, INLINE_S / 4, 0.0) <= 10 * AVERAGED_COMMITS
    _add(times, 5 * INLINE_S, AVERAGED_COMMITS)
    assert not times.is_quick(0.0)
    assert _quick_after(times, INLINE_S / 4, 0.0) > AVERAGED_COMMITS


def test_stalls_hold_the_loop_for_a_hundredth_of_the_time_at_most() -> None:
    """Even if all groups between them are quick, so that their average is, too."""
    times = DiskTimes()
    _quick_after(times, INLINE_S / 4, 0.0)
    assert times.is_quick(1.0)
    times.add(2 * STALL_S, 2.0)
    times.add(STALL_S, 3.0)  # a shorter one does not end the time of the longer one
    _add(times, INLINE_S / 4, 100 * AVERAGED_COMMITS)
    assert not times.is_quick(1.9 + 2 * STALL_S * STALL_FACTOR)
    assert times.is_quick(2.1 + 2 * STALL_S * STALL_FACTOR)


def _slow_down(connection: sqlite3.Connection) -> None:
    """Make each statement, and each trigger in it, as slow as a whole group may be: then a group is too slow."""
    connection.set_trace_callback(lambda _: time.sleep(INLINE_S))


def _add(times: DiskTimes, seconds: float, count: int) -> None:
    for _ in range(count):
        times.add(seconds, 0.0)


def _quick_after(times: DiskTimes, seconds: float, now_s: float) -> int:
    """Return after how many groups of so many seconds the disk counts as quick."""
    count = 0
    while not times.is_quick(now_s):
        times.add(seconds, now_s)
        count += 1
    return count
