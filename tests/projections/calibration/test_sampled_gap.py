"""The gap from a random sample: its interval has the true gap whatever the reason why reviews are missing."""

import numpy as np
import pytest

from projections.calibration.sampled_gap import ReviewPopulation, estimate_gap, expected_half_width
from projections.stats.random_sample import draw_sample


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 60, 150])
def test_the_interval_covers_the_gap_though_only_successes_were_reviewed(size: int) -> None:
    rng = np.random.default_rng(1989)
    histories, covered, errors, widths = 1500, 0, [], []
    for history in range(histories):
        c = rng.choice([0.8, 0.9, 0.95], 1000)
        outcome = (rng.random(1000) < c - 0.1).astype(np.float64)
        reviewed = (outcome == 1) & (rng.random(1000) < 0.4)
        waiting = outcome[~reviewed]
        population = ReviewPopulation(1000, len(waiting), float(outcome[reviewed].sum()), float(c.mean()))
        found = estimate_gap(population, waiting[draw_sample(len(waiting), size, history)].tolist())
        assert found is not None
        gap = (outcome - c).mean()
        covered += found.interval.low <= gap <= found.interval.high
        errors.append(found.gap - gap)
        half_width = expected_half_width(population, size)
        assert half_width is not None
        widths.append((found.interval.high - found.interval.low) / 2 / half_width)
    assert covered / histories >= 0.95
    assert abs(np.mean(errors)) <= 0.005
    assert max(widths) <= 1.02, "no interval is much wider than was said before"


def test_all_unreviewed_decisions_are_no_sample() -> None:
    found = estimate_gap(ReviewPopulation(10, 2, 6.0, 0.75), [1.0, 0.5])
    assert found is not None
    assert found.gap == pytest.approx(0.0)
    assert found.interval.low == found.interval.high == found.gap
    assert found.agent_interval.low < -0.3, "of the agent they are a sample"
    assert (found.interpretation, found.supported) == ("well_calibrated", False)
    assert expected_half_width(ReviewPopulation(10, 2, 6.0, 0.75), 2) == 0


def test_nothing_is_said_without_outcomes() -> None:
    population = ReviewPopulation(10, 2, 6.0, 0.75)
    assert estimate_gap(population, None) is None
    assert estimate_gap(population, []) is None
    assert expected_half_width(population, 0) is None
