"""95% intervals, and whether the interval of a gap supports a verdict.

A success rate gets Wilson's interval, without continuity correction. A gap gets the interval of the mean outcome minus
the mean stated confidence. It is valid for any mix of confidences, because the number of successes varies less if their
probabilities differ than if they are equal (Hoeffding 1956).

With fewer than EXACT_REVIEWS_BELOW reviews this is the exact interval of Clopper and Pearson, with a partial outcome
rounded outwards: it supports a wrong verdict in at most 5% of samples. With more reviews it is Jeffreys' interval,
which supports a wrong verdict in 5% of samples on average over the probabilities. With 150 reviews it detects a gap of
.10 in four samples of five; the exact interval would detect it less often.
"""

from math import ceil, floor, fsum, inf, sqrt

import numpy as np

from projections.arrays import Floats
from tallystick.shapes.calibration import GapSide
from tallystick.shapes.parts import Interval

CONFIDENCE_LEVEL = 0.95
Z = 1.959963984540054
"""The normal quantile of that level."""

EXACT_REVIEWS_BELOW = 100

GAP_MARGIN = 0.10
"""If the interval of a gap is within plus and minus this, the verdict "well calibrated" is supported."""

_TOLERANCE = 1e-9


def wilson_interval(successes: float, n: float) -> Interval:
    """Return Wilson's interval of a success rate; n > 0."""
    rate, spread = successes / n, Z * Z / n
    middle = (rate + spread / 2) / (1 + spread)
    half = Z * sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low, high)


def mean_outcome_interval(outcome_sum: float, n: float) -> Interval:
    """Return the interval of the mean outcome, given the sum of outcomes; n > 0."""
    total = round(2 * outcome_sum) / 2  # removes the rounding error of a sum that was computed as mean times n
    return _beta(floor(total), ceil(total), n) if n < EXACT_REVIEWS_BELOW else _beta(total, total, n)


def mean_score_interval(mean: float, spread: float, n: int) -> Interval | None:
    """Return Student's interval of the mean of scores in 0..1, given their sample standard deviation; n > 1.

    Return None if all scores are equal, because then the data does not show how much scores vary.
    """
    from scipy.special import stdtrit

    if spread < _TOLERANCE:
        return None
    half = float(stdtrit(n - 1, (1 + CONFIDENCE_LEVEL) / 2)) * spread / sqrt(n)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def weighted_mean_interval(values: Floats, weights: Floats, low: float, high: float) -> tuple[float, Interval | None]:
    """Return the weighted mean of at least one value, and Student's interval of it, clipped to `low`..`high`.

    Weights are above 0. The sample size is Kish's effective one, (sum of weights)^2 / sum of squared weights, so that
    the interval is wide if one value dominates. With equal weights the interval is that of `mean_score_interval`. It is
    None if all values are equal, or if there is only one.
    """
    from scipy.special import stdtrit

    weights = weights / weights.max()
    total = fsum(weights)
    mean = fsum(weights * values) / total
    spread = fsum(weights * (values - mean) ** 2) / total
    effective_n = total * total / fsum(weights * weights)
    if float(np.ptp(values)) < _TOLERANCE:
        return mean, None
    half = inf
    if effective_n > 1:
        half = float(stdtrit(effective_n - 1, (1 + CONFIDENCE_LEVEL) / 2)) * sqrt(spread / (effective_n - 1))
    if not half < inf:
        return mean, Interval(low, high)
    return mean, Interval(max(low, mean - half), min(high, mean + half))


def gap_interval(outcome_sum: float, n: float, mean_confidence: float) -> Interval:
    """Return the interval of the gap, accuracy minus mean stated confidence; n > 0."""
    mean = mean_outcome_interval(outcome_sum, n)
    return Interval(mean.low - mean_confidence, mean.high - mean_confidence)


def supports(side: GapSide, gap: Interval) -> bool:
    """Tell whether a gap's interval supports a verdict.

    "over" and "under" are supported if the interval excludes 0 on that side, "well" if it is within GAP_MARGIN.
    """
    if side == "well":
        return gap.low >= -GAP_MARGIN and gap.high <= GAP_MARGIN
    return gap.high < 0 if side == "over" else gap.low > 0


def _beta(low: float, high: float, n: float) -> Interval:
    """Return the interval from beta quantiles: Clopper and Pearson's for a count from low to high, or Jeffreys'."""
    from scipy.special import (
        betaincinv,  # imported here because the import takes a quarter of a second
    )

    tail, shift = (1 - CONFIDENCE_LEVEL) / 2, 0.0 if n < EXACT_REVIEWS_BELOW else 0.5
    return Interval(
        float(betaincinv(low + shift, n - low + 1 - shift, tail)) if low > 0 else 0.0,
        float(betaincinv(high + 1 - shift, n - high + shift, 1 - tail)) if high < n else 1.0,
    )
