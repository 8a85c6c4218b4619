"""Giving up while a file opens leaves nothing behind: no thread, no word from one."""

import asyncio
import threading
from pathlib import Path

import pytest

from ledger.sqlite.connection import connect


@pytest.mark.parametrize("turns", range(6))
def test_an_opening_that_is_cancelled_is_closed(tmp_path: Path, turns: int) -> None:
    """However far it has come by then."""

    async def give_up() -> None:
        opening = asyncio.ensure_future(connect(tmp_path / "t.db"))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            _ = await opening

    before = set(threading.enumerate())
    asyncio.run(give_up())
    for thread in set(threading.enumerate()) - before:
        thread.join()
