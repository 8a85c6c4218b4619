"""The engine: however a state was got (live, from a snapshot, as of a position, from 1), its bytes are the same."""

import asyncio
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.errors import InvalidQuery
from ledger.log import Query
from projections import column_table, slice_reader
from projections import engine as engine_module
from projections.calibration.calibration import Calibration
from projections.calibration.reason_index import ReasonIndex
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.event_slice import EventSlice
from projections.projection import Projection
from projections.registry import PROJECTIONS
from tests.projections.bad_projections import (
    ANEW,
    Counting,
    DecisionsAnew,
    Failing,
    Forgetting,
    Lying,
)
from tests.projections.chunks import restored
from tests.projections.drafts import record, review, think
from tests.projections.open_ledgers import (
    Opened,
    compare_with_replay,
    encoded,
    engine,
    ledger,
    post_each,
    write,
)
from tests.projections.random_histories import events_of, everything, sliced
from tests.support.event_loop import run


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices and snapshots of a few events, so that small histories have many."""
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 3)
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 5)


def some(count: int, prefix: str = "d") -> list[Draft]:
    """Decisions recorded, thought about and reviewed: three events each."""
    steps = [
        (record(f"{prefix}{n}", n % 10 / 10, tags=("a",)), think(f"{prefix}{n}", "hm"), review(f"{prefix}{n}"))
        for n in range(count)
    ]
    return [draft for step in steps for draft in step]


def twelve() -> list[Draft]:
    """Four decisions."""
    return some(4)


def fresh(events: EventSlice, kind: type[Projection]) -> Projection:
    """A state folded in one run."""
    projection = kind()
    projection.fold(events)
    return projection


async def all_agree(opened: Opened) -> None:
    """What is live is what a replay gives."""
    replayed = await opened.engine.replay(await opened.engine.catch_up())
    assert encoded(opened.engine) == encoded(list(replayed.values()))
    assert all(comparison.same for comparison in await compare_with_replay(opened.engine))


@pytest.mark.parametrize("kind", PROJECTIONS)
@given(drafts=everything(), cuts=st.lists(st.integers(0, 40)))
@settings(max_examples=100, deadline=None)
def test_how_a_history_is_cut_makes_no_difference(kind: type[Projection], drafts: list[Draft], cuts: list[int]) -> None:
    events = events_of(drafts)
    whole, cut, decoded, single = kind(), kind(), kind(), kind()
    whole.fold(events)
    for start, end in pairwise([0, *sorted(cuts), len(events)]):
        run_of_events = events[start:end]
        cut.fold(run_of_events)
        decoded = restored(decoded)
        decoded.fold(run_of_events)
    for place in range(len(events)):
        single.fold(events[place : place + 1])
    assert whole.encode() == cut.encode() == decoded.encode() == single.encode()
    assert whole.digest() == cut.digest() == decoded.digest() == single.digest()
    assert restored(whole).digest() == whole.digest()
    assert restored(whole).summary() == whole.summary()


@pytest.mark.slow
@given(
    drafts=everything(24),
    cuts=st.lists(st.integers(0, 24), max_size=6),
    slice_events=st.integers(1, 9),
    between=st.integers(1, 12),
    group_rows=st.integers(1, 9),
)
@settings(max_examples=40, deadline=None)
def test_as_of_every_position_is_what_stood_there(
    drafts: list[Draft], cuts: list[int], slice_events: int, between: int, group_rows: int
) -> None:
    """Appended in runs of any size, with snapshots at any distance: each position's view is the one that was live."""
    before: dict[int, dict[str, tuple[bytes, str]]] = {}
    cuts = sorted({min(cut, len(drafts)) for cut in cuts} | {len(drafts)})

    async def scenario(path: Path) -> None:
        async with engine(path) as opened:
            before[0] = encoded(opened.engine)
            for start, end in pairwise([0, *cuts]):
                if drafts[start:end]:
                    await opened.log.append(drafts[start:end])
                assert await opened.engine.catch_up() == end
                before[end] = encoded(opened.engine)
            await all_agree(opened)
            events = sliced(VOCABULARY.events((await opened.log.read(Query(limit=1000))).ndjson))
            for position in range(len(drafts) + 1):
                dated = [(await opened.engine.at(kind, position)) for kind in PROJECTIONS]
                assert [at for _, at in dated] == [position] * len(PROJECTIONS)
                states = encoded([state for state, _ in dated])
                assert states == encoded([fresh(events[:position], kind) for kind in PROJECTIONS])
                assert states == before.get(position, states)
                assert encoded(list((await opened.engine.replay(position)).values())) == states
                assert all(one.same for one in await compare_with_replay(opened.engine, position))
            assert encoded(opened.engine) == before[len(drafts)], "looking back moved what is live"

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_reader, "SLICE_EVENTS", slice_events)
        patch.setattr(column_table, "GROUP_ROWS", group_rows)
        patch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", between)
        run(scenario(Path(folder) / "ledger.db"))


