"""Horizons are learnt from kept counts as from each decision, whatever changed since these were kept."""

from collections.abc import Iterator
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from projections import column_table
from projections.arrays import Ints, RowNumbers
from projections.calibration import maturity
from projections.calibration.cells import CellNumbers
from projections.calibration.maturity import DelayCounts, Maturity
from projections.column_table import ColumnTable
from projections.outcome_codes import OUTCOME_NUMBERS, RETRACTED

SECOND_US, HOUR_US = 1_000_000, 3_600_000_000
DECISIONS, CATEGORIES = 600, 3


@pytest.fixture(autouse=True)
def _short_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_table, "GROUP_ROWS", 64)


class Drawn(NamedTuple):
    """Decisions, one an hour: cell, category, when each was made, when it is reviewed (0: never), and the outcome."""

    cell: RowNumbers
    category: RowNumbers
    made_us: Ints
    reviewed_us: Ints
    outcome: npt.NDArray[np.uint8]


def draw(seed: int) -> Drawn:
    """Of the first category few are never reviewed; of the second all come within a day, of the third failures do."""
    rng = np.random.default_rng(seed)
    category, good = rng.integers(0, CATEGORIES, DECISIONS), rng.random(DECISIONS) < 0.7
    made_us = np.arange(1, DECISIONS + 1) * HOUR_US + rng.integers(-HOUR_US, HOUR_US, DECISIONS)
    late = (category == 2) & good
    delay_us = (rng.exponential(np.where(late, 10, 1), DECISIONS) * 4 * HOUR_US).astype(np.int64) + 1
    missing = rng.random(DECISIONS) < np.array([0.002, 0.2, 0.2])[category]
    outcome = np.where(good, OUTCOME_NUMBERS["success"], OUTCOME_NUMBERS["failure"]).astype(np.uint8)
    return Drawn(
        category * 2 + rng.integers(0, 2, DECISIONS),
        category,
        made_us,
        np.where(missing, 0, made_us + delay_us),
        outcome,
    )


def plain_horizon(drawn: Drawn, counts: npt.NDArray[np.bool_], category: int, now_us: int) -> int:
    """Return the horizon of a category from its decisions, in microseconds; 0 if none is known."""
    chosen = counts & (drawn.category == category)
    known = chosen & (drawn.reviewed_us > 0) & (drawn.reviewed_us <= now_us)
    if chosen.sum() - known.sum() <= maturity.MISSING_SHARE_MAX * chosen.sum() or known.sum() < 30:
        return 0
    delay_us, good = (drawn.reviewed_us - drawn.made_us)[known], drawn.outcome[known] == OUTCOME_NUMBERS["success"]
    age_us = now_us - drawn.made_us[known]
    for step in range(31):
        horizon_us = SECOND_US << step
        whole = (age_us >= 2 * horizon_us) & (delay_us <= 2 * horizon_us)
        late = whole & (delay_us > horizon_us)
        prompt = [
            not kind.any() or (late & kind).sum() + 2.3 + 1.3 * sqrt((late & kind).sum()) <= 0.1 * (whole & kind).sum()
            for kind in (good, ~good)
        ]
        if all(prompt) and whole.sum() >= 30:
            return horizon_us
    return 0


def moments(drawn: Drawn, kept: DelayCounts) -> Iterator[tuple[Maturity, npt.NDArray[np.bool_]]]:
    """Yield when decisions are due after each of some appends, and which decisions count."""
    cells = CellNumbers()
    for category in range(CATEGORIES):
        for level in (0.6, 0.9):
            cells.add(("/agents/a", str(category), None, None, None, None), level)
    recorded = ColumnTable(time_us=np.int64)
    counted = ColumnTable(cell=np.uint32, outcome=np.uint8, due_us=np.int64, delay_us=np.int64)
    seen = np.zeros(DECISIONS, dtype=bool)
    counts = np.zeros(DECISIONS, dtype=bool)
    for end in range(50, DECISIONS + 1, 50):
        start, now_us = len(recorded), int(drawn.made_us[:end].max())
        recorded.append(end - start, {"time_us": drawn.made_us[start:end]})
        counted.append(end - start, {"cell": drawn.cell[start:end].astype(np.uint32)})
        counts[start:end] = True
        new = np.flatnonzero(
            counts[:end] & ~seen[:end] & (drawn.reviewed_us[:end] > 0) & (drawn.reviewed_us[:end] <= now_us)
        )
        counted.put("outcome", new, drawn.outcome[new])
        counted.put("delay_us", new, (drawn.reviewed_us - drawn.made_us)[new])
        seen[new] = True
        retracted = np.array([start // 2])
        counted.put("outcome", retracted, RETRACTED)
        counts[retracted] = False
        yield Maturity(recorded.freeze(), counted.freeze(), cells.now(), now_us, kept), counts


@pytest.mark.parametrize("seed", range(4))
def test_horizons_are_those_of_counting_each_decision(seed: int) -> None:
    drawn, kept, known = draw(seed), DelayCounts(), set[tuple[int, int]]()
    for found, counts in moments(drawn, kept):
        horizons = found.horizons.horizon_us.tolist()
        assert horizons == [plain_horizon(drawn, counts, category, found.now_us) for category in range(CATEGORIES)]
        assert found.horizons.open.tolist() == [horizon == 0 for horizon in horizons]
        known.update(enumerate(horizons))
    assert (0, 0) in known
    assert any(horizon > 0 for category, horizon in known if category == 1)


def test_only_groups_that_changed_or_grew_older_are_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    number_delays, counted = maturity._number_delays, list[int]()

    def count(*columns: object) -> tuple[int, Ints]:
        counted.append(int(str(columns[2])))
        return number_delays(*columns)  # type: ignore[arg-type]

    monkeypatch.setattr(maturity, "_number_delays", count)
    kept = DelayCounts()
    *_, (last, _) = moments(draw(1), kept)
    assert last.horizons.horizon_us.any()
    everything = counted[:]
    assert len(set(everything)) == -(-DECISIONS // 64)
    counted.clear()
    again = Maturity(last._recorded, last._counted, last._cells, last.now_us, kept)
    assert again.horizons.horizon_us.tolist() == last.horizons.horizon_us.tolist()
    assert not counted
    later = Maturity(last._recorded, last._counted, last._cells, last.now_us + SECOND_US, kept)
    assert later.horizons.horizon_us.tolist() == last.horizons.horizon_us.tolist()
    assert len(counted) < len(set(everything))
