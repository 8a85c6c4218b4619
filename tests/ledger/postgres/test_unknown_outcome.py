"""I4 and I5: a commit that was not confirmed is neither acknowledged nor repeated.

The standby is frozen, so that each commit waits. Then the wait is cancelled, or its backend or the whole server ends.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.errors import IdentityConflict, LedgerUnavailable, LifecycleViolation
from ledger.log import Query
from ledger.place import DatabasePlace
from ledger.postgres import connection, log, reader, writer
from ledger.postgres.log import PostgresLog
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.postgres.places import new_ledger
from tests.ledger.postgres.waiting_commit import HAZARDS, Hazard, WaitingCommit, cancel_wait, crash
from tests.support.drafts import recorded
from tests.support.event_loop import run
from tests.support.postgres import Primary

pytestmark = pytest.mark.slow

KEEPS_TILES = """
SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
 WHERE locktype = 'advisory' AND datname = current_database()
"""
"""1 when a node stores the tiles: all its connections are made then."""

WaitingAppend = tuple[WaitingCommit, PostgresLog, asyncio.Task[list[AppendedEvent]]]

COUNT = "SELECT count(*) FROM events"


async def in_thread(work: Callable[..., object], *args: object) -> object:
    return await asyncio.to_thread(work, *args)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110 - PostgreSQL tells nobody
        await asyncio.sleep(0.02)


@asynccontextmanager
async def waiting_append(
    primary: Primary, prepare: Callable[[DatabasePlace], Awaitable[object]] | None = None
) -> AsyncIterator[WaitingAppend]:
    """A log whose third event waits for the frozen standby; `prepare` is done before that."""
    place = await new_ledger(primary)
    opened = await PostgresLog.open(place)
    try:
        await opened.append([recorded("a"), recorded("b")])
        if prepare is not None:
            await prepare(place)

        async def is_connected() -> bool:
            return await in_thread(primary.psql, KEEPS_TILES, place.database) == "1"

        await until(is_connected)
        await asyncio.gather(*(opened.head() for _ in range(reader.CONNECTIONS)))
        # a connection that is made from here on would wait for the standby, and keep the event from its turn
        primary.standby(1).freeze()
        post = asyncio.create_task(opened.append([recorded("c", id="c")]))
        commit = WaitingCommit(primary, place, "events")
        await commit.is_waiting()
        yield commit, opened, post
    finally:
        primary.standby(1).thaw()
        await opened.close()


@pytest.mark.parametrize("hazard", HAZARDS)
def test_an_event_that_no_standby_has_is_not_acknowledged(replicated: Primary, hazard: Hazard) -> None:
    async def scenario() -> None:
        async with waiting_append(replicated) as (commit, opened, post):
            await in_thread(hazard, commit)

            await commit.until(COUNT, "3")  # the row is readable, although no standby has it
            done, _ = await asyncio.wait([post], timeout=1)
            assert not done, "acknowledged, and only the primary has it"
            replicated.standby(1).thaw()
            (placed,) = await post
            assert (placed.position, placed.duplicate) == (3, False)
            (again,) = await opened.append([recorded("c", id="c")])
            assert (again.position, again.duplicate) == (3, True)
            assert [event.id for event in VOCABULARY.events((await opened.read(Query(after=2))).ndjson)] == ["c"]

    run(scenario())


@pytest.mark.parametrize(
    ("again", "right"),
    [
        (recorded("c", id="c"), [AppendedEvent(4, "c", "decision/c", 1, duplicate=True)]),
        (recorded("c", "other", id="c"), IdentityConflict),
        (recorded("c", id="d"), LifecycleViolation),
    ],
)
def test_another_node_answers_nothing_that_rests_on_an_event_that_no_standby_has(
    replicated: Primary, again: Draft, right: object
) -> None:
    """Its connections are older than the event, so no barrier keeps it from seeing the event."""
    others = []

    async def open_other(place: DatabasePlace) -> None:
        others.append(await PostgresLog.open(place))
        assert (await others[0].append([recorded("b2", id="b2")]))[0].position == 3

    async def scenario() -> None:
        async with waiting_append(replicated, open_other) as (commit, _, _post):
            try:
                await in_thread(cancel_wait, commit)
                answer = asyncio.ensure_future(others[0].append([again]))
                done, _ = await asyncio.wait([answer], timeout=1)
                assert not done, "answered, and only the primary has the event"
                replicated.standby(1).thaw()
                (answered,) = await asyncio.gather(answer, return_exceptions=True)
                assert right in (answered, type(answered))
            finally:
                replicated.standby(1).thaw()
                await others[0].close()

    run(scenario())


def test_an_append_whose_outcome_stays_unknown_says_so(replicated: Primary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RETRY_S", 1.0)

    async def scenario() -> None:
        async with waiting_append(replicated) as (commit, opened, post):
            await in_thread(cancel_wait, commit)
            with pytest.raises(LedgerUnavailable, match=r"did not confirm the commit.*is in the log is unknown"):
                await post
            replicated.standby(1).thaw()
            (placed,) = await opened.append([recorded("c", id="c")])
            assert (placed.position, placed.duplicate) == (3, True)

    run(scenario())


def test_a_server_that_refuses_the_node_leaves_the_outcome_unknown(
    replicated: Primary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node finds no standby demanded when it connects again. Its event is in the log, so it must not deny it."""
    monkeypatch.setattr(writer, "RETRY_S", 3.0)

    async def scenario() -> None:
        async with waiting_append(replicated) as (commit, opened, post):
            await in_thread(cancel_wait, commit)
            await in_thread(replicated.synchronous, "")
            try:
                with pytest.raises(LedgerUnavailable, match="is in the log is unknown"):
                    await post
                await commit.until(COUNT, "3")
            finally:
                replicated.standby(1).thaw()
                await in_thread(replicated.synchronous, "ANY 1 (standby1)")
            (placed,) = await opened.append([recorded("c", id="c")])
            assert (placed.position, placed.duplicate) == (3, True)

    run(scenario())


