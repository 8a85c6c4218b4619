"""The engine folds in the background, saves beside, and folds a view without a snapshot beside those that answer."""

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from events.payload import Payload
from ledger.errors import LedgerUnavailable, ViewDamaged
from projections import column_table, slice_reader, snapshots
from projections import engine as engine_module
from projections.engine import Engine
from projections.event_slice import EventSlice
from projections.projection import Projection
from tests.projections.bad_projections import Counting
from tests.projections.drafts import record, review
from tests.projections.open_ledgers import Opened, engine, ledger, views_of, write
from tests.projections.row_projection import OtherReviewRows, ReviewRows
from tests.support.event_loop import run

KINDS: tuple[type[Projection], ...] = (ReviewRows, Counting)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_table, "GROUP_ROWS", 4)
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 3)
    monkeypatch.setattr(engine_module, "SLICE_EVENTS", 3)
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 5)
    monkeypatch.setattr(engine_module, "FOLLOW_PAUSE_S", 0.001)


@asynccontextmanager
async def following(one: Engine) -> AsyncIterator[None]:
    """An engine that folds in the background."""
    task = asyncio.create_task(one.follow())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def upgraded(path: Path, kind: type[Projection]) -> AsyncIterator[Opened]:
    """A ledger of 60 decisions whose views were saved, and an engine with one more, which has not started."""
    await write(path, [record(f"d{n}", 0.5) for n in range(60)])
    async with engine(path, KINDS):
        pass
    async with engine(path, (*KINDS, kind), started=False) as opened:
        yield opened


async def until(reached: Callable[[], bool]) -> None:
    while not reached():  # noqa: ASYNC110 - what is awaited tells nobody
        await asyncio.sleep(0)


def chunks_of(path: Path) -> set[bytes]:
    with closing(sqlite3.connect(views_of(path))) as connection:
        return {digest for (digest,) in connection.execute("SELECT digest FROM chunks")}


def change_chunks(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(views_of(path))) as connection, connection:
        connection.create_function("flip", 1, lambda blob: bytes([blob[0] ^ 1]) + blob[1:])
        assert connection.execute(statement).rowcount > 0


def decisions(first: int, count: int) -> Iterator[object]:
    for number in range(first, first + count):
        yield record(f"d{number}", 0.5)


async def same_as_replay(opened: Opened) -> None:
    replayed = await opened.engine.replay(await opened.engine.catch_up())
    live = opened.engine.live
    assert {name: live[name].digest() for name in live} == {name: state.digest() for name, state in replayed.items()}


def hold_first_slice(one: Engine, asked: asyncio.Event) -> None:
    """Let no fold begin at position 1 before it is asked for."""
    read_slices = one.events.read_slices

    async def read(after: int, upto: int, payloads: Sequence[type[Payload]] = ()) -> AsyncGenerator[EventSlice, None]:
        if after == 0:
            await asked.wait()
        async for events in read_slices(after, upto, payloads):
            yield events

    one.events.read_slices = read  # type: ignore[method-assign]


