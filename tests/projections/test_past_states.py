"""States of earlier positions are kept while the snapshots are there that they were folded from."""

from pathlib import Path

import pytest

from projections import engine as engine_module
from projections import slice_reader
from projections.calibration.calibration import Calibration
from projections.decisions.decision_index import DecisionIndex
from projections.engine import Engine
from projections.projection import Projection
from tests.projections.drafts import record, review
from tests.projections.open_ledgers import Opened, engine, post_each
from tests.support.event_loop import run

STATES_MAX = 4

DRAFTS = [draft for n in range(40) for draft in (record(f"d{n}", n % 10 / 10), review(f"d{n}"))]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_reader, "SLICE_EVENTS", 3)
    monkeypatch.setattr(engine_module, "SNAPSHOT_EVENTS_MIN", 10)
    monkeypatch.setattr(engine_module, "STATES_MAX", STATES_MAX)


async def state_at(one: Engine, kind: type[Projection], position: int) -> Projection:
    state, at = await one.at(kind, position)
    assert at == position
    assert state.digest() == (await one.replay(position))[kind.name].digest()
    return state


def test_a_position_that_is_asked_again_is_not_folded_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append(DRAFTS)
            await folded_and_saved(opened)
            first = await state_at(opened.engine, DecisionIndex, 33)
            assert await state_at(opened.engine, DecisionIndex, 33) is first
            assert await state_at(opened.engine, Calibration, 33) is not first, "each projection has its own"
            assert await state_at(opened.engine, DecisionIndex, 32) is not first
            await opened.log.append([record("later", 0.5)])
            await opened.engine.catch_up()
            assert await state_at(opened.engine, DecisionIndex, 33) is first, "later events change no earlier state"
            for position in range(1, STATES_MAX + 1):
                await state_at(opened.engine, DecisionIndex, position)
            assert await state_at(opened.engine, DecisionIndex, 33) is not first, "only the last ones are kept"

    run(scenario())


def test_a_kept_state_never_outlives_the_snapshots_that_it_reads(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append(DRAFTS)
            await folded_and_saved(opened)
            first, _ = await opened.engine.at(DecisionIndex, 33)  # nothing of its tables is loaded
            await post_each(opened.log, [record(f"more-{n}", 0.5) for n in range(80)])
            await folded_and_saved(opened)
            assert await state_at(opened.engine, DecisionIndex, 33) is not first

    run(scenario())


def test_a_kept_state_goes_with_the_live_states(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with engine(tmp_path / "ledger.db") as opened:
            await opened.log.append(DRAFTS)
            await folded_and_saved(opened)
            first = await state_at(opened.engine, DecisionIndex, 33)
            opened.engine._drop()
            assert await state_at(opened.engine, DecisionIndex, 33) is not first

    run(scenario())


async def folded_and_saved(opened: Opened) -> None:
    """Fold every event, and wait until the states are saved."""
    await opened.engine.catch_up()
    await opened.engine._store.finish()
    await opened.engine._save()
    await opened.engine._store.finish()
