"""Reading: pages that cover everything once, filters, and positions in time."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from events.envelope import Draft, Event
from events.registry import VOCABULARY
from ledger.clock import microseconds
from ledger.errors import LedgerUnavailable, NotFound
from ledger.log import LogPage, Query
from ledger.sqlite import reader
from tests.ledger.contract.conftest import Ledgers, Place
from tests.support.drafts import (
    batch_of,
    recorded,
    reviewed,
    thought,
)
from tests.support.event_loop import run

EVENTS = 40
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TYPES = ["decision.recorded.v1", "decision.thought.v1", "decision.reviewed.v1"]
MOMENTS = st.none() | st.integers(0, 12).map(lambda hour: microseconds(NOON + timedelta(hours=hour)))

QUERIES = st.builds(
    Query,
    after=st.integers(0, EVENTS + 2),
    before=st.none() | st.integers(0, EVENTS + 2),
    limit=st.integers(1, EVENTS + 2),
    order=st.sampled_from(["asc", "desc"]),
    types=st.lists(st.sampled_from([*TYPES, "no.such.v1"]), max_size=2, unique=True).map(tuple),
    subjects=st.lists(st.sampled_from(["decision/d0", "decision/d1", "decision/x"]), max_size=2, unique=True).map(
        tuple
    ),
    source=st.sampled_from([None, None, "/agents/tester", "/agents/other", "/agents/nobody"]),
    since_us=MOMENTS,
    until_us=MOMENTS,
    positions=st.lists(st.integers(0, EVENTS + 2), max_size=12).map(tuple),
    walk=st.booleans(),
    firsts=st.sampled_from(["", "decision", "decisio", "thought"]),
)


def history() -> list[Draft]:
    """Forty events on four streams of two agents, some of them told late: their times are out of order."""
    drafts: list[Draft] = []
    for number in range(EVENTS):
        name = f"d{number % 4}"
        source = "/agents/tester" if number % 3 else "/agents/other"
        draft = recorded(name, "é", source=source) if number < 4 else thought(name, "ü\n", source=source)
        if number % 5 == 4:
            draft = reviewed(name)
        draft.time = NOON + timedelta(hours=number * 7 % 12)
        drafts.append(draft)
    return drafts


@pytest.fixture(scope="module")
def filled(ledgers: Ledgers) -> Place:
    """Where a ledger of forty events lies."""
    place = ledgers.place()

    async def fill() -> None:
        async with ledgers.open(place) as log:
            await log.append(history())

    run(fill())
    return place


def fits(event: Event, query: Query) -> bool:
    """The filters of a query, said plainly."""
    time_us = microseconds(event.moment)
    return (
        query.after < event.position
        and (query.before is None or event.position < query.before)
        and (not query.types or event.name in query.types)
        and (not query.subjects or event.subject in query.subjects)
        and (not query.positions or event.position in query.positions)
        and query.source in (None, event.source)
        and (query.since_us is None or query.since_us <= time_us)
        and (query.until_us is None or time_us <= query.until_us)
    )


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(query=QUERIES)
def test_pages_cover_what_fits_exactly_once(ledgers: Ledgers, filled: Place, query: Query) -> None:
    async def scenario() -> tuple[list[Event], list[LogPage], dict[str, int]]:
        async with ledgers.open(filled) as log:
            everything = VOCABULARY.events((await log.read(Query(limit=EVENTS))).ndjson)
            pages = [await log.read(query)]
            while pages[-1].more:
                last = pages[-1].positions[-1]
                bound = {"before": last} if query.order == "desc" else {"after": last}
                pages.append(await log.read(structs.replace(query, **bound)))
            return everything, pages, await log.counts(query)

    everything, pages, counts = run(scenario())
    assert len(everything) == EVENTS
    wanted = [event.position for event in everything if fits(event, query)]
    assert counts == Counter(event.name for event in everything if fits(event, query))
    if query.order == "desc":
        wanted.reverse()
    assert [position for page in pages for position in page.positions] == wanted
    assert all(len(page.positions) == query.limit for page in pages[:-1])
    begun = {event.subject: event.position for event in reversed(everything)}
    for page in pages:
        events = VOCABULARY.events(page.ndjson)
        assert [event.position for event in events] == list(page.positions)
        firsts = [begun[event.subject] if query.firsts == "decision" else 0 for event in events if query.firsts]
        assert list(page.firsts) == firsts
        assert len(page.lines) == len(page.positions)


def test_events_are_found_by_their_place_in_a_stream_and_by_their_id(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open(ledgers.place()) as log:
            sources = ("/agents/b", "/agents/a", "/agents/c")
            for source in sources:
                await log.append([recorded(f"of-{source[-1]}", id="same", source=source)])
            await log.append([thought("of-b", source="/agents/b"), thought("of-b", source="/agents/b")])
            stream = "decision/of-b"
            assert await log.positions_in_stream(stream, (1, 3, 4, 0)) == {1: 1, 3: 5}
            assert await log.positions_in_stream(stream, ()) == {}
            assert await log.positions_in_stream("decision/none", (1,)) == {}
            assert await log.positions_of_id("same", 10) == [1, 2, 3]
            assert await log.positions_of_id("same", 2) == [1, 2]
            assert await log.positions_of_id("other", 10) == []

    run(scenario())


def test_a_source_with_many_events_is_read_in_the_order_of_the_log(
    ledgers: Ledgers, filled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with ledgers.open(filled) as log:
            other = Query(source="/agents/other", limit=EVENTS)
            for query in (other, structs.replace(other, limit=3, order="desc")):
                pages = []
                for sorted_events_max in (0, EVENTS):
                    monkeypatch.setattr(reader, "SORTED_EVENTS_MAX", sorted_events_max)
                    pages.append(await log.read(query))
                assert list(pages[0].positions) == list(pages[1].positions)
                assert pages[0].ndjson == pages[1].ndjson
                assert len(pages[0].positions) == min(
                    query.limit, sum(n % 3 == 0 and n % 5 != 4 for n in range(EVENTS))
                )

    run(scenario())


def test_streams_are_named_by_the_positions_of_their_events(ledgers: Ledgers, filled: Place) -> None:
    async def scenario() -> None:
        async with ledgers.open(filled) as log:
            assert await log.subjects([EVENTS, 2, 1, 2]) == [f"decision/d{n}" for n in (3, 1, 0, 1)]
            assert await log.subjects([]) == []
            asked = ["decision/d3", "decision/d0", "decision/d0", "decision/d9", "d1", ""]
            assert await log.first_positions(asked) == {"decision/d3": 4, "decision/d0": 1}
            assert await log.first_positions([]) == {}
            with pytest.raises(LedgerUnavailable, match="lacks events"):
                await log.subjects([1, EVENTS + 1])

    run(scenario())


def test_streams_are_found_by_the_beginning_of_their_names(ledgers: Ledgers) -> None:
    place = ledgers.place()
    names = ["abc1", "xabc", "abc", "abd", "ab.c", "abc2", "ABC", "_"]

    async def scenario() -> None:
        async with ledgers.open(place) as log:
            await log.append([*map(recorded, names), thought("abc", "hm")])
            for beginning in ("decision/", "decision/a", "decision/abc", "decision/abc1", "decision/b", "dec", "%", ""):
                for upto in range(len(names) + 1):
                    known = sorted(f"decision/{name}" for name in names[:upto])
                    wanted = [name for name in known if name.startswith(beginning)]
                    for limit in (1, 2, 100):
                        assert await log.streams_starting_with(beginning, upto, limit) == wanted[:limit]

    run(scenario())


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize(
    ("limit", "more"), [(1, True), (EVENTS - 1, True), (EVENTS, False), (EVENTS + 1, False)], ids=str
)
def test_more_is_right_at_the_edges(ledgers: Ledgers, filled: Place, order: str, limit: int, more: bool) -> None:
    async def scenario() -> None:
        async with ledgers.open(filled) as log:
            page = await log.read(structs.replace(Query(limit=limit), order=order))
            assert (len(page.positions), page.more) == (min(limit, EVENTS), more)

    run(scenario())


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_more_counts_only_what_fits(ledgers: Ledgers, filled: Place, order: str) -> None:
    async def scenario() -> None:
        async with ledgers.open(filled) as log:
            query = structs.replace(Query(types=("decision.recorded.v1",)), order=order)
            assert not (await log.read(structs.replace(query, limit=4))).more
            assert (await log.read(structs.replace(query, limit=3))).more
            assert not (await log.read(structs.replace(query, limit=3, before=4))).more

    run(scenario())


def test_an_empty_log_reads_as_nothing(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            page = await log.read(Query())
            assert (page.ndjson, list(page.positions), page.lines, page.more) == (b"", [], [], False)
            assert tuple(await log.head()) == (0, 0)
            assert await log.position_at(microseconds(NOON)) == 0
            with pytest.raises(NotFound, match="It ends at 0"):
                await log.recorded_at(1)

    run(scenario())


def test_a_read_sees_what_was_acknowledged_before_it(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            for number in range(1, 30):
                (placed,) = await log.append([recorded()])
                assert (await log.head()).position == placed.position == number
                assert list((await log.read(Query(order="desc", limit=1))).positions) == [number]

    run(scenario())


def test_positions_and_moments_find_each_other(ledgers: Ledgers) -> None:
    hours = [0, 0, 1, 4, 4, 4, 9]
    ticks = iter([NOON + timedelta(hours=hour) for hour in hours])

    async def scenario() -> None:
        async with ledgers.open(clock=lambda: next(ticks)) as log:
            for number in range(len(hours)):
                await log.append(batch_of(2, f"{number}."))
            recordings = [await log.recorded_at(position) for position in range(1, 15)]
            assert recordings == [microseconds(NOON + timedelta(hours=hour)) for hour in hours for _ in range(2)]
            for moment in (recording + shift for recording in recordings for shift in (-1, 0, 1)):
                assert await log.position_at(moment) == sum(recording <= moment for recording in recordings)
            assert await log.position_at(0) == 0
            for position in (0, 15):
                with pytest.raises(NotFound, match=f"Position {position} is not in the log"):
                    await log.recorded_at(position)

    run(scenario())


def test_the_largest_lines_are_read_whole(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([recorded(f"d{number}", "x" * 60_000) for number in range(100)])
            page = await log.read(Query(limit=100))
            assert len(page.ndjson) > 6_000_000
            assert [event.position for event in VOCABULARY.events(page.ndjson)] == list(range(1, 101))

    run(scenario())
