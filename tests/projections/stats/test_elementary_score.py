"""The Murphy diagram: by its definition, and its areas, which are Brier scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.calibration.confidence_use import draw_murphy
from projections.calibration.corp import decompose_brier
from projections.calibration.scores import brier_score
from projections.stats.elementary_score import THRESHOLDS
from tallystick.shapes.confidence_use import MurphyPoint
from tests.projections.stats.evidence import bins_of

decisions = st.lists(st.tuples(st.integers(0, 100), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=40)


@given(decisions)
def test_each_point_is_the_mean_loss_at_a_threshold(rows: list[tuple[int, float]]) -> None:
    """Twice the distance of outcome and threshold, if the threshold is between confidence and outcome (Ehm et al.)."""
    found = draw_murphy(bins_of(np.array([row[0] for row in rows]) / 100, np.array([row[1] for row in rows])))
    for point in found[::7]:
        t = point.threshold
        losses = [2 * abs(o - t) if min(c / 100, o) <= t < max(c / 100, o) else 0.0 for c, o in rows]
        assert point.stated == pytest.approx(sum(losses) / len(losses), abs=1e-12)


@given(decisions)
def test_the_area_of_whole_per_cents_is_the_brier_score(rows: list[tuple[int, float]]) -> None:
    bins = bins_of(np.array([row[0] for row in rows]) / 100, np.array([row[1] for row in rows]))
    assert np.mean([point.stated for point in draw_murphy(bins)]) == pytest.approx(brier_score(bins), abs=1e-12)


def test_the_areas_of_the_other_two_are_the_parts_of_the_brier_score() -> None:
    rng = np.random.default_rng(4)
    confidence = np.round(rng.beta(8, 2, 5_000), 2)
    bins = bins_of(confidence, (rng.random(5_000) < confidence**2).astype(float))
    points, parts = draw_murphy(bins), decompose_brier(bins)
    assert np.mean([point.base_rate for point in points]) == pytest.approx(parts.uncertainty, abs=1e-4)
    expected = parts.uncertainty - parts.discrimination
    assert np.mean([point.recalibrated for point in points]) == pytest.approx(expected, abs=2e-4)
    assert all(point.recalibrated <= point.stated + 1e-12 for point in points), "in sample, at every threshold"
    assert [point.threshold for point in points] == THRESHOLDS.tolist()


@given(decisions)
def test_the_difference_is_of_the_lines_and_inside_its_interval(rows: list[tuple[int, float]]) -> None:
    for point in draw_murphy(bins_of(np.array([row[0] for row in rows]) / 100, np.array([row[1] for row in rows]))):
        assert point.difference == pytest.approx(point.stated - point.base_rate, abs=1e-12)
        assert point.difference_interval.low <= point.difference + 1e-12
        assert point.difference_interval.high >= point.difference - 1e-12
        assert 0 <= point.stated_interval.low <= point.stated + 1e-12
        assert point.stated_interval.high >= point.stated - 1e-12


@pytest.mark.slow
def test_the_intervals_hold_at_their_level() -> None:
    """Of 400 samples of 200 decisions, the interval at most thresholds has the true value in 95%."""
    rng = np.random.default_rng(1)

    def draw(n: int) -> list[MurphyPoint]:
        confidence = np.round(rng.beta(8, 2, n), 2)
        return draw_murphy(bins_of(confidence, (rng.random(n) < confidence**2).astype(float)))

    truth = draw(400_000)
    held = np.zeros((2, len(truth)))
    for _ in range(400):
        for place, (point, true) in enumerate(zip(draw(200), truth, strict=True)):
            held[0, place] += point.stated_interval.low <= true.stated <= point.stated_interval.high
            held[1, place] += point.difference_interval.low <= true.difference <= point.difference_interval.high
    assert (np.quantile(held / 400, 0.1, axis=1) > 0.93).all()
    assert (held.min(axis=1) / 400 > 0.88).all(), "near the mean outcome, where the constant changes sides"


def test_dependent_decisions_have_wider_intervals() -> None:
    bins = bins_of(np.full(100, 0.9), np.repeat([1.0, 0.0], [70, 30]))
    alone, alike = draw_murphy(bins), draw_murphy(bins, effective_reviews=10.0)
    for one, other in zip(alone, alike, strict=True):
        assert (other.stated, other.difference) == pytest.approx((one.stated, one.difference), abs=1e-12)
        assert other.stated_interval.high > one.stated_interval.high
        assert other.difference_interval.high > one.difference_interval.high
        assert other.difference_interval.low < one.difference_interval.low
