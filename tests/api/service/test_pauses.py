"""Queries and feeds pause while short requests are answered, and only then."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from api.rate_limit import QueryTimeout, TokenUse
from api.service import view_queries
from api.service.pauses import PAGE_S, PART_S, PAUSE_MAX_S, PAUSE_RATIO, RECENT_S, Pauses
from api.service.view_queries import QueryStopped, QueryTurns, query_check


class Clock:
    """A clock that shows the time to which it is set."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


async def run(turns: QueryTurns, query: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await turns.run(query, None, never)


async def never() -> None:
    await asyncio.Event().wait()


class Worked:
    """The time that a thread has worked, which is what a test says."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self.now_s = 0.0

    def thread_time(self) -> float:
        return self.now_s

    def work(self) -> None:
        """Work for four parts."""
        self.now_s += 4 * PART_S


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> Worked:
    found = Worked()
    monkeypatch.setattr(view_queries, "time", found)
    return found


@pytest.mark.trial("C5")
def test_a_query_pauses_only_while_short_requests_are_answered() -> None:
    clock = Clock()
    pauses = Pauses(clock)
    assert pauses.pause_s(1.0, 1.0) == 0.0, "no short request was answered yet"
    pauses.note_short_request()
    assert pauses.pause_s(2 * PART_S, 1.0) == 2 * PART_S * PAUSE_RATIO
    assert pauses.pause_s(PART_S / 2, 1.0) == 0.0, "it has hardly worked"
    assert pauses.pause_s(1.2, 2.0) == PAUSE_MAX_S, "a long part does not stop the query for many seconds"
    clock.now_s += RECENT_S * 1.01
    assert pauses.pause_s(1.0, 1.0) == 0.0, "no short request was answered lately"


@pytest.mark.trial("N1")
def test_a_query_never_pauses_longer_than_it_has_worked() -> None:
    """Beside short requests without end, it takes twice its time."""
    pauses = Pauses(Clock())
    pauses.note_short_request()
    assert pauses.pause_s(2 * PART_S, 2 * PART_S) == 2 * PART_S
    assert pauses.pause_s(2 * PART_S, -PART_S) == 0.0
    worked_s = paused_s = 0.0
    for part in range(1, 200):
        worked_s += part % 7 * PART_S
        paused_s += pauses.pause_s(part % 7 * PART_S, worked_s - paused_s)
        assert paused_s <= worked_s
    assert paused_s > 0.9 * worked_s


@pytest.mark.trial("C3")
def test_the_feeds_of_a_token_share_their_pages() -> None:
    asyncio.run(share_pages())


async def share_pages() -> None:
    clock, use, other = Clock(), TokenUse("greedy"), TokenUse("other")
    pauses = Pauses(clock)
    pauses.note_short_request()
    began_s = time.monotonic()
    await asyncio.gather(*(pauses.await_page(use) for _ in range(20)))
    assert time.monotonic() - began_s >= 19 * PAGE_S, "one after another"
    assert use.next_page_s == pytest.approx(clock.now_s + 20 * PAGE_S)
    await pauses.await_page(other)
    assert other.next_page_s == pytest.approx(clock.now_s + PAGE_S), "another token does not wait for them"
    clock.now_s += RECENT_S * 1.01
    await pauses.await_page(use)
    assert use.next_page_s == pytest.approx(clock.now_s - RECENT_S * 1.01 + 20 * PAGE_S), "nobody waits for them"


@pytest.mark.trial("C5")
def test_a_query_pauses_between_parts_and_stops_in_a_pause(monkeypatch: pytest.MonkeyPatch, worked: Worked) -> None:
    monkeypatch.setattr(view_queries, "UNPAUSED_S", 0.0)
    pauses = Pauses(Clock())
    pauses.note_short_request()
    turns = QueryTurns(pauses=pauses)
    paused_s: list[float] = []
    stopped: list[bool] = []

    async def query() -> None:
        check = query_check()
        check()
        for _ in range(3):
            worked.work()
            began_s = time.monotonic()
            check()
            paused_s.append(time.monotonic() - began_s)
        turns.stop()
        worked.work()
        try:
            check()
        except QueryStopped:
            stopped.append(True)
            raise

    with pytest.raises(QueryTimeout, match="stopping"):
        asyncio.run(run(turns, query))
    assert paused_s[0] >= 4 * PART_S * 0.9, "as long as it has worked; later pauses are shorter if this one took longer"
    assert stopped == [True]


def test_a_short_query_does_not_pause(monkeypatch: pytest.MonkeyPatch, worked: Worked) -> None:
    """Nor does a long one before it has worked so long. A pause would sleep or wait, which the gate refuses."""
    asked: list[float] = []

    class Asked(Pauses):
        def pause_s(self, worked_s: float, credit_s: float = math.inf) -> float:
            asked.append(worked_s)
            return 0.0

    monkeypatch.setattr(view_queries, "UNPAUSED_S", 5 * PART_S)

    async def query() -> None:
        check = query_check()
        check()
        for _ in range(2):  # each for four parts
            worked.work()
            check()
            assert not asked
        worked.work()
        check()
        assert asked

    asyncio.run(run(QueryTurns(pauses=Asked(Clock())), query))


def test_without_a_server_nothing_pauses(worked: Worked) -> None:
    """A pause would sleep or wait, which the gate refuses."""
    check = query_check()
    worked.work()
    check()
