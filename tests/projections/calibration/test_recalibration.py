"""The recalibration map: offered where it surely helps new decisions, on agents whose true probabilities are known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins, bin_counts
from projections.calibration.gap_evidence import MissingOutcomes
from projections.calibration.map_families import REVIEWS_MIN
from projections.calibration.recalibration import (
    CONFIDENCES_MAX,
    GAIN_MIN,
    fit_map,
    holds_for_missing,
    lower_bound,
    measure_gain,
    split,
)
from projections.calibration.scores import brier_score
from projections.stats.isotonic_fit import fit_isotonic
from tests.projections.calibration.offered_map import fit_recalibration
from tests.projections.calibration.simulated_agents import STATING, history, offer_rates, overconfident
from tests.projections.short_decisions import cells

letters = st.text("SPFA", min_size=1, max_size=30)
pools = st.lists(st.tuples(st.integers(0, 20).map(lambda c: c / 20), letters), min_size=1, max_size=10)


def drawn(confidence: Floats, chance: Floats, seed: int) -> ConfidenceBins:
    return history(confidence, chance, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("overdue", "may_come", "offered"), [(0, 0, True), (400, 0, True), (0, 50, True), (0, 400, False)]
)
def test_missing_outcomes_may_turn_out_against_a_map(overdue: int, may_come: int, *, offered: bool) -> None:
    """400 reviewed decisions at .9 of which .7 are right. What may still come may all be right."""
    bins = drawn(np.full(400, 0.9), np.full(400, 0.7), 3)
    found = fit_map(bins)
    assert found is not None
    missing = MissingOutcomes(np.array([0.9]), np.array([float(overdue)]), np.array([float(may_come)]))
    assert holds_for_missing(found, bins, missing) == offered


def test_what_an_overconfident_agent_meant() -> None:
    stated = np.repeat([0.6, 0.75, 0.9], 400)
    found = fit_recalibration(drawn(stated, stated - 0.15, 3))
    assert found is not None
    assert found.reviewed == 1200
    assert found.gain == pytest.approx(found.stated_brier_score - found.mapped_brier_score)
    assert found.gain >= found.gain_lower_bound > 0
    assert [(row.low, row.high, row.reviewed) for row in found.meanings] == [
        (0.6, 0.6, 400),
        (0.75, 0.75, 400),
        (0.9, 0.9, 400),
    ]
    for row in found.meanings:
        assert row.meant == pytest.approx(row.low - 0.15, abs=0.06)
        assert row.low - 0.2 < row.mapped < row.low - 0.08
        assert row.interval.low < row.low - 0.15 < row.interval.high < row.low


@pytest.mark.defect(3)
@pytest.mark.parametrize(("stated", "successes"), [(0.99, 20), (0.99, 200), (0.9, 20), (0.9, 25), (0.8, 20)])
def test_outcomes_that_are_all_alike_offer_no_map(stated: float, successes: int) -> None:
    """A calibrated agent has them often: 20 of 20 at .9 in one history of eight."""
    assert fit_recalibration(bin_counts(*cells((stated, "S" * successes)))) is None


@pytest.mark.defect(14)
def test_no_map_is_offered_for_a_gain_that_does_not_show() -> None:
    """20,000 decisions off by .02: the gain of .0004 is certain, and nobody would notice it."""
    stated = np.repeat([0.8, 0.9], 10_000)
    found = drawn(stated, stated - 0.02, 5)
    assert brier_score(found) - brier_score(found, found.rate) > 0.0002
    assert fit_recalibration(found) is None


def test_too_few_reviews_give_no_map() -> None:
    assert REVIEWS_MIN["logit_shift"] == 20
    assert fit_recalibration(bin_counts(*cells((0.9, "F" * 19)))) is None
    found = fit_recalibration(bin_counts(*cells((0.9, "F" * 20))))
    assert found is not None
    (row,) = found.meanings
    assert (row.low, row.meant, found.family) == (0.9, 0.0, "logit_shift")
    assert row.mapped == pytest.approx(0.9 * 100 / 120)  # as 100 further decisions at .9 moderate it


@pytest.mark.defect(3)
@pytest.mark.parametrize("name", ["heaped", "all .8", "all .99", "beta(8,2)", "beta(2,2)", "uniform"])
def test_a_calibrated_agent_is_offered_a_map_only_by_accident(name: str) -> None:
    for n in (20, 50, 500):
        assert offer_rates(STATING[name], overconfident(0), n, 200).offered <= 0.02


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500, 1_000, 2_000, 5_000])
@pytest.mark.parametrize("name", STATING)
def test_a_map_is_offered_to_at_most_2_percent_of_calibrated_agents(name: str, n: int) -> None:
    assert offer_rates(STATING[name], overconfident(0), n, 2_000).offered <= 0.02


@pytest.mark.defect(3)
def test_an_overconfident_agent_is_corrected_and_not_harmed() -> None:
    rates = offer_rates(STATING["beta(8,2)"], overconfident(0.1), 500, 100)
    assert rates.offered >= 0.6
    assert rates.harmful <= 0.1
    assert rates.true_gain > 0.005


@pytest.mark.defect(3)
@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 100, 200, 500, 1_000])
@pytest.mark.parametrize("by", [0.1, 0.2, -0.1])
@pytest.mark.parametrize("name", ["heaped", "all .8", "beta(8,2)", "beta(2,2)", "uniform"])
def test_at_most_one_map_of_ten_does_harm(name: str, by: float, n: int) -> None:
    rates = offer_rates(STATING[name], overconfident(by), n, 500)
    assert rates.harmful <= 0.1
    if n >= 500 and name != "uniform":
        assert rates.offered >= 0.6


@given(pools)
@settings(max_examples=100)
def test_a_map_is_offered_where_it_surely_helps(given: list[tuple[float, str]]) -> None:
    found = bin_counts(*cells(*given))
    offered, fitted = fit_recalibration(found), fit_map(found)
    assert (offered is None) == (fitted is None)
    if offered is not None and fitted is not None:
        assert offered.stated_brier_score == brier_score(found)
        assert offered.gain >= GAIN_MIN
        assert 0 < offered.gain_lower_bound == lower_bound(fitted.gain) < offered.gain
        assert sum(row.reviewed for row in offered.meanings) == found.reviewed
        assert all(low.high < high.low and low.mapped <= high.mapped + 1e-9 for low, high in pairwise(offered.meanings))
        assert all(row.interval.low <= row.meant <= row.interval.high for row in offered.meanings)
        assert fit_recalibration(found) == offered


def test_the_gain_is_of_decisions_that_the_map_was_not_fitted_to() -> None:
    """Forty confidences, each stated once, without skill: on the decisions that it was fitted to, a map looks good."""
    stated = np.arange(30, 70) / 100
    found = drawn(stated, np.full(40, 0.5), 4)
    fitted = fit_isotonic(found.rate, found.n)
    folds = split(found)
    assert (folds.test.reshape(10, 10, *found.outcomes.shape).sum(axis=1) == found.outcomes).all()
    n = folds.successes + folds.failures
    rate = np.divide(folds.successes, n, out=np.zeros_like(n), where=n > 0)
    refitted = np.stack(
        [
            np.interp(stated, stated[some > 0], fit_isotonic(mean[some > 0], some[some > 0]))
            for mean, some in zip(rate, n, strict=True)
        ]
    )
    gain = measure_gain(found, folds, np.broadcast_to(stated, refitted.shape), refitted, stated)
    assert brier_score(found) - brier_score(found, fitted) > 0.01
    assert gain.mean < 0


def test_more_reviews_allow_more_flexible_maps() -> None:
    """Overconfident above .5, underconfident below: a shift cannot express it."""
    stated = np.random.default_rng(6).integers(2, 99, 3_000) / 100
    bent = fit_recalibration(drawn(stated[:900], 0.5 + 0.4 * (stated[:900] - 0.5), 7))
    steps = np.select([stated < 0.3, stated < 0.7], [0.1, 0.3], 0.9)
    stepped, simple = (fit_recalibration(drawn(stated[:n], steps[:n], 7)) for n in (3_000, 99))
    assert bent is not None
    assert bent.family == "beta"
    assert stepped is not None
    assert stepped.family == "isotonic"
    assert simple is None or simple.family == "logit_shift"


def test_a_map_of_many_confidences_has_few_rows() -> None:
    stated = np.random.default_rng(8).random(5 * CONFIDENCES_MAX)
    found = fit_recalibration(drawn(stated, stated**2, 9))
    assert found is not None
    assert 15 <= len(found.meanings) <= 20
    assert sum(row.reviewed for row in found.meanings) == len(stated)
    for row in found.meanings:
        assert row.mapped == pytest.approx(((row.low + row.high) / 2) ** 2, abs=0.05)