def test_events_are_folded_without_a_question(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", KINDS) as opened, following(opened.engine):
            await opened.log.append([record("a", 0.5), record("b", 0.5)])
            await until(lambda: opened.engine.position == 2)
            assert opened.engine.lag_s(2) == 0
            assert dict(opened.engine.live["review_rows"].summary()) == {"decisions": 2, "reviews": 0}
            await same_as_replay(opened)

    run(scenario())


@pytest.mark.slow
def test_the_lag_begins_with_an_event_however_long_there_was_none(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", KINDS) as opened, following(opened.engine):
            one = opened.engine
            for number in (1, 2):
                await until(lambda: one.lag_s(number) == 0)  # noqa: B023 - awaited at once
                await one.at(ReviewRows)
                await asyncio.sleep(0.05)
                async with one._folding:
                    before_s = time.monotonic()
                    await opened.log.append([record(f"d{number}", 0.5)])
                    assert one.lag_s(number) <= time.monotonic() - before_s
                    await asyncio.sleep(0.05)
                    assert 0 < one.lag_s(number) <= time.monotonic() - before_s
                    lag_s = one.lag_s(number)
                    await asyncio.sleep(0.05)
                    assert one.lag_s(number) > lag_s, "it grows until the event is folded"
                await until(lambda: one.position == number)  # noqa: B023 - awaited at once
                assert one.lag_s(number) == 0

    run(scenario())


def test_the_lag_grows_while_the_log_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "RETRY_PAUSE_S", 0.01)
    failed_s: list[float] = []

    def fail(after: int, upto: int, payloads: Sequence[type[Payload]] = ()) -> AsyncGenerator[EventSlice, None]:
        failed_s.append(time.monotonic())
        raise LedgerUnavailable("no disk", "retry")

    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", KINDS) as opened, following(opened.engine):
            one = opened.engine
            read_slices, one.events.read_slices = one.events.read_slices, fail  # type: ignore[method-assign]
            await opened.log.append([record("a", 0.5)])
            await until(lambda: len(failed_s) > 3)
            assert one.lag_s(1) >= failed_s[-1] - failed_s[0]
            one.events.read_slices = read_slices  # type: ignore[method-assign]
            await until(lambda: one.position == 1)
            assert one.lag_s(1) == 0

    run(scenario())


@pytest.mark.slow
def test_views_that_are_folded_again_are_behind_since_they_were_dropped(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(9)])
        async with engine(path, KINDS):
            pass
        async with engine(path, KINDS) as opened, following(opened.engine):
            one, asked = opened.engine, asyncio.Event()
            hold_first_slice(one, asked)
            await until(lambda: one.lag_s(10) == 0)
            await asyncio.sleep(0.05)
            change_chunks(path, "UPDATE chunks SET bytes = flip(bytes)")
            rows, _ = await one.at(ReviewRows)
            with pytest.raises(ViewDamaged):
                rows.rows.column("position")
            before_s = time.monotonic()
            folding = asyncio.create_task(one.catch_up())
            await until(lambda: one.position == 0)
            await asyncio.sleep(0.01)
            assert 0 < one.lag_s(9) <= time.monotonic() - before_s
            asked.set()
            await folding
            assert one.lag_s(10) == 0, "it waits for the next event, as before"
            await same_as_replay(opened)

    run(scenario())


def test_a_question_sees_every_event_that_was_committed_before_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", KINDS) as opened, following(opened.engine):
            for number in range(40):
                await opened.log.append([record(f"d{number}", 0.5)])
                rows, position = await opened.engine.at(ReviewRows)
                assert (len(rows.rows), position) == (number + 1, number + 1)

    run(scenario())


def test_a_snapshot_is_of_one_position_although_folding_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with engine(path, KINDS, crash=True) as opened, following(opened.engine):
            save = opened.engine._snapshots.save
            saved: list[int] = []

            async def slowly(position: int, root: bytes, states: object) -> bool:
                number = len(saved)
                await opened.log.append([review("d0"), *[record(f"more{number}-{n}", 0.5) for n in range(5)]])
                await until(lambda: opened.engine.position >= position + 6)
                saved.append(position)
                return await save(position, root, states)  # type: ignore[arg-type]

            opened.engine._snapshots.save = slowly  # type: ignore[method-assign]
            for number in range(3):
                await opened.log.append([record(f"d{number if n == 0 else f'{number}-{n}'}", 0.5) for n in range(6)])
                await until(lambda: len(saved) > number and opened.engine._store.ready)  # noqa: B023 - awaited at once
            # from here on a save appends nothing, so that what is compared is of one position
            opened.engine._snapshots.save = save  # type: ignore[method-assign]
            await opened.engine._store.finish()
            await same_as_replay(opened)
        async with engine(path, KINDS) as opened:
            await same_as_replay(opened)

    run(scenario())


