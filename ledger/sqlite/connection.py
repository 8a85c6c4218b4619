"""Opening SQLite on a thread of its own, so that whoever gives up while it opens leaves no thread behind."""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import aiosqlite

from ledger.threads import Result, wait_until_done

ROWS_FETCHED = 64
"""Rows that a cursor takes over at a time."""

_Asked = ParamSpec("_Asked")


class SqliteConnection(aiosqlite.Connection):
    """aiosqlite's connection, whose thread also takes work of several statements in one visit."""

    async def run(
        self,
        work: Callable[Concatenate[sqlite3.Connection, _Asked], Result],
        *args: _Asked.args,
        **kwargs: _Asked.kwargs,
    ) -> Result:
        """What a function of SQLite's own connection gives, called on its thread."""
        visit = self._execute(work, self._conn, *args, **kwargs)  # type: ignore[no-untyped-call]
        found: Result = await wait_until_done(asyncio.ensure_future(visit))
        return found


async def connect(database: str | Path, **options: Any) -> SqliteConnection:  # noqa: ANN401 - those of sqlite3.connect
    """A connection. Errors: sqlite3.Error.

    One whose opening is cancelled (Ctrl-C at the start of a command) is waited for and closed: its thread would else
    report to an event loop that is no more.
    """
    opening = asyncio.ensure_future(_opened(database, options))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        (connection,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(connection, SqliteConnection):
            await connection.close()
        raise


async def _opened(database: str | Path, options: dict[str, Any]) -> SqliteConnection:
    connection = await SqliteConnection(partial(sqlite3.connect, database, **options), ROWS_FETCHED)
    assert isinstance(connection, SqliteConnection)
    return connection
