"""I1 to I6 and I8, each as the one who uses a log can see it."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from events.envelope import Draft
from events.errors import InvalidEvent
from events.limits import PAGE_EVENTS_MAX
from events.registry import VOCABULARY
from ledger.clock import microseconds
from ledger.errors import (
    AppendRefused,
    IdentityConflict,
    LedgerLocked,
    LifecycleViolation,
    StreamConflict,
    TallystickError,
)
from ledger.log import Log, Query
from tests.ledger.contract.conftest import Ledgers, Place
from tests.support.drafts import (
    batch_of,
    recorded,
    reviewed,
    thought,
)
from tests.support.event_loop import run

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ALL = Query(limit=PAGE_EVENTS_MAX)


async def post_mixed(log: Log, rng: random.Random, count: int) -> int:
    """Post good and bad batches side by side; how many were refused."""
    batches: list[list[Draft]] = []
    for number in range(count):
        name = f"d{rng.randrange(8)}"
        batches.append(
            rng.choice(
                [
                    [recorded(name, id=f"{number}")],
                    [recorded(), thought(name)],
                    [thought(name), thought(name), thought("nowhere")],
                    [recorded(f"n{number}"), thought(f"n{number}"), reviewed(f"n{number}")],
                ]
            )
        )
    answers = await asyncio.gather(*(log.append(batch) for batch in batches), return_exceptions=True)
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(answer, AppendRefused) for answer in refused)
    return len(refused)


def test_i1_positions_and_stream_versions_are_contiguous(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place, rng, refused = ledgers.place(), random.Random(1), 0
        for _ in range(3):
            async with ledgers.open(place) as log:
                refused += await post_mixed(log, rng, 60)
        assert refused
        async with ledgers.open(place) as log:
            page = await log.read(ALL)
            assert not page.more
            assert list(page.positions) == list(range(1, (await log.head()).position + 1))
        versions: dict[str, int] = {}
        for position, event in enumerate(VOCABULARY.events(page.ndjson), 1):
            versions[event.subject] = versions.get(event.subject, 0) + 1
            assert (event.position, event.streamversion) == (position, versions[event.subject])

    run(scenario())


def test_i2_stored_bytes_never_change(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place, seen = ledgers.place(), b""
        for number in range(4):
            async with ledgers.open(place) as log:
                assert (await log.read(ALL)).ndjson == seen
                await log.append(batch_of(5, f"r{number}-"))
                now = (await log.read(ALL)).ndjson
                assert now.startswith(seen)
                seen = now
                for refused in (recorded("r0-0"), recorded("r0-0", "other", id="r0-0")):
                    with pytest.raises(TallystickError):
                        await log.append([refused])
                assert (await log.read(ALL)).ndjson == seen

    run(scenario())


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (thought("unknown"), LifecycleViolation),
        (recorded("a"), LifecycleViolation),
        (thought("a", expectedversion=7), StreamConflict),
        (recorded("b", id="taken"), IdentityConflict),
        (recorded("b/c"), InvalidEvent),
        (recorded("b", "x" * 70_000), InvalidEvent),
    ],
    ids=["life", "second", "version", "id", "name", "length"],
)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_i3_a_batch_is_all_or_nothing(ledgers: Ledgers, bad: Draft, error: type[TallystickError], place: int) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([recorded("a", id="taken")])
            batch = [*batch_of(5), thought("a")]
            batch.insert(place, bad)
            with pytest.raises(error) as caught:
                await log.append(batch)
            assert getattr(caught.value, "index", None) == place
            assert (await log.head()).position == 1
            assert list((await log.read(ALL)).positions) == [1]
            placed = await log.append([*batch_of(5), thought("a")])
            assert [one.position for one in placed] == [2, 3, 4, 5, 6, 7]
            assert placed[-1].streamversion == 2

    run(scenario())


def test_i3_a_refused_batch_takes_none_of_its_neighbours_with_it(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            batches = [[recorded(f"d{number}"), thought(f"d{number // 2 * 2}")] for number in range(20)]
            batches[4].append(thought("nowhere"))
            answers = await asyncio.gather(*(log.append(batch) for batch in batches), return_exceptions=True)
            refused = [number for number, answer in enumerate(answers) if isinstance(answer, BaseException)]
            assert refused == [4, 5]
            assert (await log.head()).position == 36

    run(scenario())


def test_i5_a_retry_of_an_acknowledged_append_gives_the_first_answer(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        place = ledgers.place()
        batch = [recorded("a", id="1"), thought("a", id="2", expectedversion=1), recorded(None, id="3")]
        async with ledgers.open(place) as log:
            first = await log.append(batch)
            assert [placed.duplicate for placed in first] == [False] * 3
            again = await log.append(batch)
        async with ledgers.open(place) as log:
            later = await log.append(batch)
            assert again == later == [msgspec.structs.replace(placed, duplicate=True) for placed in first]
            assert (await log.head()).position == 3

    run(scenario())


@pytest.mark.parametrize("turns", range(6))
def test_i5_a_retry_of_an_unacknowledged_append_writes_once(ledgers: Ledgers, turns: int) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            batch = [recorded(None, id="1"), recorded("b", id="2")]
            post = asyncio.create_task(log.append(batch))
            for _ in range(turns):
                await asyncio.sleep(0)
            post.cancel()
            placed = await log.append(batch)
            assert [one.position for one in placed] == [1, 2]
            lines = (await log.read(ALL)).lines
            assert [event.id for event in map(VOCABULARY.event, lines)] == ["1", "2"]
            assert [event.subject for event in map(VOCABULARY.event, lines)] == [one.subject for one in placed]

    run(scenario())


def test_i5_many_retries_at_once_write_once(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            answers = await asyncio.gather(*(log.append([recorded(None, id="same")]) for _ in range(50)))
            assert {placed.position for (placed,) in answers} == {1}
            assert len({placed.subject for (placed,) in answers}) == 1
            assert [placed.duplicate for (placed,) in answers].count(False) == 1
            assert (await log.head()).position == 1

    run(scenario())


def test_i5_the_same_id_of_another_source_is_another_event(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            one, other = await asyncio.gather(
                log.append([recorded("a", id="1")]), log.append([recorded("b", id="1", source="/agents/other")])
            )
            assert [one[0].position, other[0].position] == [1, 2]

    run(scenario())


def test_i6_recordedtime_never_decreases_whatever_the_clock_does(ledgers: Ledgers) -> None:
    hours = [0, 5, -3, 2, 5, 6, -100, 7]
    ticks = iter([NOON + timedelta(hours=hour) for hour in hours])

    async def scenario() -> None:
        place = ledgers.place()
        for _ in range(4):
            async with ledgers.open(place, clock=lambda: next(ticks)) as log:
                await log.append([recorded()])
                await log.append([recorded(), recorded()])
        async with ledgers.open(place) as log:
            recordings = [await log.recorded_at(position) for position in range(1, 13)]
            events = VOCABULARY.events((await log.read(ALL)).ndjson)
            assert (await log.head()).recorded_us == recordings[-1]
        expected = [microseconds(NOON + timedelta(hours=hour)) for hour in (0, 5, 5, 5, 5, 5, 5, 6, 6, 6, 7, 7)]
        assert [one for one in recordings if one not in expected] == []
        assert recordings == sorted(recordings)
        assert [microseconds(datetime.fromisoformat(event.recordedtime)) for event in events] == recordings

    run(scenario())


def test_i8_a_second_writer_is_refused_or_waits_for_its_turn(ledgers: Ledgers) -> None:
    async def refuse_second(place: Place) -> None:
        for _ in range(2):
            with pytest.raises(LedgerLocked):
                await ledgers.begin(place)

    async def write_in_turns(log: Log, place: Place) -> None:
        async with ledgers.open(place) as second:
            batches = [[recorded(), recorded()] for _ in range(60)]
            writers = [log if number % 2 else second for number in range(60)]
            answers = await asyncio.gather(
                *(writer.append(batch) for writer, batch in zip(writers, batches, strict=True))
            )
            placed = sorted(one.position for answer in answers for one in answer)
            assert placed == list(range(1, 121))
            assert all(answer[1].position == answer[0].position + 1 for answer in answers)
            assert await log.head() == await second.head()

    async def scenario() -> None:
        place = ledgers.place()
        async with ledgers.open(place) as log:
            await (refuse_second(place) if ledgers.writers == "one" else write_in_turns(log, place))
            before = (await log.head()).position
            await log.append([recorded()])
        async with ledgers.open(place) as log:
            assert (await log.head()).position == before + 1

    run(scenario())