def test_a_snapshot_writes_what_changed_and_deletes_what_no_snapshot_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 100)
    monkeypatch.setattr(snapshots, "EARLIER_APART", 4)
    path = tmp_path / "ledger.db"

    async def append(*drafts: object) -> None:
        async with engine(path, (ReviewRows,)) as opened:
            await opened.log.append(drafts)  # type: ignore[arg-type]
            await same_as_replay(opened)

    run(append(*decisions(0, 12)))
    first = chunks_of(path)
    assert len(first) == 3 + 1, "three groups of positions, and the rest of the state"
    run(append(*decisions(12, 4)))
    second = chunks_of(path)
    assert first < second
    assert len(second - first) == 2, "a new group, and the rest of the state"
    run(append(review("d0")))
    third = chunks_of(path)
    assert len(third - second) == 1, "the reviews of one group"
    run(append(*decisions(16, 4)))
    assert not third - second - chunks_of(path)
    run(append(*decisions(20, 4)))
    with closing(sqlite3.connect(views_of(path))) as connection:
        positions = [position for (position,) in connection.execute("SELECT position FROM snapshots ORDER BY position")]
    assert positions == [12, 21, 25]
    assert len(chunks_of(path)) == 6 + 1 + len(positions)


@pytest.mark.parametrize("damage", ["UPDATE chunks SET bytes = flip(bytes)", "DELETE FROM chunks"])
@pytest.mark.parametrize("group", [0, 1])
def test_a_damaged_chunk_that_a_fold_reads_lets_the_events_be_folded_again(
    tmp_path: Path, damage: str, group: int
) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with engine(path, KINDS) as opened:
            await opened.log.append([record(f"d{n}", 0.5) for n in range(9)])
            await opened.engine.catch_up()
        async with ledger(path) as log:
            rows, _ = await Engine(log, KINDS).at(ReviewRows)
            digest = rows.rows.saved().columns["position"][group]
        async with engine(path, KINDS) as opened:
            change_chunks(path, f"{damage} WHERE digest = x'{digest.hex()}'")
            await opened.log.append([review("d0")])
            await opened.engine.catch_up()
            await same_as_replay(opened)
        async with engine(path, KINDS, progress=lambda *_: pytest.fail("what was saved again is used")) as opened:
            await same_as_replay(opened)

    run(scenario())


def test_a_damaged_chunk_that_a_view_reads_is_named_and_then_folded_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with engine(path, KINDS) as opened:
            await opened.log.append([record("d0", 0.5)])
            await opened.engine.catch_up()
        async with engine(path, KINDS) as opened:
            change_chunks(path, "UPDATE chunks SET bytes = flip(bytes) WHERE length(bytes) = 8")
            rows, _ = await opened.engine.at(ReviewRows)
            with pytest.raises(ViewDamaged, match=r"views\.db is damaged.*Ask again"):
                rows.rows.column("position")
            rows, _ = await opened.engine.at(ReviewRows)
            assert rows.rows.column("position").tolist() == [1]
            await same_as_replay(opened)

    run(scenario())


def test_a_view_without_a_snapshot_is_folded_beside_those_that_answer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with upgraded(path, OtherReviewRows) as opened:
            one, asked = opened.engine, asyncio.Event()
            hold_first_slice(one, asked)
            folding = asyncio.create_task(one.start(beside=True))
            await until(lambda: bool(one.live))
            await opened.log.append([record("new", 0.5), review("d3")])
            rows, position = await one.at(ReviewRows)
            assert (position, len(rows.rows)) == (62, 61)
            assert "other_review_rows" not in one.live, "it is still being folded"
            asked.set()
            other, position = await one.at(OtherReviewRows)
            assert position == 62
            assert other.rows.column("reviews").tolist() == rows.rows.column("reviews").tolist()
            await folding
            await same_as_replay(opened)
        async with engine(path, (*KINDS, OtherReviewRows), progress=lambda *_: pytest.fail("all were saved")) as opened:
            await same_as_replay(opened)

    run(scenario())


def test_a_view_that_cannot_be_folded_beside_is_an_error_for_those_who_ask_for_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    class Broken(ReviewRows):
        name = "broken"

        def fold(self, events: object) -> None:
            raise RuntimeError("cannot fold")

    async def scenario() -> None:
        async with upgraded(path, Broken) as opened:
            one = opened.engine
            with pytest.raises(RuntimeError, match="cannot fold"):
                await one.start(beside=True)
            with pytest.raises(RuntimeError, match="cannot fold"):
                await one.at(Broken)
            rows, _ = await one.at(ReviewRows)
            assert len(rows.rows) == 60

    run(scenario())
