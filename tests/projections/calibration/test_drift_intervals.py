"""How often the 90% interval of drift's date covers the true date of a change that was found. Fixed seeds.

The changes are .10 to .30, found in 5% to 100% of the histories, at an early, middle or late date.
"""

import numpy as np
import pytest

from projections.stats.shift_interval import find_interval, long_run_variance
from projections.stats.shift_search import Deviation
from tests.projections.calibration.test_drift_rates import DEPENDENCES, draw, layout_of, threshold

pytestmark = pytest.mark.slow

CHANGES = (
    (200, 100, -0.30), (400, 200, -0.20), (400, 200, -0.15), (400, 120, -0.30), (800, 300, -0.20), (800, 400, -0.15),
    (1_000, 600, -0.15), (2_000, 1_000, -0.10),
)  # fmt: skip
"""The number of reviews, the reviews before the change, and how much the gap changes."""

ALARMS = 150
HISTORIES_MAX = 6_000


def coverage(seed: int, reviews: int, at: int, shift: float, dependence: str) -> tuple[int, int, int]:
    """Return the number of alarms, of those whose interval covers the date, and of simulated histories."""
    rng = np.random.default_rng([seed, reviews, at, round(-100 * shift), DEPENDENCES.index(dependence)])
    confidence = rng.choice([0.8, 0.9, 0.95], reviews)
    chance = np.where(np.arange(reviews) < at, confidence, confidence + shift)
    layout, (limit, scale) = layout_of(reviews), threshold(confidence)
    alarms = covered = histories = 0
    while alarms < ALARMS and histories < HISTORIES_MAX:
        excess = draw(rng, chance, 200, dependence) - confidence
        excess -= excess.mean(axis=1, keepdims=True)
        histories += len(excess)
        sums = excess.cumsum(axis=1)
        found = layout.deviation(sums[:, layout.points], (excess**2).sum(axis=1))
        for row in np.flatnonzero(found.scaled(scale) >= limit).tolist():
            one = Deviation(found.largest[[row]], found.variance[[row]], found.windows[[row]])
            least = limit * float(one.long_run(scale)[0])
            earliest, latest = find_interval(layout, sums[row], long_run_variance(layout, one, scale), least)
            alarms, covered = alarms + 1, covered + (earliest <= at <= latest)
    return alarms, covered, histories


@pytest.mark.parametrize("dependence", DEPENDENCES)
def test_of_simulated_alarms_85_to_95_percent_have_the_date_in_their_interval(dependence: str) -> None:
    total = np.zeros(2)
    for reviews, at, shift in CHANGES:
        alarms, covered, histories = coverage(3, reviews, at, shift, dependence)
        print(f"{reviews} {at} {shift} {dependence}: {alarms} alarms of {histories}, {covered / alarms:.3f} covered")
        total += (alarms, covered)
        if reviews >= 400:
            assert covered / alarms >= 0.78
    print(f"{dependence}: {total[1] / total[0]:.3f} of {total[0]:.0f} covered")
    assert 0.85 <= total[1] / total[0] <= 0.95


def test_an_interval_has_the_date_of_a_large_change() -> None:
    alarms, covered, _ = coverage(4, 400, 150, -0.5, "independent")
    assert covered >= 0.85 * alarms > 100
