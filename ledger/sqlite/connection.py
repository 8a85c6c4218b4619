"""SQLite connections on their own threads; a cancelled caller leaves no thread behind."""

import asyncio
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import aiosqlite

from ledger.threads import Result, wait_until_done

ROWS_FETCHED = 64
"""Rows that a cursor fetches at a time."""

_Args = ParamSpec("_Args")


class SqliteConnection(aiosqlite.Connection):
    """aiosqlite's connection, which can also run a function of several statements in one call to its thread."""

    async def run(
        self,
        work: Callable[Concatenate[sqlite3.Connection, _Args], Result],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> Result:
        """Run a function on the connection's thread, with SQLite's own connection, and return its result."""
        call = self._execute(work, self._conn, *args, **kwargs)  # type: ignore[no-untyped-call]
        result: Result = await wait_until_done(asyncio.ensure_future(call))
        return result

    def run_inline(
        self,
        work: Callable[Concatenate[sqlite3.Connection, _Args], Result],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> Result:
        """Run a function on the caller's thread, while the connection's own thread has nothing to do.

        The connection must have been opened with `check_same_thread=False`.
        """
        assert self._conn is not None
        return work(self._conn, *args, **kwargs)


async def connect(database: str | Path, **options: Any) -> SqliteConnection:  # noqa: ANN401 - those of sqlite3.connect
    """Open a connection. Errors: sqlite3.Error.

    If the caller is cancelled meanwhile (Ctrl-C at the start of a command), wait for the connection and close it:
    otherwise its thread would report to an event loop that is closed.
    """
    opening = asyncio.ensure_future(_open(database, options))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        (connection,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(connection, SqliteConnection):
            await connection.close()
        raise


async def _open(database: str | Path, options: dict[str, Any]) -> SqliteConnection:
    connection = await SqliteConnection(partial(sqlite3.connect, database, **options), ROWS_FETCHED)
    assert isinstance(connection, SqliteConnection)
    return connection
