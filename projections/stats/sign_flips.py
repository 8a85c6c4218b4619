"""Exact tests and intervals from sign flips of independent units, each with one or more dependent observations.

If the distribution of each unit's sum is symmetric about 0, flipping the signs of whole units at random gives samples
that are as probable as the observed one (Fisher 1935). Observations within a unit may depend on each other in any way:
repeated attempts at a scenario, or questions about the same text. For one regressor, a constant, this is the wild
cluster bootstrap with Rademacher weights and the null hypothesis imposed (Cameron, Gelbach and Miller 2008).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.stats.intervals import CONFIDENCE_LEVEL
from tallystick.shapes.parts import Interval

_ENUMERATED_MAX = 13
"""All flips of this many units are enumerated; of more units, _FLIPS are drawn with a fixed seed."""

_FLIPS = 9_999
_SEED = 1_969
_TOLERANCE = 1e-12


def sign_flip_p_value(sums: Ints) -> float:
    """Return the exact two-sided p value of the total of whole numbers; 1 if the total is 0.

    `sums` has one number for each unit. If all are 1, -1 or 0, this is the sign test (McNemar's exact test of pairs).
    """
    sizes = np.abs(sums[sums != 0]).tolist()
    chances = np.ones(1)  # of each total of the positive numbers after a flip
    for size in sizes:
        wider = np.zeros(len(chances) + size)
        wider[: len(chances)] = chances / 2
        wider[size:] += chances / 2
        chances = wider
    total = abs(int(sums.sum()))
    # a total is twice the sum of its positive numbers, less all sizes: this is the sum for the observed total
    as_high = (sum(sizes) + total) // 2
    return 1.0 if total == 0 else min(1.0, 2 * float(chances[as_high:].sum()))


def sign_flip_mean(sums: Floats, sizes: Floats, low: float, high: float) -> tuple[Interval, float]:
    """Return the interval of the mean of all observations, within `low`..`high`, and the p value that it is 0.

    `sums` and `sizes` have the sum and the number of the observations of each unit. The interval has the means that a
    test at 5% does not reject: its bounds are quantiles of the means of random subsets of units (Hartigan, JASA 1969).
    With fewer than six units it is `low`..`high`, because no p value is below 5%.
    """
    units = len(sums)
    flipped = _subsets(units)
    count = flipped @ sizes
    nonempty = count > 0
    means = np.sort((flipped @ sums)[nonempty] / count[nonempty])
    unchanged = 1 + len(flipped) - len(means)  # the observed signs, and draws that flip none
    draws = len(means) + unchanged
    as_low = unchanged + int((means <= _TOLERANCE).sum())
    as_high = unchanged + int((means >= -_TOLERANCE).sum())
    # draws that flip nothing count on both sides: they are as extreme as the observed total
    place = int((1 - CONFIDENCE_LEVEL) / 2 * draws + _TOLERANCE) - unchanged
    bounds = Interval(float(means[place]), float(means[-1 - place])) if place >= 0 else Interval(low, high)
    return bounds, min(1.0, 2 * min(as_low, as_high) / draws)


@lru_cache(maxsize=1)
def _subsets(units: int) -> npt.NDArray[np.float64]:
    """Return rows of 0 and 1: every nonempty subset of the units, or draws from them.

    The last ones are kept: the groups of a view often have the same number of units.
    """
    if units <= _ENUMERATED_MAX:
        numbers = np.arange(1, 2**units)[:, np.newaxis]
        return (numbers >> np.arange(units) & 1).astype(np.float64)
    return np.random.default_rng(_SEED).integers(0, 2, (_FLIPS, units)).astype(np.float64)
