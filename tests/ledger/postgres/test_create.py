"""Making and listing ledgers in a database."""

import pytest
from msgspec import structs

from ledger.errors import InvalidQuery, LedgerUnusable, Occupied
from ledger.place import Host
from ledger.postgres.create import create_ledger, list_ledgers
from ledger.postgres.log import PostgresLog
from ledger.postgres.reader import PostgresReader
from tests.ledger.postgres.places import empty_place, new_ledger, schema_sql
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow


def test_ledgers_of_one_database_know_nothing_of_each_other(postgres: Primary) -> None:
    async def scenario() -> None:
        first = await new_ledger(postgres)
        second = structs.replace(first, ledger="other")
        await create_ledger(second)
        assert await list_ledgers(first) == ["acme", "other"]
        for number, place in enumerate((first, second), 1):
            log = await PostgresLog.open(place, durability="local")
            await log.append([recorded(f"d{one}") for one in range(number)])
            await log.close()
        reader = await PostgresReader.open(second)
        assert (await reader.head()).position == 2
        await reader.close()

    run(scenario())


def test_a_ledger_is_made_once_and_for_a_role_that_exists(postgres: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        with pytest.raises(Occupied, match="exists already; nothing was overwritten"):
            await create_ledger(place)
        other = structs.replace(place, ledger="other")
        with pytest.raises(InvalidQuery, match="has no role nobody_here"):
            await create_ledger(other, grant="nobody_here")
        assert await list_ledgers(place) == ["acme"]

    run(scenario())


def test_a_ledger_that_is_not_there_is_named_with_the_advice_to_make_it(postgres: Primary) -> None:
    async def scenario() -> None:
        place = empty_place(postgres)
        for opening in (PostgresLog.open(place), PostgresReader.open(place)):
            with pytest.raises(LedgerUnusable, match=r"has no ledger acme.*tallystick ledger create"):
                await opening
        assert await list_ledgers(place) == []

    run(scenario())


def test_a_server_that_does_not_answer_is_named(postgres: Primary) -> None:
    async def scenario() -> None:
        place = structs.replace(empty_place(postgres), hosts=(Host("127.0.0.1", 1),))
        for opening in (PostgresLog.open(place), PostgresReader.open(place), list_ledgers(place)):
            with pytest.raises(LedgerUnusable, match=r"127\.0\.0\.1:1/.* cannot be opened"):
                await opening

    run(scenario())


def test_tables_of_another_shape_are_refused(postgres: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        schema_sql(place, postgres, "UPDATE head SET shape = 9")
        with pytest.raises(LedgerUnusable, match="has shape 9; this program knows 1"):
            await PostgresReader.open(place)

    run(scenario())
