"""I1 and I2 are held by the tables themselves, against everyone who may write into them."""

import pytest
from msgspec import structs

from ledger.postgres.create import create_ledger, grant_access
from ledger.postgres.log import PostgresLog
from tests.ledger.postgres.places import empty_place, new_ledger, schema_sql
from tests.support.drafts import batch_of, recorded, thought
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow

ROW = "(SELECT max(position) FROM events) + 1, '/agents/x', 'new', 'decision/new', 1, 'decision.recorded.v1', 0"
NOW = "(SELECT recorded_us FROM head)"


def insert(values: str) -> str:
    return f"INSERT INTO events SELECT {values}, ''::bytea"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("UPDATE events SET line = ''", "events never change"),
        ("DELETE FROM events", "events never change"),
        ("TRUNCATE events", "events never change"),
        ("UPDATE tiles SET hashes = hashes", "tiles never change"),
        ("DELETE FROM tiles", "tiles never change"),
        ("TRUNCATE tiles", "tiles never change"),
        ("DELETE FROM head", "head never change"),
        ("TRUNCATE head", "head never change"),
        ("INSERT INTO head (one, shape) VALUES (false, 1)", "violates check constraint"),
        (insert(f"{ROW}, {NOW}").replace("+ 1", "+ 2"), "positions 5 to 5 of 1 events do not follow the head, 3"),
        (insert(f"{ROW}, {NOW}").replace("+ 1", "+ 0"), "duplicate key value"),
        (insert(f"{ROW}, {NOW} - 1"), "recordedtime decreases"),
        (insert(f"{ROW}, {NOW}").replace("'decision/new', 1", "'decision/new', 2"), "is not the next of its stream"),
        (insert(f"{ROW}, {NOW}").replace("'decision/new', 1", "'decision/a', 2"), "duplicate key value"),
        (insert(f"{ROW}, {NOW}").replace("'decision/new', 1", "'decision/a', 4"), "is not the next of its stream"),
        (insert(f"{ROW}, {NOW}").replace("'decision/new', 1", "'decision/new', 0"), "is not the next of its stream"),
        (insert(f"{ROW}, {NOW}").replace("'/agents/x', 'new'", "'/agents/demo', 'first'"), "duplicate key value"),
    ],
)
def test_the_tables_refuse_what_breaks_the_order_or_changes_the_past(postgres: Primary, sql: str, said: str) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        log = await PostgresLog.open(place, durability="local")
        first = recorded("a", id="first", source="/agents/demo")
        await log.append([first, thought("a"), recorded("b")])
        with pytest.raises(AssertionError, match=said):
            schema_sql(place, postgres, sql)
        assert (await log.head()).position == 3
        await log.append([recorded("c")])
        await log.close()

    run(scenario())


def test_an_insert_that_follows_moves_the_head(postgres: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(postgres)
        log = await PostgresLog.open(place, durability="local")
        await log.append(batch_of(3))
        schema_sql(place, postgres, insert(f"{ROW}, {NOW} + 5"))
        assert schema_sql(place, postgres, f"SELECT position, recorded_us - {NOW} FROM head") == "4|0"
        assert (await log.append([recorded("c")]))[0].position == 5
        await log.close()

    run(scenario())


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE head SET position = 7",
        "UPDATE head SET recorded_us = 0",
        "ALTER TABLE events DISABLE TRIGGER ALL",
        "DROP TRIGGER events_unchanged ON events",
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "SET session_replication_role = replica",
        "DELETE FROM notes",
        "DROP TABLE tiles",
        "CREATE TABLE more (x int)",
    ],
)
def test_the_service_role_appends_and_can_do_nothing_else(postgres: Primary, sql: str) -> None:
    async def scenario() -> None:
        owned = empty_place(postgres)
        role = f"service_{owned.database}"
        postgres.psql(f"CREATE ROLE {role} LOGIN")
        await create_ledger(owned)
        await grant_access(owned, role)
        place = structs.replace(owned, user=role)
        log = await PostgresLog.open(place, durability="local")
        await log.append(batch_of(300))
        await log.close()
        with pytest.raises(AssertionError, match=r"permission denied|must be owner"):
            schema_sql(place, postgres, sql, role)
        assert schema_sql(place, postgres, "SELECT position FROM head") == "300"

    run(scenario())
