"""Reads by time and correlation id, and counts by type, are those of a plain scan, whatever the projection has."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from api.principal import OWNER
from api.service import narrowed_read
from api.service.event_search import search_events
from api.service.ledger import LedgerService
from api.service.related_events import find_related
from api.service.status import count_types, get_status
from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.clock import microseconds
from ledger.log import Query
from projections import column_table, event_index
from projections.event_index import CorrelationMarks, EventIndex
from projections.shared_params import NoParams
from tests.api.service.ledgers import within
from tests.support.drafts import recorded, reviewed, thought

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
IDS = (None, None, "a", "b", 'Ünï \\ "quoted"')


class Step(NamedTuple):
    """One event: of which decision, when it happened (hours from noon; None: when it is recorded), its correlation."""

    decision: int
    hours: int | None
    correlationid: str | None


histories = st.lists(
    st.builds(
        Step,
        st.integers(0, 5),
        st.none() | st.integers(-40, 40),
        st.sampled_from(IDS),
    ),
    max_size=70,
)
moments = st.none() | st.integers(-45, 45).map(lambda hours: microseconds(NOON + timedelta(hours=hours)))
queries = st.builds(
    Query,
    after=st.integers(0, 50),
    before=st.none() | st.integers(0, 90),
    limit=st.integers(1, 12),
    order=st.sampled_from(["asc", "desc"]),
    types=st.sampled_from([(), (), ("decision.thought.v1",), ("decision.recorded.v1", "decision.recorded.v2")]),
    subjects=st.sampled_from([(), (), (), ("decision/d1",)]),
    source=st.sampled_from([None, None, "/agents/tester", "/agents/nobody"]),
    since_us=moments,
    until_us=moments,
    correlationid=st.sampled_from((*IDS, "no such")),
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, groups and steps that a few events fill."""
    monkeypatch.setattr(event_index, "BLOCK_EVENTS", 4)
    monkeypatch.setattr(column_table, "GROUP_ROWS", 8)
    monkeypatch.setattr(narrowed_read, "CANDIDATES_MAX", 3)


def drafts_of(history: Sequence[Step], known: set[int]) -> list[Draft]:
    drafts: list[Draft] = []
    for step in history:
        name = f"d{step.decision}"
        draft = thought(name) if step.decision in known else recorded(name)
        known.add(step.decision)
        draft.time = None if step.hours is None else NOON + timedelta(hours=step.hours)
        draft.correlationid = step.correlationid
        drafts.append(draft)
    return drafts


async def record(service: LedgerService, drafts: Sequence[Draft]) -> None:
    if drafts:
        await service.record(drafts, OWNER)


async def check(service: LedgerService, asked: Sequence[Query]) -> None:
    """Compare reads, scans, searches and counts with plain reads of the log."""
    head = await service.head_position()
    for query in [one for one in asked if one.after <= head]:
        plain = await service.reader.read(query)
        page = await service.read(query)
        assert (page.ndjson, list(page.positions), page.more) == (plain.ndjson, list(plain.positions), plain.more)
        everything = list((await service.reader.read(structs.replace(query, limit=1000))).positions)
        scanned = [page async for page in service.scan(query)]
        assert [position for page in scanned for position in page.positions] == everything
        assert all(len(page.lines) == len(page.positions) for page in scanned)
        found = await search_events(service, query)
        assert found.positions == everything[: query.limit]
    for upto in {0, head // 2, head}:
        assert await count_types(service, upto) == await service.reader.counts(Query(before=upto + 1))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5_000])


