"""An engine that begins without projections folds those that it is asked for, and only those."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft
from events.registry import VOCABULARY
from ledger.log import Query
from projections import engine as engine_module
from projections import slice_reader
from projections.calibration.calibration import Calibration
from projections.decisions.decision_index import DecisionIndex
from projections.engine import Engine
from projections.projection import Projection
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots
from tests.projections.drafts import record
from tests.projections.open_ledgers import SECRET, compare_with_replay, encoded, engine, ledger, views_of, write
from tests.projections.random_histories import everything, sliced
from tests.support.event_loop import run


@pytest.mark.slow
@given(
    drafts=everything(24),
    cut=st.integers(0, 24),
    order=st.permutations(PROJECTIONS),
    begun=st.integers(0, len(PROJECTIONS)),
    saved=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_projections_that_are_asked_for_one_by_one_are_what_a_replay_gives(
    drafts: list[Draft], cut: int, order: Sequence[type[Projection]], begun: int, saved: bool
) -> None:
    """With snapshots of some of them or of none, before and after more events."""

    async def scenario(path: Path) -> None:
        if drafts[:cut]:
            await write(path, drafts[:cut])
        if saved:
            async with engine(path, order[:begun]):
                pass
        async with engine(path, ()) as opened:
            for number, kind in enumerate(order):
                if number == begun and drafts[cut:]:
                    await opened.log.append(drafts[cut:])
                state, position = await opened.engine.at(kind)
                assert list(opened.engine.live) == [kind.name for kind in order[: number + 1]]
                events = VOCABULARY.events((await opened.log.read(Query(before=position + 1, limit=1000))).ndjson)
                alone = kind()
                alone.fold(sliced(events))
                assert state.digest() == alone.digest()
            assert all(comparison.same for comparison in await compare_with_replay(opened.engine))
            before = encoded(opened.engine)
        async with engine(path) as opened:
            assert encoded(opened.engine) == before, "what it saved is what every projection restores"

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_reader, "SLICE_EVENTS", 3)
        patch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 5)
        run(scenario(Path(folder) / "ledger.db"))


def test_it_folds_and_saves_only_what_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(60)])
        async with engine(path, ()) as opened:
            assert (opened.engine.position, dict(opened.engine.live)) == (60, {})
            await opened.log.append([record("new", 0.5)])
            assert await opened.engine.catch_up() == 61
            await opened.engine.at(DecisionIndex, 30)
            assert dict(opened.engine.live) == {}, "a state of the past is not kept"
            await opened.engine.at(DecisionIndex)
        snapshots = await Snapshots.open(views_of(path), writable=False, secret=SECRET)
        try:
            positions = {kind.name: await snapshots.position(kind.name, kind.version, 61) for kind in PROJECTIONS}
        finally:
            await snapshots.close()
        assert {name: position for name, position in positions.items() if position} == {"decisions": 61}

    run(scenario())


def test_projections_that_are_added_together_are_folded_in_one_scan(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(60)])
        async with ledger(path) as log:
            reported: list[int] = []
            one = Engine(log, (), progress=lambda at, _: reported.append(at))
            one.add((DecisionIndex, Calibration))
            await one.at(Calibration)
            assert reported == [60], "each event was read once, and the progress of the process was reported"
            await one.at(DecisionIndex)
            assert reported == [60]
            await one.close()

    run(scenario())


def test_faulty_lines_are_left_out_of_a_projection_that_is_added_later(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(9)])
        async with ledger(path) as log:
            one = Engine(log, ())
            assert await one.catch_up() == 9
            read = log.read

            async def damaged(query: Query) -> object:
                page = await read(query)
                return page._replace(ndjson=page.ndjson.replace(b'"confidence":0.5', b'"confidence":7.5', 1))

            log.read = damaged  # type: ignore[method-assign, assignment]
            state, position = await one.at(DecisionIndex)
            assert position == 9
            assert list(one.left_out) == [1]
            calibration, _ = await one.at(Calibration)
            assert len(state) == 8
            assert len(calibration.cells) == 8
            await one.close()

    run(scenario())
