"""The first fold: only callers of a view wait for it, and a stop keeps what was folded before."""

import asyncio
from pathlib import Path

import pytest

from projections import engine as engine_module
from projections import slice_reader
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from projections.registry import PROJECTIONS
from projections.snapshots import Snapshots
from tests.projections.drafts import record
from tests.projections.open_ledgers import (
    SECRET,
    encoded,
    engine,
    ledger,
    views_of,
    write,
)
from tests.support.event_loop import run


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices and snapshots of a few events, so that small histories have many."""
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 3)
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 5)


def test_who_asks_while_the_first_fold_goes_on_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(60)])
        async with ledger(path) as log:
            engine = engine_module.Engine(log, PROJECTIONS)
            starting = asyncio.create_task(engine.start())
            answers = await asyncio.gather(*(engine.at(DecisionIndex) for _ in range(4)))
            assert [(len(state.find(DecisionSelection())), position) for state, position in answers] == [(60, 60)] * 4
            await starting

    run(scenario())


def test_an_engine_that_was_not_started_begins_with_its_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(60)])
        async with engine(path):
            pass
        async with ledger(path) as log:
            snapshots = await Snapshots.open(views_of(path), writable=True, secret=SECRET)
            lazy = engine_module.Engine(log, PROJECTIONS, snapshots)
            reported: list[int] = []
            await lazy.catch_up(lambda at, _: reported.append(at))
            assert (lazy.position, reported) == (60, []), "nothing was left to fold"
            await lazy.close()

    run(scenario())


def test_a_fold_that_is_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"

    async def scenario() -> None:
        await write(path, [record(f"d{n}", 0.5) for n in range(60)])
        async with ledger(path) as log:
            snapshots = await Snapshots.open(views_of(path), writable=True, secret=SECRET)
            one = engine_module.Engine(log, PROJECTIONS, snapshots)
            reached = asyncio.Event()
            starting = asyncio.create_task(one.start(lambda at, _: reached.set() if at > 30 else None))
            await reached.wait()
            starting.cancel()
            await asyncio.wait([starting])
            assert 30 < one.position < 60
            await one._store.finish()
            assert await snapshots.latest(DecisionIndex.name, DecisionIndex.version, 60) is not None, (
                "it was kept on the way"
            )
            assert await one.catch_up() == 60
            assert encoded(one) == encoded(list((await one.replay(60)).values()))
            await one.close()

    run(scenario())
