"""Notes of a ledger that all its nodes share: small named contents that only a compare-and-set changes."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ledger.log import LogReader


class NoteRow(NamedTuple):
    """A stored note. Its version is 1 at first, and one more with each change."""

    version: int
    content: bytes


class Notes(Protocol):
    """The notes of one ledger. Errors of all methods: LedgerUnavailable."""

    @property
    def log(self) -> LogReader:
        """Return a reader of the ledger's log, on the same connections."""
        ...

    def reconnect(self) -> None:
        """Read from now on through new connections, of which a stale server confirms none."""
        ...

    async def read(self, name: str, known: NoteRow | None = None) -> NoteRow | None:
        """Return a note; None if there is none. `known` is returned, and not sent again, if it is still stored."""
        ...

    async def read_durable(self, name: str) -> NoteRow | None:
        """Return a note of which every server that a commit waits for has this content."""
        ...

    async def compare_and_set(
        self, name: str, seen: int | None, content: bytes, *, last: tuple[int, bytes] | None = None
    ) -> bool:
        """Replace a note of the version `seen`, None if there is none; return whether that was done.

        When it returns, the change is durable, and with it every event that is visible to it. `last` is a position and
        the line there: without that line in the log nothing is changed.
        Errors: LedgerUnavailable, if the change was not confirmed: whether it is made is then unknown.
        """
        ...

    async def change(
        self, changes: Mapping[str, tuple[int | None, bytes]], *, last: tuple[int, bytes] | None = None
    ) -> bool:
        """Replace several notes as `compare_and_set` does, all or none: `changes` has version and content by name.

        Errors: as `compare_and_set`.
        """
        ...