@pytest.mark.parametrize("position", [-1, -3])
def test_a_position_before_the_first_is_refused(tmp_path: Path, position: int) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            with pytest.raises(InvalidQuery, match="before the first event"):
                await opened.engine.at(DecisionIndex, position)

    run(scenario())


def test_a_position_beyond_the_head_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append(some(2))
            with pytest.raises(InvalidQuery, match="7 is beyond the head, 6"):
                await opened.engine.at(DecisionIndex, 7)
            with pytest.raises(InvalidQuery):
                await compare_with_replay(opened.engine, 7)
            _, position = await opened.engine.at(DecisionIndex)
            assert position == 6

    run(scenario())


@pytest.mark.usefixtures("small")
def test_a_wrong_projection_is_detected(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", (DecisionIndex, Lying, Counting)) as opened:
            for draft in some(3):
                await opened.log.append([draft])
                await opened.engine.catch_up()
            comparisons = await compare_with_replay(opened.engine)
            assert [(one.name, one.same) for one in comparisons] == [
                ("decisions", True),
                ("lying", False),
                ("counting", True),
            ]
            assert all(len(one.incremental) == len(one.replayed) == 64 for one in comparisons)

    run(scenario())


def test_a_projection_that_loses_state_is_detected_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", (Forgetting,)) as opened:
            await opened.log.append(some(3))
            assert [one.same for one in await compare_with_replay(opened.engine)] == [True]
        async with engine(tmp_path / "ledger.db", (Forgetting,)) as opened:
            assert [one.same for one in await compare_with_replay(opened.engine)] == [False]

    run(scenario())


@pytest.mark.usefixtures("small")
def test_many_ask_while_many_append(tmp_path: Path) -> None:
    drafts = [some(6, f"w{writer}-") for writer in range(4)]

    async def ask(opened: Opened) -> None:
        seen = 0
        while seen < 72:
            head = (await opened.log.head()).position
            position = await opened.engine.catch_up()
            assert position >= max(head, seen)
            seen = position
            state, at = await opened.engine.at(Counting)
            assert state.encode() == (await opened.engine.replay(at))["counting"].encode()
            await asyncio.sleep(0)

    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", (*PROJECTIONS, Counting)) as opened:
            writers = [post_each(opened.log, one) for one in drafts]
            await asyncio.gather(*writers, *(ask(opened) for _ in range(3)))
            await all_agree(opened)

    run(scenario())


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("turns", range(0, 40, 3))
def test_an_asker_who_leaves_half_way_spoils_nothing(tmp_path: Path, turns: int) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append(some(10))
            leaving = asyncio.create_task(opened.engine.catch_up())
            for _ in range(turns):
                await asyncio.sleep(0.0005)
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
            await opened.log.append(some(5, "later"))
            assert await opened.engine.catch_up() == 45
            await all_agree(opened)

    run(scenario())


@pytest.mark.usefixtures("small")
def test_a_new_version_is_folded_from_the_start_beside_the_others(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, some(60))
        async with engine(path) as opened:
            state, at = await opened.engine.at(DecisionIndex)
            assert (type(state), len(state), at) == (DecisionIndex, 60, 180)
        async with engine(path, ANEW) as opened:
            state, at = await opened.engine.at(DecisionIndex)
            assert (type(state), len(state), at) == (DecisionsAnew, 60, 180)
            await opened.log.append(some(1, "after"))
            await all_agree(opened)
            last = encoded(opened.engine)
        async with engine(path, ANEW) as opened:
            assert encoded(opened.engine) == last
            await all_agree(opened)

    run(scenario())


def test_a_fold_that_fails_half_way_is_begun_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db", (Counting, Failing, DecisionIndex)) as opened:
            Failing.failures.clear()
            await post_each(opened.log, twelve())
            with pytest.raises(MemoryError):
                await opened.engine.catch_up()
            state, position = await opened.engine.at(Counting)
            assert (state.count, position) == (4, 12)
            await all_agree(opened)

    run(scenario())


def test_a_new_version_is_kept_though_nothing_was_appended(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, twelve())
        async with engine(path):
            pass
        async with engine(path, ANEW):
            pass
        reported: list[tuple[int, int]] = []
        async with engine(path, ANEW, progress=lambda at, end: reported.append((at, end))):
            assert reported == []

    run(scenario())


def test_a_new_version_gives_the_past_too(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, twelve())
        async with engine(path) as opened:
            await opened.engine.catch_up()
        async with engine(path, ANEW) as opened:
            state, _ = await opened.engine.at(DecisionIndex, 6)
            assert (type(state), len(state)) == (DecisionsAnew, 2)

    run(scenario())


def test_an_empty_log_has_empty_views(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            state, position = await opened.engine.at(DecisionIndex, 0)
            assert (len(state), position) == (0, 0)
            await all_agree(opened)

    run(scenario())


@pytest.mark.usefixtures("small")
def test_progress_is_reported_up_to_the_end(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []

    async def scenario() -> None:
        await write(tmp_path / "ledger.db", some(4))
        async with engine(tmp_path / "ledger.db", progress=lambda at, to: reported.append((at, to))) as opened:
            assert reported == [(3, 12), (5, 12), (8, 12), (10, 12), (12, 12)]
            reported.clear()
            await opened.engine.replay(7, lambda at, to: reported.append((at, to)))
            assert reported == [(3, 7), (6, 7), (7, 7)]

    run(scenario())


def test_what_is_found_is_what_was_posted(tmp_path: Path) -> None:
    """As an interface sees it: after an append the views have the event."""

    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            for number in range(5):
                await opened.log.append([record(f"d{number}", 0.5)])
                state, _ = await opened.engine.at(DecisionIndex)
                names = await opened.engine.names.subjects(state.positions(state.find(DecisionSelection())))
                assert names == [f"decision/d{n}" for n in range(number + 1)]

    run(scenario())


def test_a_reader_beside_the_writer_keeps_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        async with ledger(path) as log:
            await log.append(some(3))
            reading = engine_module.Engine(log, PROJECTIONS)
            await reading.start()
            await reading.close()
            assert not path.with_suffix(".views.db").exists()

    run(scenario())


def test_live_projections_share_their_index_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, twelve())
        for round_ in range(2):
            async with engine(path) as opened:
                await opened.log.append(some(1, f"round{round_}-"))
                decisions, _ = await opened.engine.at(DecisionIndex)
                calibration, _ = await opened.engine.at(Calibration)
                reasons, _ = await opened.engine.at(ReasonIndex)
                assert calibration.cells.numbers is decisions.numbers
                assert reasons._cells is calibration.cells
                await all_agree(opened)

    run(scenario())
