"""The shared notes of a ledger in PostgreSQL, on connections of their own so that no long read keeps them waiting.

I4 A change counts only after a clean commit. After another outcome a new connection, behind its barrier, reads what is
   stored, and that decides.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Self, TypeVar

from ledger.errors import LedgerUnavailable
from ledger.log import LogReader
from ledger.place import DatabasePlace
from ledger.postgres.connection import LedgerConnection
from ledger.postgres.reader import PostgresReader
from ledger.postgres.schema import BARRIER
from ledger.shared_notes import NoteRow

COMMIT_S = 15.0
"""Seconds that a change may take, with all its tries. While no standby answers, a commit does not end."""

_READ = """
SELECT version, CASE WHEN version = $2 AND sha256(content) = sha256($3) THEN NULL ELSE content END
  FROM notes WHERE name = $1
"""
"""A restored database may have another content of the same version."""

_INSERT = "INSERT INTO notes (name, version, content) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING RETURNING version"

_UPDATE = "UPDATE notes SET version = version + 1, content = $3 WHERE name = $1 AND version = $2 RETURNING version"

_CONTENTS = "SELECT name, content FROM notes"

_LINE_AT = "SELECT line FROM events WHERE position = $1"


_Result = TypeVar("_Result")


class SharedNotes:
    """The notes of one ledger."""

    def __init__(self, reader: PostgresReader) -> None:
        self._reader = reader

    @classmethod
    async def open(cls, place: DatabasePlace) -> Self:
        """Open the notes of a ledger. Errors: LedgerUnusable."""
        return cls(await PostgresReader.open(place))

    @property
    def log(self) -> LogReader:
        """Return a reader of the ledger's log, on the same connections."""
        return self._reader

    def reconnect(self) -> None:
        """Read from now on through new connections, behind their barrier: a stale server confirms none."""
        self._reader.disconnect()

    async def close(self) -> None:
        """Close the connections. What is running fails."""
        await self._reader.close()

    async def read(self, name: str, known: NoteRow | None = None) -> NoteRow | None:
        """Return a note; None if there is none. Errors: LedgerUnavailable."""
        return await self._reader.run(lambda connection: _read(connection, name, known))

    async def read_durable(self, name: str) -> NoteRow | None:
        """Return a note of which every server that a commit waits for has this content. Errors: LedgerUnavailable."""

        async def work(connection: LedgerConnection) -> NoteRow | None:
            await connection.execute(BARRIER)
            row = await _read(connection, name)
            await connection.commit()
            return row

        return await self._limited(work, name)

    async def compare_and_set(
        self, name: str, seen: int | None, content: bytes, *, last: tuple[int, bytes] | None = None
    ) -> bool:
        """Replace a note of the version `seen`, None if there is none; return whether that was done.

        `last` is a position and the line there: without that line nothing is changed. The server that commits then has
        the events that this process has read, also if it is another one since.
        Errors: LedgerUnavailable, if the change was not confirmed: whether it is made is then unknown.
        """
        return await self.change({name: (seen, content)}, last=last)

    async def change(
        self, changes: Mapping[str, tuple[int | None, bytes]], *, last: tuple[int, bytes] | None = None
    ) -> bool:
        """Replace several notes as `compare_and_set` does, all or none: `changes` has version and content by name.

        Errors: as `compare_and_set`.
        """
        sent = False

        async def work(connection: LedgerConnection) -> bool:
            nonlocal sent
            await connection.execute("BEGIN")
            for name, (seen, content) in sorted(changes.items()):  # two processes lock them in one order
                parameters = (name, content) if seen is None else (name, seen, content)
                if await connection.fetchval(_INSERT if seen is None else _UPDATE, *parameters) is None:
                    stored = sent and await _are_stored(connection, changes)
                    await connection.rollback()
                    return stored
            if last is not None and await connection.fetchval(_LINE_AT, last[0]) != last[1]:
                await connection.rollback()
                return False
            sent = True
            await connection.commit()
            return True

        return await self._limited(work, min(changes))

    async def _limited(self, work: Callable[[LedgerConnection], Awaitable[_Result]], name: str) -> _Result:
        """Run a function that commits. Errors: LedgerUnavailable."""
        try:
            async with asyncio.timeout(COMMIT_S):
                return await self._reader.run(work, commits=True)
        except TimeoutError:
            raise LedgerUnavailable(
                f"{self._reader.place} did not confirm a commit within {COMMIT_S:.0f} s: whether the note {name} was "
                "changed is unknown.",
                "Check the servers and their standbys, then retry.",
            ) from None


async def _are_stored(connection: LedgerConnection, changes: Mapping[str, tuple[int | None, bytes]]) -> bool:
    """Return whether the notes are those that an unconfirmed commit of this process has written."""
    for name, (seen, content) in changes.items():
        if await _read(connection, name) != NoteRow(1 if seen is None else seen + 1, content):
            return False
    return True


async def read_contents(reader: PostgresReader) -> dict[str, bytes]:
    """Return the contents of all notes, by name; an empty one says that there is none. Errors: LedgerUnavailable."""
    rows = await reader.run(lambda connection: connection.fetch(_CONTENTS))
    return {str(name): bytes(content) for name, content in rows if content}


async def _read(connection: LedgerConnection, name: str, known: NoteRow | None = None) -> NoteRow | None:
    version, content = (None, None) if known is None else known
    row = await connection.fetchrow(_READ, name, version, content)
    if row is None:
        return None
    return known if row[1] is None else NoteRow(*row)
