"""What a log says of its writer without waiting: newest event, waiting events, tree."""

import asyncio
from typing import cast

import pytest

from ledger.errors import Forked, LedgerUnavailable
from ledger.log import Query
from ledger.transparency.merkle import leaf_hashes
from ledger.transparency.tiles import TreeEdge
from ledger.transparency.tree import TreeLog
from tests.ledger.contract.conftest import Ledgers
from tests.support.drafts import batch_of
from tests.support.event_loop import run


def test_the_newest_event_is_the_head_as_soon_as_an_append_is_answered(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            assert log.newest == (0, 0)
            for count in (1, 300):
                appended = await log.append(batch_of(count, f"n{count}-"))
                assert log.newest.position == appended[-1].position
                assert log.newest == await log.head()

    run(scenario())


def test_accepted_events_wait_until_they_are_committed(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            assert log.waiting_events == 0
            appends = [asyncio.ensure_future(log.append(batch_of(5, f"w{number}-"))) for number in range(3)]
            await asyncio.sleep(0)
            assert log.waiting_events == 15
            await asyncio.gather(*appends)
            assert log.broken is None
        assert log.waiting_events == 0

    run(scenario())


def test_a_log_that_lost_events_refuses_appends_until_it_is_opened_again(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place = ledgers.place()
        async with ledgers.open(place) as opened:
            log = cast(TreeLog, opened)
            await log.append(batch_of(1, "a"))
            log.refuse_appends(Forked("2 events were signed, and the ledger has 1.", appends=False))
            assert log.broken is not None
            with pytest.raises(LedgerUnavailable, match=r"has 1\. Nothing is signed or appended"):
                await log.append(batch_of(1, "b"))
            assert (await log.head()).position == 1
        async with ledgers.open(place) as again:
            assert (await again.append(batch_of(1, "b")))[0].position == 2

    run(scenario())


def test_i7_the_tree_covers_every_size_that_is_awaited(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as opened:
            log = cast(TreeLog, opened)
            assert (await log.wait_for_tree(0)).size == 0
            for size in (1, 300, 900):
                await log.append(batch_of(size - log.newest.position, f"t{size}-"))
                edge = await log.wait_for_tree(size)
                assert edge == TreeEdge().grow(leaf_hashes((await log.read(Query(limit=size))).lines))[0]
                assert log.edge == edge

    run(scenario())
