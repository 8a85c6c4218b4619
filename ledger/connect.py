"""Opening SQLite on a thread of its own, so that whoever gives up while it opens leaves no thread behind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiosqlite


async def connect(database: str | Path, **options: Any) -> aiosqlite.Connection:  # noqa: ANN401 - those of sqlite3.connect
    """A connection. Errors: sqlite3.Error.

    One whose opening is cancelled (Ctrl-C at the start of a command) is waited for and closed: its thread would else
    report to an event loop that is no more.
    """
    opening = asyncio.ensure_future(_opened(database, options))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        (connection,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(connection, aiosqlite.Connection):
            await connection.close()
        raise


async def _opened(database: str | Path, options: dict[str, Any]) -> aiosqlite.Connection:
    return await aiosqlite.connect(database, **options)


@asynccontextmanager
async def transaction(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """Statements that are committed together, or not at all. Errors: sqlite3.Error."""
    await connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        await connection.commit()
    except BaseException:
        await connection.rollback()
        raise
