"""Every implementation of `Log`, each with the means to open it."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol

import pytest

from events.registry import VOCABULARY
from events.vocabulary import Vocabulary
from ledger.clock import Clock, system_clock
from ledger.log import Log
from ledger.place import DatabasePlace, Host
from ledger.postgres.create import create_ledger
from ledger.postgres.log import PostgresLog
from ledger.sqlite.log import SqliteLog
from tests.support.postgres import PostgresServer, new_database

Place = Path | DatabasePlace


class Implementation(Protocol):
    """One way to keep a log. `writers` says how many processes may have it open for writing."""

    writers: Literal["one", "many"]

    def place(self) -> Place:
        """A place where there is no ledger yet."""
        ...

    async def open(self, place: Place, vocabulary: Vocabulary, clock: Clock) -> Log:
        """Open a ledger; create it if it does not exist."""
        ...


class OnSqlite:
    """Files in a folder."""

    writers: Literal["one", "many"] = "one"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()

    def place(self) -> Place:
        return self._folder / f"{next(self._numbers)}.db"

    async def open(self, place: Place, vocabulary: Vocabulary, clock: Clock) -> Log:
        assert isinstance(place, Path)
        return await SqliteLog.open(place, vocabulary=vocabulary, clock=clock)


class OnPostgres:
    """Ledgers in a database of a real server."""

    writers: Literal["one", "many"] = "many"

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._database = new_database(server)
        self._numbers = itertools.count()
        self._made: set[str] = set()

    def place(self) -> Place:
        host = Host(self._server.host, self._server.port)
        ledger = f"l{next(self._numbers)}"
        return DatabasePlace(hosts=(host,), database=self._database, ledger=ledger, user="postgres")

    async def open(self, place: Place, vocabulary: Vocabulary, clock: Clock) -> Log:
        assert isinstance(place, DatabasePlace)
        if place.ledger not in self._made:
            self._made.add(place.ledger)
            await create_ledger(place)
        return await PostgresLog.open(place, durability="local", vocabulary=vocabulary, clock=clock)


class Ledgers:
    """Opens ledgers of one implementation, each in a place of its own."""

    def __init__(self, implementation: Implementation) -> None:
        self.writers = implementation.writers
        self.place: Callable[[], Place] = implementation.place
        self._open = implementation.open

    async def begin(
        self, place: Place | None = None, vocabulary: Vocabulary = VOCABULARY, clock: Clock = system_clock
    ) -> Log:
        """Open a ledger that the caller closes."""
        return await self._open(place or self.place(), vocabulary, clock)

    @asynccontextmanager
    async def open(
        self, place: Place | None = None, vocabulary: Vocabulary = VOCABULARY, clock: Clock = system_clock
    ) -> AsyncIterator[Log]:
        """Open a ledger, and close it at the end."""
        log = await self.begin(place, vocabulary, clock)
        try:
            yield log
        finally:
            await log.close()


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def ledgers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ledgers:
    if request.param == "sqlite":
        return Ledgers(OnSqlite(tmp_path_factory.mktemp("ledgers")))
    return Ledgers(OnPostgres(request.getfixturevalue("postgres")))
