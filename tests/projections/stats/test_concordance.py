"""AUC: by its definition over all pairs, and an interval that covers the truth. Fixed seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.calibration.confidence_use import rank_outcomes
from tests.projections.stats.evidence import STATING, bins_of

SAMPLES = 1_000


@given(st.lists(st.tuples(st.integers(0, 10), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=25))
def test_it_is_the_share_of_pairs(rows: list[tuple[int, float]]) -> None:
    found = rank_outcomes(bins_of(np.array([row[0] for row in rows]) / 10, np.array([row[1] for row in rows])))
    pairs = [(a, b) for a in rows for b in rows if a[1] > b[1]]
    if not pairs:
        assert found is None
        return
    assert found is not None
    agree = sum(1.0 if a[0] > b[0] else 0.5 if a[0] == b[0] else 0.0 for a, b in pairs)
    assert found.pairs == len(pairs)
    assert found.auc == pytest.approx(agree / len(pairs), abs=1e-12)
    if found.interval is None:
        assert len({row[0] for row in rows}) == 1
        return
    assert 0 <= found.interval.low <= found.auc + 1e-9
    assert found.auc - 1e-9 <= found.interval.high <= 1
    assert found.interval.low < found.interval.high


def test_a_perfect_ranking_keeps_an_interval() -> None:
    found = rank_outcomes(bins_of(np.array([0.9] * 5 + [0.3] * 5), np.array([1.0] * 5 + [0.0] * 5)))
    assert found is not None
    assert found.interval is not None
    assert found.auc == found.interval.high == 1
    assert 0.5 < found.interval.low < 0.9


@pytest.mark.parametrize("partial", [0.0, 0.2])
@pytest.mark.parametrize(("name", "n"), [("heaped", 50), ("beta(8,2)", 200), ("uniform", 200), ("sure or not", 50)])
def test_the_interval_covers_the_truth(name: str, n: int, partial: float) -> None:
    """In at least 95% of samples; measured 95.7 to 98.7%, ties and partial outcomes included."""
    stating = STATING[name]
    rng = np.random.default_rng([n, round(10 * partial)])

    def sample(size: int) -> tuple[np.ndarray, np.ndarray]:
        confidence = stating(rng, (size,))
        outcome = (rng.random(size) < confidence).astype(float)
        return confidence, np.where(rng.random(size) < partial, 0.5, outcome)

    truth = rank_outcomes(bins_of(*sample(300_000)))
    assert truth is not None
    found = [
        one.interval for one in (rank_outcomes(bins_of(*sample(n))) for _ in range(SAMPLES)) if one and one.interval
    ]
    assert sum(one.low <= truth.auc <= one.high for one in found) / len(found) >= 0.94
