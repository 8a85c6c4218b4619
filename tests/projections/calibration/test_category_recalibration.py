"""Maps of single categories: only where they improve on the map of all decisions, however many are examined."""

import numpy as np
import pytest

from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.category_recalibration import RecalibrationMaps, fit_category_maps, fit_recalibration_maps
from projections.calibration.confidence_bins import ConfidenceBins
from projections.calibration.recalibration import fit_map
from tallystick.shapes.recalibration import CategoryRecalibration
from tests.projections.calibration.simulated_agents import STATING, history
from tests.projections.short_decisions import calibration_of, judged

HEAPED = STATING["heaped"]


def simulated(gaps: list[float], n: int, rng: np.random.Generator) -> dict[str, ConfidenceBins]:
    """One category for each gap, each with n reviews."""
    stated = [HEAPED(rng, n) for _ in gaps]
    return {f"c{place}": history(c, c + gap, rng) for place, (c, gap) in enumerate(zip(stated, gaps, strict=True))}


def whole(categories: dict[str, ConfidenceBins]) -> ConfidenceBins:
    stated = np.concatenate([np.repeat(bins.confidence, bins.outcomes.sum(axis=1)) for bins in categories.values()])
    outcome = np.concatenate([np.repeat(np.tile([1.0, 0.0], len(bins.n)), bins.outcomes[:, [0, 2]].ravel())
                              for bins in categories.values()])  # fmt: skip
    return history(stated, outcome, np.random.default_rng(0))


def own_maps(gaps: list[float], n: int, rng: np.random.Generator) -> list[CategoryRecalibration]:
    categories = simulated(gaps, n, rng)
    return list(fit_category_maps(categories, fit_map(whole(categories))))


def maps_of(calibration: Calibration) -> RecalibrationMaps:
    return fit_recalibration_maps(calibration.table(CalibrationFilter()))


@pytest.mark.slow
def test_calibrated_categories_get_no_maps() -> None:
    rng = np.random.default_rng(16)
    assert sum(bool(own_maps([0.0] * 20, 100, rng)) for _ in range(50)) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 200])
def test_at_most_2_percent_of_agents_with_20_calibrated_categories_get_one(n: int) -> None:
    rng = np.random.default_rng([16, n])
    assert sum(bool(own_maps([0.0] * 20, n, rng)) for _ in range(500)) <= 10


def test_categories_that_differ_get_their_own() -> None:
    rng = np.random.default_rng(17)
    corrected = 0
    for _ in range(20):
        found = {one.category for one in own_maps([-0.3, 0.0, 0.0, 0.0], 300, rng)}
        corrected += "c0" in found
    assert corrected >= 18


def test_categories_with_the_same_gap_share_the_map_of_all() -> None:
    rng = np.random.default_rng(18)
    categories = simulated([-0.15] * 5, 300, rng)
    shared = fit_map(whole(categories))
    assert shared is not None
    assert list(fit_category_maps(categories, shared)) == []


def test_one_category_has_no_map_beside_that_of_all() -> None:
    only = maps_of(calibration_of(judged((0.9, "SFFF" * 50), category="logic")))
    assert only.overall is not None
    assert list(only.by_category) == []


def test_the_figures_of_a_category() -> None:
    logic_drafts = judged((0.9, "SFFF" * 50), category="logic")
    facts_drafts = judged((0.9, "SSSSSSSSSF" * 50), category="facts", prefix="f")
    maps = maps_of(calibration_of(logic_drafts + facts_drafts))
    assert [one.category for one in maps.by_category] == ["facts", "logic"]
    facts, logic = maps.by_category
    assert maps.overall is not None
    assert logic.stated_brier_score == pytest.approx(0.75 * 0.81 + 0.25 * 0.01)
    assert logic.mapped_brier_score < logic.shared_brier_score < logic.stated_brier_score
    assert facts.family == "as_stated"
    assert facts.mapped_brier_score == pytest.approx(facts.stated_brier_score)
    assert facts.stated_brier_score < facts.shared_brier_score
    assert facts.gain == pytest.approx(facts.shared_brier_score - facts.stated_brier_score)
    assert logic.gain == pytest.approx(logic.shared_brier_score - logic.mapped_brier_score)
    assert [row.reviewed for row in logic.meanings] == [200]
    assert logic.meanings[0].meant == 0.25
    assert 0.25 < logic.meanings[0].mapped < maps.overall.meanings[0].mapped < facts.meanings[0].mapped == 0.9


def test_few_reviews_of_a_category_stay_with_the_map_of_all() -> None:
    drafts = judged((0.9, "F" * 19), category="logic") + judged((0.9, "SSSSSSSSSF" * 50), category="facts", prefix="f")
    maps = maps_of(calibration_of(drafts))
    assert maps.overall is None
    assert list(maps.by_category) == []
