"""A database that lost events while a node had it open: the node stays, says so, and appends and signs nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import NamedTuple

import pytest

from ledger.errors import LedgerUnavailable
from ledger.log import Query
from ledger.place import DatabasePlace
from ledger.postgres import log
from ledger.postgres.log import PostgresLog
from ledger.transparency.tree import LogTree
from tests.ledger.postgres.places import copy_database, empty_place, new_ledger, replace_database, schema_sql
from tests.support.drafts import batch_of, recorded
from tests.support.event_loop import run
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.slow

WIDE = 300
"""More events than a tile has."""


class Older(NamedTuple):
    """A node that knows `WIDE` events or more, and a database that has two of them."""

    place: DatabasePlace
    node: PostgresLog


@asynccontextmanager
async def older_copy(server: PostgresServer, events: int = WIDE) -> AsyncIterator[Older]:
    place = await new_ledger(server)
    first = await PostgresLog.open(place, durability="local")
    await first.append(batch_of(2))
    await first.close()
    copy = copy_database(server, place)
    node = await PostgresLog.open(place, durability="local")
    try:
        await node.append(batch_of(events, "lost"))
        await asyncio.to_thread(replace_database, server, place, copy)
        yield Older(place, node)
    finally:
        await node.close()


def test_a_node_that_knows_lost_events_appends_nothing_and_reads_go_on(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "CHECK_S", 0.05)

    async def scenario() -> None:
        async with older_copy(postgres) as (place, node):
            with pytest.raises(LedgerUnavailable, match=f"knows {WIDE + 2} events, and the ledger has 2. Nothing is"):
                await node.append([recorded("new")])
            assert node.broken is not None
            assert (await node.head()).position == 2
            assert len((await node.read(Query())).lines) == 2
            other = await PostgresLog.open(place, durability="local")
            await other.append(batch_of(WIDE + 5, "other"))
            await other.close()
            with pytest.raises(LedgerUnavailable):  # also when the log has grown past what was lost
                await node.append([recorded("new")])
            assert schema_sql(place, postgres, "SELECT count(*) FROM events WHERE id = 'new'") == "0"
        again = await PostgresLog.open(place, durability="local")
        await again.append([recorded("new")])
        await again.close()

    run(scenario())


def test_the_tree_of_lost_events_is_not_computed(postgres: PostgresServer) -> None:
    async def scenario() -> None:
        async with older_copy(postgres) as (_, node):
            with pytest.raises(LedgerUnavailable, match="were expected, and the ledger has"):
                await node.wait_for_tree(0)
            for size in (3, WIDE + 2):
                with pytest.raises(LedgerUnavailable, match="were expected, and the ledger has"):
                    await LogTree(node).edge(size)

    run(scenario())


def test_a_node_goes_on_reading_when_a_ledger_that_was_missing_is_back(postgres: PostgresServer) -> None:
    """The database was restored to a moment before the ledger was made."""

    async def scenario() -> None:
        place = await new_ledger(postgres)
        first = await PostgresLog.open(place, durability="local")
        await first.append(batch_of(2))
        await first.close()
        copy = copy_database(postgres, place)
        node = await PostgresLog.open(place, durability="local")
        try:
            follower = node.follow(Query())
            async with aclosing(follower):  # type: ignore[type-var]
                assert len((await anext(follower)).lines) == 2
                await asyncio.to_thread(replace_database, postgres, place, empty_place(postgres))
                with pytest.raises(LedgerUnavailable, match="has no ledger"):
                    await anext(follower)
            with pytest.raises(LedgerUnavailable, match="has no ledger"):
                await node.append([recorded("new")])
            await asyncio.to_thread(replace_database, postgres, place, copy)
            assert (await node.append([recorded("new")]))[0].position == 3
        finally:
            await node.close()

    run(scenario())