def riddle(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


def without_chunks(file: Path) -> None:
    """Delete the tables of the views, which a view notices only when it reads them."""
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM chunks")


@pytest.mark.slow
@pytest.mark.parametrize("damage", [cut, riddle, without_chunks, Path.unlink])
@settings(max_examples=12, deadline=None)
@given(
    saved=histories,
    folded=histories,
    rest=histories,
    asked=st.lists(queries, min_size=3, max_size=8),
)
def test_reads_are_those_of_a_plain_scan(
    damage: Callable[[Path], None],
    saved: list[Step],
    folded: list[Step],
    rest: list[Step],
    asked: list[Query],
) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        known: set[int] = set()

        @within(path)
        async def _begun(service: LedgerService) -> None:
            await record(service, drafts_of(saved, known))
            await service.fold()
            await check(service, asked)

        @within(path)
        async def _continued(service: LedgerService) -> None:
            await record(service, drafts_of(folded, known))
            await service.engine.catch_up()
            await record(service, drafts_of(rest, known))
            await check(service, asked)

        @within(path, writable=False)
        async def _read_beside(service: LedgerService) -> None:
            await check(service, asked)

        views = path.with_name("t.db.views.db")
        if views.exists():
            damage(views)

        @within(path, writable=False)
        async def _read_damaged(service: LedgerService) -> None:
            await check(service, asked)

        @within(path)
        async def _mended(service: LedgerService) -> None:
            await service.fold()
            await check(service, asked)
            index, position = await service.engine.newest(EventIndex, await service.head_position())
            assert position == await service.head_position()
            assert index.types() == await service.reader.counts(Query())


def test_only_marked_positions_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        drafts = [recorded(f"d{number}") for number in range(60)]
        for number, draft in enumerate(drafts):
            draft.time = NOON + timedelta(hours=number)
            draft.correlationid = "x" if number in (7, 50) else f"other {number}"
        await service.record(drafts, OWNER)
        await service.engine.catch_up(kinds=[EventIndex])
        asked: list[Query] = []
        read = service.reader.read

        async def reading(query: Query) -> object:
            asked.append(query)
            return await read(query)

        monkeypatch.setattr(service.reader, "read", reading)
        assert list((await service.read(Query(correlationid="x"))).positions) == [8, 51]
        assert {position for query in asked for position in query.positions} == {8, 51}
        asked.clear()
        since = microseconds(NOON + timedelta(hours=20))
        until = microseconds(NOON + timedelta(hours=25))
        assert list((await service.read(Query(since_us=since, until_us=until))).positions) == [21, 22, 23, 24, 25, 26]
        assert [(query.after, query.before) for query in asked] == [(20, 29)]
        asked.clear()
        assert not (await service.read(Query(until_us=microseconds(NOON) - 1))).positions
        assert asked == []


def test_a_read_before_position_0_has_no_events(tmp_path: Path) -> None:
    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        await service.record([recorded("d1")], OWNER)
        assert [page async for page in service.scan(Query(before=0))] == []


def test_equal_marks_of_other_correlation_ids_are_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_index, "_mark", lambda _: 1)

    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        drafts = [recorded(f"d{number}") for number in range(30)]
        for number, draft in enumerate(drafts):
            draft.correlationid = f"id {number % 10}"
        await service.record(drafts, OWNER)
        await service.engine.catch_up(kinds=[EventIndex])
        found = await find_related(service, "id 4")
        assert [event.position for event in found.events] == [5, 15, 25]
        assert found.next is None
        page = await service.read(Query(correlationid="id 4", order="desc", limit=2))
        assert (list(page.positions), page.more) == ([25, 15], True)


