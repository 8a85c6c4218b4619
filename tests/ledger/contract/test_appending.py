"""Appending: many at once, versions believed, limits, and the end."""

import asyncio

import pytest

from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import BATCH_EVENTS_MAX
from events.registry import VOCABULARY
from ledger.errors import LedgerBusy, LedgerUnavailable, StreamConflict
from ledger.log import Log, Query
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.contract.conftest import Ledgers
from tests.support.drafts import batch_of, recorded, thought
from tests.support.event_loop import run

APPENDERS = 64


async def outcomes(log: Log, *batches: list[Draft]) -> list[list[AppendedEvent] | BaseException]:
    return await asyncio.gather(*(log.append(batch) for batch in batches), return_exceptions=True)


def test_exactly_one_of_many_wins_each_version(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([recorded("d")])
            for version in range(1, 11):
                believing = ([thought("d", f"{agent}", expectedversion=version)] for agent in range(APPENDERS))
                answers = await outcomes(log, *believing)
                (won,) = [answer for answer in answers if isinstance(answer, list)]
                lost = [answer for answer in answers if isinstance(answer, StreamConflict)]
                assert won[0].streamversion == version + 1
                assert len(lost) == APPENDERS - 1
                assert {(error.expected, error.found) for error in lost} == {(version, version + 1)}

    run(scenario())


def test_who_reads_and_decides_again_gets_in(ledgers: Ledgers) -> None:
    async def insist(log: Log, agent: int) -> int:
        version = 1
        while True:
            try:
                (placed,) = await log.append([thought("d", f"{agent}", id=f"{agent}", expectedversion=version)])
            except StreamConflict as error:
                version = error.found
            else:
                return placed.streamversion

    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([recorded("d")])
            versions = await asyncio.gather(*(insist(log, agent) for agent in range(APPENDERS)))
            assert sorted(versions) == list(range(2, APPENDERS + 2))
            events = VOCABULARY.events((await log.read(Query(subjects=("decision/d",)))).ndjson)
            assert [event.streamversion for event in events] == list(range(1, APPENDERS + 2))
            assert {event.id: event.streamversion for event in events[1:]} == {
                f"{agent}": version for agent, version in enumerate(versions)
            }

    run(scenario())


def test_only_one_of_many_opens_a_stream(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            answers = await outcomes(log, *([recorded("d", f"{agent}")] for agent in range(APPENDERS)))
            assert sum(isinstance(answer, list) for answer in answers) == 1
            assert (await log.head()).position == 1

    run(scenario())


def test_streams_without_a_name_get_names_of_their_own(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            answers = await asyncio.gather(*(log.append([recorded() for _ in range(500)]) for _ in range(6)))
            placed = [one for answer in answers for one in answer]
            assert len({one.subject for one in placed}) == 3000
            assert len({one.id for one in placed}) == 3000
            assert {one.streamversion for one in placed} == {1}
            name = placed[1234].subject.removeprefix("decision/")
            (after,) = await log.append([thought(name)])
            assert (after.subject, after.streamversion) == (placed[1234].subject, 2)

    run(scenario())


def test_an_answer_is_where_the_event_stands(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            placed = await log.append([recorded("a"), recorded(None), thought("a"), recorded("b", id="mine")])
            events = VOCABULARY.events((await log.read(Query())).ndjson)
            reported = [(one.position, one.id, one.subject, one.streamversion) for one in placed]
            assert reported == [(event.position, event.id, event.subject, event.streamversion) for event in events]
            assert placed[3].id == "mine"

    run(scenario())


@pytest.mark.parametrize("count", [0, BATCH_EVENTS_MAX + 1])
def test_a_batch_of_none_or_too_many_is_refused(ledgers: Ledgers, count: int) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            with pytest.raises(InvalidEvent, match=rf"1\.\.{BATCH_EVENTS_MAX} events; this one has {count}"):
                await log.append(batch_of(count))
            assert (await log.head()).position == 0

    run(scenario())


def test_the_largest_batches_stand_whole_and_in_order(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            answers = await asyncio.gather(*(log.append(batch_of(BATCH_EVENTS_MAX, f"{one}.")) for one in range(3)))
            for answer in answers:
                first = answer[0].position
                assert [one.position for one in answer] == list(range(first, first + BATCH_EVENTS_MAX))
            assert (await log.head()).position == 3 * BATCH_EVENTS_MAX
            assert await log.append(batch_of(1, "0.")) != answers[0][:1]

    run(scenario())


def test_a_full_queue_is_busy_and_loses_nothing_it_took(ledgers: Ledgers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.append_queue.QUEUE_EVENTS_MAX", 10)

    async def scenario() -> None:
        async with ledgers.open() as log:
            batches = [[one] for one in batch_of(25)]
            answers = await outcomes(log, *batches)
            busy = [number for number, answer in enumerate(answers) if isinstance(answer, LedgerBusy)]
            assert busy == list(range(10, 25))
            refused = answers[10]
            assert isinstance(refused, LedgerBusy)
            assert refused.retry_after_s >= 1
            assert refused.written is False
            assert (await log.head()).position == 10
            for number in busy:
                (placed,) = await log.append(batches[number])
                assert not placed.duplicate
            with pytest.raises(LedgerBusy):
                await log.append(batch_of(11, "more"))
            assert (await log.head()).position == 25

    run(scenario())


def test_closing_answers_what_was_accepted(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place = ledgers.place()
        log = await ledgers.begin(place)
        posts = [asyncio.create_task(log.append([one])) for one in batch_of(100)]
        await asyncio.sleep(0)
        await log.close()
        assert [placed.position for (placed,) in await asyncio.gather(*posts)] == list(range(1, 101))
        with pytest.raises(LedgerUnavailable, match=r"closing\..*Nothing was written"):
            await log.append([recorded()])
        async with ledgers.open(place) as again:
            assert (await again.head()).position == 100

    run(scenario())


def test_closing_twice_is_closing_once(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place = ledgers.place()
        log = await ledgers.begin(place)
        await log.close()
        async with ledgers.open(place) as other:
            await log.close()
            await other.append([recorded()])
            assert (await other.head()).position == 1

    run(scenario())


def test_posters_that_give_up_leave_the_others_unharmed(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            posts = [asyncio.create_task(log.append([one])) for one in batch_of(50)]
            await asyncio.sleep(0)
            for post in posts[::2]:
                post.cancel()
            answers = await asyncio.gather(*posts, return_exceptions=True)
            assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
            kept = [answer[0] for answer in answers[1::2] if isinstance(answer, list)]
            assert [placed.id for placed in kept] == [f"d{number}" for number in range(1, 50, 2)]
            page = await log.read(Query())
            stored = {event.id: event.position for event in VOCABULARY.events(page.ndjson)}
            assert {placed.id: placed.position for placed in kept}.items() <= stored.items()

    run(scenario())
