"""The map from what was stated to what it meant: offered where it pays on decisions it did not see."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins, bin_counts
from projections.calibration.corp import fit_isotonic
from projections.calibration.recalibration import REVIEWS_MIN, Recalibration, cross_validate, fit_recalibration
from projections.calibration.scores import brier_score
from tests.projections.short_decisions import cells

letters = st.text("SPFA", min_size=1, max_size=30)
pools = st.lists(st.tuples(st.integers(0, 20).map(lambda c: c / 20), letters), min_size=1, max_size=10)


def drawn(confidence: Floats, chance: Floats, seed: int) -> ConfidenceBins:
    rng = np.random.default_rng(seed)
    outcomes = np.where(rng.random(len(confidence)) < chance, "S", "F")
    return bin_counts(*cells(*zip(confidence.tolist(), outcomes.tolist(), strict=True)))


def test_what_an_overconfident_agent_meant() -> None:
    stated = np.repeat([0.6, 0.75, 0.9], 400)
    found = fit_recalibration(drawn(stated, stated - 0.15, 3))
    assert found is not None
    assert found.mapped_brier_score < found.stated_brier_score
    assert [(row.low, row.high, row.reviewed) for row in found.meanings] == [
        (0.6, 0.6, 400),
        (0.75, 0.75, 400),
        (0.9, 0.9, 400),
    ]
    for row in found.meanings:
        assert row.meant == pytest.approx(row.low - 0.15, abs=0.06)
        assert row.interval.low < row.low - 0.15 < row.interval.high < row.low


def test_a_calibrated_agent_is_offered_a_map_only_by_accident() -> None:
    stated = np.repeat(np.arange(1, 10) / 10, 60)
    offered: list[Recalibration] = []
    for seed in range(100):
        found = fit_recalibration(drawn(stated, stated, seed))
        if found is not None:
            offered.append(found)
    assert len(offered) <= 5


def test_too_few_reviews_draw_no_map() -> None:
    assert REVIEWS_MIN == 20
    assert fit_recalibration(bin_counts(*cells((0.9, "F" * 19)))) is None
    found = fit_recalibration(bin_counts(*cells((0.9, "F" * 20))))
    assert found is not None
    assert [(row.low, row.meant) for row in found.meanings] == [(0.9, 0.0)]


@given(pools)
@settings(max_examples=100)
def test_a_map_is_offered_where_it_pays_and_nowhere_else(given: list[tuple[float, str]]) -> None:
    found = bin_counts(*cells(*given))
    offered, stated = fit_recalibration(found), brier_score(found)
    score, error = cross_validate(found)
    assert (offered is not None) == (found.reviewed >= REVIEWS_MIN and stated - score > error)
    if offered is not None:
        assert offered.mapped_brier_score == score < offered.stated_brier_score == stated
        assert sum(row.reviewed for row in offered.meanings) == found.reviewed
        assert all(low.high < high.low and low.meant < high.meant for low, high in pairwise(offered.meanings))
        assert all(row.interval.low <= row.meant <= row.interval.high for row in offered.meanings)


def test_the_score_is_of_decisions_the_map_was_not_fitted_to() -> None:
    """Forty confidences, each stated once, by an agent who tells nothing apart: fitted to all, a map looks splendid."""
    stated = np.arange(30, 70) / 100
    found = drawn(stated, np.full(40, 0.5), 4)
    fitted = fit_isotonic(found.rate, found.n)
    assert brier_score(found, fitted) < brier_score(found) < cross_validate(found).brier_score