def test_chunks_that_are_lost_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a scan is then a plain one, and repeats nothing."""
    from ledger.errors import ViewDamaged  # noqa: PLC0415 - only here

    find = CorrelationMarks.find
    calls: list[int] = []

    def lost(self: CorrelationMarks, *args: object, **options: object) -> list[int]:
        calls.append(1)
        if len(calls) > 1:
            raise ViewDamaged("gone", "ask again")
        return find(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(CorrelationMarks, "find", lost)

    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        drafts = [recorded(f"d{number}") for number in range(20)]
        for draft in drafts:
            draft.correlationid = "x"
        await service.record(drafts, OWNER)
        await service.engine.catch_up(kinds=[EventIndex])
        pages = [page async for page in service.scan(Query(correlationid="x", limit=2))]
        assert [position for page in pages for position in page.positions] == list(range(1, 21))
        assert len(calls) == 2
        assert len((await service.read(Query(correlationid="x"))).positions) == 20


@pytest.mark.slow
def test_events_that_are_appended_meanwhile(tmp_path: Path) -> None:
    """Each answer is that of a plain scan up to its position, while a writer appends and the engine follows."""

    @within(tmp_path / "t.db")
    async def _scenario(service: LedgerService) -> None:
        await service.fold()
        following = asyncio.create_task(service.engine.follow())

        async def write() -> None:
            for batch in range(40):
                drafts = [recorded(f"d{batch}-{number}") for number in range(5)]
                drafts.append(reviewed(f"d{batch}-0"))
                for number, draft in enumerate(drafts):
                    draft.correlationid = f"c{number}"
                    draft.time = NOON + timedelta(hours=batch)
                await service.record(drafts, OWNER)
                await asyncio.sleep(0.002)

        writing = asyncio.create_task(write())
        answers = 0
        try:
            while not writing.done() or answers < 5:
                found = await find_related(service, "c3")
                page = await service.read(Query(correlationid="c5", order="desc", limit=1000))
                status = await get_status(service, NoParams())
                upto, head = found.as_of.position, await service.head_position()
                lines = (await service.reader.read(Query(before=head + 1, limit=1000))).lines
                events = [VOCABULARY.event(line) for line in lines]
                about = [event.position for event in events if event.correlationid == "c3" and event.position <= upto]
                assert [event.position for event in found.events] == about
                reviews = [event.position for event in events if event.correlationid == "c5"]
                reached = len(page.positions)
                assert list(page.positions) == reviews[:reached][::-1]
                counted = Counter(event.name for event in events if event.position <= status.head.position)
                assert status.types == counted
                assert sum(status.types.values()) == status.head.position
                answers += 1
        finally:
            following.cancel()
            await writing
        assert (await get_status(service, NoParams())).head.position == 240


@pytest.mark.parametrize("stated", [8, 21, 10**15])
def test_a_line_that_states_another_position(tmp_path: Path, stated: int) -> None:
    """A fold does not notice it, and it is found where it is."""
    path = tmp_path / "t.db"

    @within(path)
    async def _written(service: LedgerService) -> None:
        drafts = [recorded(f"d{number}") for number in range(20)]
        drafts[8].correlationid = "x"
        await service.record(drafts, OWNER)

    path.with_name("t.db.views.db").unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_unchanged")
        ((line,),) = connection.execute("SELECT line FROM events WHERE position = 9").fetchall()
        altered = line.replace(b'"position":9,', b'"position":%d,' % stated)
        connection.execute("UPDATE events SET line = ? WHERE position = 9", (altered,))

    @within(path)
    async def _read(service: LedgerService) -> None:
        assert not service.engine.left_out
        assert list((await service.read(Query(correlationid="x"))).positions) == [9]
        assert len((await service.read(Query(since_us=0))).positions) == 20


def test_a_ledger_with_lines_that_are_left_out(tmp_path: Path) -> None:
    """Every line of the log is counted and found, also those that no view can use."""
    path = tmp_path / "t.db"

    @within(path)
    async def _written(service: LedgerService) -> None:
        drafts = [recorded(f"d{number}") for number in range(20)]
        for draft in drafts:
            draft.correlationid = "x"
        await service.record(drafts, OWNER)

    with closing(sqlite3.connect(path)) as connection, connection:
        ((line,),) = connection.execute("SELECT line FROM events WHERE position = 9").fetchall()
        connection.execute("DROP TRIGGER events_unchanged")
        altered = line.replace(b'"type":"decision.recorded', b'"type":"decision.imagined')
        connection.execute("UPDATE events SET line = ? WHERE position = 9", (altered,))

    path.with_name("t.db.views.db").unlink()
    for writable in (False, True):

        @within(path, writable=writable)
        async def _read(service: LedgerService) -> None:
            status = await get_status(service, NoParams())
            assert list(service.engine.left_out) == [9]
            assert sum(status.types.values()) == 20
            assert list((await service.read(Query(correlationid="x"))).positions) == list(range(1, 21))
