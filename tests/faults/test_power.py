"""Power loss, in short; and that the row would tell."""

import asyncio
import random
from pathlib import Path

import pytest

from tests.faults.lines import stored
from tests.faults.power import NAME, cut, play
from tests.faults.shim import Record, Shim, unfit

pytestmark = [pytest.mark.slow, pytest.mark.skipif(unfit() is not None, reason=str(unfit()))]

SEED = 4
CUTS = 8
"""Of more than a hundred; `make faults` does them all."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], list[bytes]]:
    """The trace of a workload, and its lines."""
    folder = tmp_path_factory.mktemp("power")
    shim = Shim(folder / "disk", folder / "beside", traced=True)
    play(folder / "disk" / NAME, shim, random.Random(SEED))
    return shim.trace(), list(stored(folder / "disk" / NAME))


def test_i4_what_was_acknowledged_survives_every_power_cut(
    recorded: tuple[list[Record], list[bytes]], tmp_path: Path
) -> None:
    trace, history = recorded
    found = asyncio.run(cut(trace, history, tmp_path, random.Random(SEED), CUTS))
    assert found.wrong == []
    assert found.images > found.cuts == CUTS


@pytest.mark.parametrize("unsynced", ["S", "D"])
def test_a_ledger_that_does_not_sync_its_files_or_their_names_is_caught(
    recorded: tuple[list[Record], list[bytes]], tmp_path: Path, unsynced: str
) -> None:
    trace, history = recorded
    trace = [record for record in trace if record.kind != unsynced]
    assert asyncio.run(cut(trace, history, tmp_path, random.Random(SEED), CUTS)).wrong
