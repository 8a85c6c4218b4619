"""How a page is read from tables of which the database has no statistics yet."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ledger.log import Query
from ledger.postgres.connection import LedgerConnection
from ledger.postgres.log import PostgresLog
from ledger.postgres.reader import PostgresReader
from tests.ledger.postgres.places import new_ledger, schema_sql
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow

EVENTS = 2_000


def test_a_page_is_read_in_the_order_of_the_index(postgres: Primary, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[str] = []
    fetch: Callable[..., Awaitable[Any]] = LedgerConnection.fetch

    async def explained(connection: LedgerConnection, statement: str, *parameters: object) -> object:
        if "e.line" in statement:
            rows = await fetch(connection, f"EXPLAIN {statement}", *parameters)
            plans.append("\n".join([row[0] for row in rows]))
        return await fetch(connection, statement, *parameters)

    async def scenario() -> None:
        place = await new_ledger(postgres)
        schema_sql(place, postgres, "ALTER TABLE events SET (autovacuum_enabled = off)")  # it makes the statistics
        log = await PostgresLog.open(place, durability="local")
        await log.append([recorded(f"d{number}") for number in range(EVENTS)])
        await log.close()
        reader = await PostgresReader.open(place)  # it runs only the reads of this test
        monkeypatch.setattr(LedgerConnection, "fetch", explained)
        page = await reader.read(Query(after=10, before=EVENTS + 1, limit=100))
        assert list(page.positions) == list(range(11, 111))
        assert page.more
        last = await reader.read(Query(after=EVENTS - 5, before=EVENTS + 1, limit=100))
        assert list(last.positions) == list(range(EVENTS - 4, EVENTS + 1))
        assert not last.more
        none = await reader.read(Query(after=10, before=11))
        assert (list(none.positions), none.more) == ([], False)
        await reader.close()
        assert len(plans) == 3
        assert not any("Sort" in plan for plan in plans), plans

    run(scenario())
