"""After the primary may have been replaced, nothing that the server before said is returned."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import asyncpg
import pytest

from ledger.errors import LedgerUnavailable
from ledger.place import DatabasePlace, Host
from ledger.postgres import reader as readers
from ledger.postgres.connection import LedgerConnection
from ledger.postgres.reader import PostgresReader
from tests.support.event_loop import run

PLACE = DatabasePlace(hosts=(Host("n1", 5432), Host("n2", 5432)), database="d", ledger="acme")


class Connection:
    """A connection that is named by its number, and needs no server."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.server = PLACE.hosts[0]
        self.closed = False

    def is_closed(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections of a reader are numbered from 1, and each try follows the one before at once."""
    made: list[Connection] = []

    async def connect(_place: DatabasePlace, _timeout_s: float) -> Connection:
        made.append(Connection(len(made) + 1))
        return made[-1]

    monkeypatch.setattr(readers, "connect_durably", connect)
    monkeypatch.setattr(readers, "PAUSE_S", 0.0)


def number_of(connection: LedgerConnection) -> int:
    return cast(Connection, connection).number


async def number_at_once(connection: LedgerConnection) -> int:
    return number_of(connection)


def held(until: asyncio.Event) -> Callable[[LedgerConnection], Awaitable[int]]:
    """Return work that the server answers when it continues."""

    async def work(connection: LedgerConnection) -> int:
        await until.wait()
        return number_of(connection)

    return work


def test_a_connection_is_used_again() -> None:
    async def scenario() -> None:
        reader = PostgresReader(PLACE)
        assert [await reader.run(number_at_once) for _ in range(3)] == [1, 1, 1]

    run(scenario())


def test_what_was_being_read_when_the_primary_was_replaced_is_read_again() -> None:
    async def scenario() -> None:
        reader, continues = PostgresReader(PLACE), asyncio.Event()
        reading = asyncio.create_task(reader.run(held(continues)))
        await asyncio.sleep(0)
        reader.disconnect()
        continues.set()
        assert await reading == 2

    run(scenario())


def test_what_was_committed_then_holds() -> None:
    async def scenario() -> None:
        reader, continues = PostgresReader(PLACE), asyncio.Event()
        committing = asyncio.create_task(reader.run(held(continues), commits=True))
        await asyncio.sleep(0)
        reader.disconnect()
        continues.set()
        assert await committing == 1
        assert await reader.run(number_at_once) == 2, "the connection is not used again"

    run(scenario())


@pytest.mark.parametrize("lost", [ConnectionResetError("reset"), asyncpg.AdminShutdownError("shut down")])
def test_when_a_connection_is_lost_the_others_are_not_used_again(lost: Exception) -> None:
    async def scenario() -> None:
        reader, continues = PostgresReader(PLACE), asyncio.Event()
        both = [asyncio.create_task(reader.run(held(continues))) for _ in range(2)]
        await asyncio.sleep(0)
        continues.set()
        assert await asyncio.gather(*both) == [1, 2]

        async def lose_old(connection: LedgerConnection) -> int:
            if number_of(connection) <= 2:
                raise lost
            return number_of(connection)

        assert await reader.run(lose_old) == 3
        assert [await reader.run(number_at_once), await reader.run(number_at_once)] == [3, 3]

    run(scenario())


def test_a_parameter_that_cannot_be_encoded_replaces_no_connection() -> None:
    async def scenario() -> None:
        reader = PostgresReader(PLACE)
        assert await reader.run(number_at_once) == 1

        async def refuse(_connection: LedgerConnection) -> int:
            raise asyncpg.DataError("invalid input for query argument $1")

        generation = reader._generation
        with pytest.raises(LedgerUnavailable, match="invalid input"):
            await reader.run(refuse)
        assert reader._generation == generation

    run(scenario())
