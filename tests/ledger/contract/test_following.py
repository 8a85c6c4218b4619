"""Following: every event once, in order, from anywhere, until the log closes."""

import asyncio

import pytest

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.log import Log, Query
from tests.ledger.contract.conftest import Ledgers
from tests.support.drafts import (
    batch_of,
    recorded,
    reviewed,
    thought,
)
from tests.support.event_loop import collect, run


def positions(lines: list[bytes]) -> list[int]:
    return [VOCABULARY.stored(line).position for line in lines]


def story(count: int) -> list[list[Draft]]:
    """Decisions that are thought over and reviewed, by two agents; three events a batch."""
    return [
        [
            recorded(f"d{number}", source="/agents/even" if number % 2 == 0 else "/agents/odd"),
            thought(f"d{number}"),
            reviewed(f"d{number}"),
        ]
        for number in range(count)
    ]


async def post(log: Log, batches: list[list[Draft]]) -> None:
    """Half of them one after another, the rest at once."""
    half = len(batches) // 2
    for batch in batches[:half]:
        await log.append(batch)
    await asyncio.gather(*(log.append(batch) for batch in batches[half:]))


def test_many_followers_from_anywhere_see_every_event_once_and_in_order(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await post(log, story(10))
            starts = [0, 0, 1, 7, 29, 30, 31, 45, 59]
            limits = [1, 2, 3, 7, 100, 1000, 5, 4, 6]
            followers = [
                asyncio.create_task(collect(log, Query(after=after, limit=limit), 60 - after))
                for after, limit in zip(starts, limits, strict=True)
            ]
            await asyncio.sleep(0)
            await log.append([recorded("between")])
            await post(log, [[recorded(f"late{number}")] for number in range(29)])
            for after, lines in zip(starts, await asyncio.gather(*followers), strict=True):
                seen = positions(lines)
                assert seen == list(range(after + 1, seen[-1] + 1))
                assert seen[-1] >= 60

    run(scenario())


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        (Query(types=("decision.reviewed.v1",)), [3 * number for number in range(1, 21)]),
        (Query(types=("decision.reviewed.v1", "decision.thought.v1"), after=50), [51, 53, 54, 56, 57, 59, 60]),
        (Query(source="/agents/odd"), list(range(4, 61, 6))),
        (Query(subjects=("decision/d3", "decision/d19")), [10, 11, 12, 58, 59, 60]),
        (Query(subjects=("decision/d19",), types=("decision.recorded.v1",)), [58]),
        (Query(order="desc", limit=7), list(range(1, 61))),
    ],
    ids=["type", "types", "source", "subjects", "subject and type", "order"],
)
def test_a_filtered_follower_sees_what_fits_and_nothing_else(ledgers: Ledgers, query: Query, wanted: list[int]) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            follower = asyncio.create_task(collect(log, query, len(wanted)))
            for batch in story(20):
                await log.append(batch)
            assert positions(await follower) == wanted

    run(scenario())


def test_a_follower_that_starts_beyond_the_head_waits_for_its_place(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append(batch_of(5))
            follower = asyncio.create_task(collect(log, Query(after=8), 2))
            for number in range(5):
                await log.append([recorded(f"late{number}")])
            assert positions(await follower) == [9, 10]

    run(scenario())


def test_a_follower_sees_nothing_that_was_refused(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            follower = asyncio.create_task(collect(log, Query(), 10))
            batches = [[recorded(f"d{number // 2}")] for number in range(20)]
            answers = await asyncio.gather(*(log.append(batch) for batch in batches), return_exceptions=True)
            assert sum(isinstance(answer, list) for answer in answers) == 10
            lines = await follower
            assert positions(lines) == list(range(1, 11))
            assert lines == (await log.read(Query())).lines

    run(scenario())


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 20])
def test_a_follower_ends_when_the_log_closes(ledgers: Ledgers, turns: int) -> None:
    """Whatever it is doing at that moment: waiting, reading a page, or asking for the next."""

    async def to_the_end(log: Log, query: Query) -> list[int]:
        return [position async for page in log.follow(query) for position in page.positions]

    async def scenario() -> None:
        log = await ledgers.begin()
        await log.append(batch_of(200))
        queries = [Query(limit=limit, after=after) for limit in (1, 3, 1000) for after in (0, 150, 200)]
        followers = [asyncio.create_task(to_the_end(log, query)) for query in queries]
        for _ in range(turns):
            await asyncio.sleep(0)
        await log.close()
        for query, seen in zip(queries, await asyncio.gather(*followers), strict=True):
            assert seen == list(range(query.after + 1, query.after + 1 + len(seen)))

    run(scenario())


def test_a_follower_that_leaves_disturbs_nobody(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            stays = asyncio.create_task(collect(log, Query(), 6))
            leaves = [asyncio.create_task(collect(log, Query(), 100)) for _ in range(5)]
            await log.append(batch_of(3))
            for follower in leaves:
                follower.cancel()
            await log.append(batch_of(3, "more"))
            assert positions(await stays) == [1, 2, 3, 4, 5, 6]
            gone = await asyncio.gather(*leaves, return_exceptions=True)
            assert all(isinstance(one, asyncio.CancelledError) for one in gone)

    run(scenario())


def test_a_new_follower_of_a_closed_log_ends_at_once(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        log = await ledgers.begin()
        await log.append(batch_of(3))
        await log.close()
        assert [page async for page in log.follow(Query())] == []

    run(scenario())
