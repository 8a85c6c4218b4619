"""Every implementation of `Log`, each with the means to open it."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from events import VOCABULARY, Vocabulary
from ledger import Clock, Log, SqliteLog, system_clock


async def open_sqlite(path: Path, vocabulary: Vocabulary, clock: Clock) -> Log:
    return await SqliteLog.open(path, vocabulary=vocabulary, clock=clock)


class Implementation(NamedTuple):
    """One way to keep a log."""

    open: Callable[[Path, Vocabulary, Clock], Awaitable[Log]]
    queue_limit: str
    """The name of its limit on waiting events, so that a test can make it small."""


IMPLEMENTATIONS = {"sqlite": Implementation(open_sqlite, "ledger.sqlite.log.QUEUE_EVENTS_MAX")}


class Ledgers:
    """Opens ledgers of one implementation, each in a place of its own."""

    def __init__(self, implementation: Implementation, folder: Path) -> None:
        self.queue_limit = implementation.queue_limit
        self._open = implementation.open
        self._folder = folder
        self._numbers = itertools.count()

    def place(self) -> Path:
        """A place where there is no ledger yet."""
        return self._folder / f"{next(self._numbers)}.db"

    async def begin(
        self, place: Path | None = None, vocabulary: Vocabulary = VOCABULARY, clock: Clock = system_clock
    ) -> Log:
        """Open a ledger that the caller closes."""
        return await self._open(place or self.place(), vocabulary, clock)

    @asynccontextmanager
    async def open(
        self, place: Path | None = None, vocabulary: Vocabulary = VOCABULARY, clock: Clock = system_clock
    ) -> AsyncIterator[Log]:
        """Open a ledger, and close it at the end."""
        log = await self.begin(place, vocabulary, clock)
        try:
            yield log
        finally:
            await log.close()


@pytest.fixture(scope="session", params=IMPLEMENTATIONS.values(), ids=list(IMPLEMENTATIONS))
def ledgers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ledgers:
    implementation: Implementation = request.param
    return Ledgers(implementation, tmp_path_factory.mktemp("ledgers"))