def test_a_new_reader_shows_nothing_that_no_standby_has(replicated: Primary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RETRY_S", 60.0)

    async def scenario() -> None:
        async with waiting_append(replicated) as (commit, _, _post):
            await in_thread(crash, commit)
            opening = asyncio.create_task(connection.connect_durably(commit.place, 60.0))
            done, _ = await asyncio.wait([opening], timeout=1)
            assert not done, "it could read the row that no standby has"
            replicated.standby(1).thaw()
            (await opening).abort()

    run(scenario())


def test_closing_ends_while_a_commit_waits_for_ever(replicated: Primary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "CLOSE_S", 0.5)

    async def scenario() -> None:
        async with waiting_append(replicated) as (_, opened, post):
            await opened.close()
            with pytest.raises(LedgerUnavailable, match="unknown"):
                await post

    run(scenario())


def test_a_node_that_stops_while_it_holds_the_head_releases_it(replicated: Primary) -> None:
    async def scenario() -> None:
        place = await new_ledger(replicated)
        opened = await PostgresLog.open(place)
        stopped = await connection.connect(place)
        await stopped.execute("BEGIN; SELECT FROM head FOR UPDATE")
        (placed,) = await opened.append([recorded("a")])
        assert placed.position == 1
        stopped.abort()
        await opened.close()

    run(scenario())


def test_appends_and_reads_go_on_after_the_server_was_restarted(
    replicated: Primary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reader, writer):
        monkeypatch.setattr(module, "RETRY_S", 600.0)  # a busy machine starts a server slowly

    async def scenario() -> None:
        place = await new_ledger(replicated)
        opened = await PostgresLog.open(place)
        posts = [asyncio.create_task(opened.append([recorded(f"d{number}")])) for number in range(50)]
        await in_thread(replicated.restart, "immediate")
        answers = await asyncio.gather(*posts)
        assert sorted(answer[0].position for answer in answers) == list(range(1, 51))
        assert list((await opened.read(Query())).positions) == list(range(1, 51))
        await opened.close()

    run(scenario())
