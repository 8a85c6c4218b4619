"""The tokens of a ledger in PostgreSQL: a note that all nodes share, and that a server reads again and again.

A token that is made or revoked anywhere is accepted or refused by every node within REFRESH_S and a read. While the
database does not answer, the last list is used; before the first answer every caller is refused. A ledger requires a
token once it has the note, also an empty one. The folder of a node remembers that, too.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

from api.service.open_log import open_notes
from api.service.server_log import log
from api.token_store import TokenStore
from ledger.errors import LedgerUnavailable, LedgerUnusable
from ledger.place import Place
from ledger.shared_notes import NoteRow, Notes
from ledger.token_file import TokenFile

TOKENS = "tokens"
"""The name of the note."""

REFRESH_S = 1.0
"""Seconds between two checks whether another process has changed the list."""

TRIES = 20
"""Tries to change the list, while other processes change it."""

_Result = TypeVar("_Result")


class SharedTokens:
    """The list of tokens of one ledger in a database, as this process read it last."""

    def __init__(self, place: Place) -> None:
        self.name = f"The list of tokens of {place}"
        self.public_name = "The list of tokens in the database"
        self._place = place
        self._row: NoteRow | None = None
        self._was_read = False
        self._fault: str | None = None
        self._node = TokenFile(place.path)

    def version(self) -> NoteRow | None:
        """Return the note; None if there is none. Errors: LedgerUnusable, if it was never read."""
        if not self._was_read:
            detail = f"{self.name} was not read yet: {self._fault or 'the database did not answer'}"
            raise LedgerUnusable(detail, "Check the servers of the database.")
        return self._row

    def read(self) -> bytes:
        """Return the list. Errors: FileNotFoundError, if there is none."""
        if self._row is None:
            raise FileNotFoundError(self.name)
        return self._row.content

    def remembers(self) -> bool:
        """Return whether the ledger had a token. Errors: LedgerUnusable."""
        return self._row is not None or self._node.remembers()

    def remember(self) -> None:
        """Remember in the folder of this node that the ledger has tokens. Errors: LedgerUnusable, OSError."""
        self._node.remember()

    def update(self, change: Callable[[], bytes | None]) -> None:
        """Replace the list: for commands, which have no event loop. Errors: LedgerUnavailable, those of `change`."""
        asyncio.run(self._with_notes(lambda notes: self._update(notes, change)))

    def load(self) -> None:
        """Read the list: for commands, which have no event loop. Errors: LedgerUnusable, LedgerUnavailable."""
        asyncio.run(self._with_notes(self.refresh))

    async def refresh(self, notes: Notes) -> None:
        """Read the list, if it has changed. Errors: LedgerUnavailable."""
        self._row = await notes.read(TOKENS, self._row)
        self._was_read = True

    async def follow(self, notes: Notes) -> None:
        """Read the list again and again. While the database does not answer, keep the last one."""
        while True:
            try:
                await self.refresh(notes)
                self._fault = None
            except LedgerUnavailable as error:
                if self._fault is None:
                    log.warning("tokens not read", reason=str(error), advice="The last list is used until then.")
                self._fault = error.detail
            await asyncio.sleep(REFRESH_S)

    async def _update(self, notes: Notes, change: Callable[[], bytes | None]) -> None:
        for _ in range(TRIES):
            await self.refresh(notes)
            content = change()
            if content is None:
                return
            seen = None if self._row is None else self._row.version
            if await notes.compare_and_set(TOKENS, seen, content):
                await self.refresh(notes)
                return
        raise LedgerUnavailable(f"{self.name} was changed by others at each try.", "Retry.", written=False)

    async def _with_notes(self, work: Callable[[Notes], Awaitable[_Result]]) -> _Result:
        assert self._place.database is not None
        notes = await open_notes(self._place.database)
        try:
            return await work(notes)
        finally:
            await notes.close()


def tokens_of(place: Place) -> TokenStore:
    """Return the tokens of a ledger. Those in a database are not read yet."""
    return TokenStore(place.path if place.database is None else SharedTokens(place))


def open_tokens(place: Place) -> TokenStore:
    """Return the tokens of a ledger for a command. Errors: LedgerUnusable, LedgerUnavailable."""
    tokens = tokens_of(place)
    if isinstance(tokens.storage, SharedTokens):
        tokens.storage.load()
    return tokens


async def follow_tokens(opened: AsyncExitStack, tokens: TokenStore, notes: Notes) -> None:
    """Read the tokens of an open ledger in a database, and keep them up to date until `opened` is closed."""
    shared = tokens.storage
    assert isinstance(shared, SharedTokens)
    try:
        await shared.refresh(notes)
    except LedgerUnavailable as error:
        log.warning("tokens not read", reason=str(error), advice="Every caller is refused until then.")
    following = asyncio.create_task(shared.follow(notes), name="tokens")
    opened.callback(following.cancel)
