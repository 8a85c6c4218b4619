"""Intervals at 95%, and what it takes for one to carry a verdict.

A success rate gets Wilson's interval, without continuity correction. A gap gets the interval of the mean outcome less
the mean stated confidence, which holds whatever the single confidences are: a sum of successes of unlike chances
spreads less than one of like chances (Hoeffding 1956). Below EXACT_BELOW reviews that is the exact interval of Clopper
and Pearson, a partial outcome rounded outwards, and names a wrong verdict in at most 5% of samples. From there on it is
Jeffreys', which does so in 5% on average over the chances, and finds a gap of .10 in 150 reviews four times in five,
where the exact one falls short of that.
"""

from collections.abc import Callable
from math import ceil, floor, fsum, inf, sqrt
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

CONFIDENCE_LEVEL = 0.95
Z = 1.959963984540054
"""The normal quantile of that level."""

EXACT_REVIEWS_BELOW = 100

GAP_MARGIN = 0.10
"""A gap whose interval lies within plus and minus this is called none."""

REVIEWS_MAX = 10**9
"""More reviews than anyone will have: beyond them a verdict counts as out of reach."""

_SAME = 1e-9

Floats = npt.NDArray[np.float64]
GapSide = Literal["over", "under", "well"]


class Interval(msgspec.Struct, frozen=True, array_like=True):
    """Both ends of an interval, as `[low, high]`."""

    low: float
    high: float


def wilson_interval(successes: float, n: float) -> Interval:
    """Wilson's interval of a rate; n > 0."""
    rate, spread = successes / n, Z * Z / n
    middle = (rate + spread / 2) / (1 + spread)
    half = Z * sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == n else min(1.0, middle + half)
    return Interval(low, high)


def mean_outcome_interval(worth: float, n: float) -> Interval:
    """The interval of a mean outcome, from the sum of outcomes; n > 0."""
    worth = round(2 * worth) / 2  # halves and wholes, which a mean times n may miss by a rounding
    return _beta(floor(worth), ceil(worth), n) if n < EXACT_REVIEWS_BELOW else _beta(worth, worth, n)


def mean_score_interval(mean: float, spread: float, n: int) -> Interval | None:
    """Student's interval of the mean of scores in 0..1, from their sample deviation; n > 1.

    None where the scores are all the same, which says nothing of how far the next one may be.
    """
    from scipy.special import stdtrit

    if spread < _SAME:
        return None
    half = float(stdtrit(n - 1, (1 + CONFIDENCE_LEVEL) / 2)) * spread / sqrt(n)
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def weighted_mean_interval(values: Floats, weights: Floats, low: float, high: float) -> tuple[float, Interval | None]:
    """The mean of values by weight, and Student's interval of it, within `low` and `high`; weights > 0, one at least.

    Values of unlike weight are worth fewer of like weight: as many as (sum of weights)^2 / sum of squared weights
    (Kish), which takes the place of n, so that an interval is wide where one value decides. With like weights it is
    that of `scores_interval`. None of one value, and where all are the same.
    """
    from scipy.special import stdtrit

    weights = weights / weights.max()
    total = fsum(weights)
    mean = fsum(weights * values) / total
    spread = fsum(weights * (values - mean) ** 2) / total
    worth = total * total / fsum(weights * weights)
    if float(np.ptp(values)) < _SAME:
        return mean, None
    half = float(stdtrit(worth - 1, (1 + CONFIDENCE_LEVEL) / 2)) * sqrt(spread / (worth - 1)) if worth > 1 else inf
    if not half < inf:
        return mean, Interval(low, high)
    return mean, Interval(max(low, mean - half), min(high, mean + half))


def mcnemar_p_value(one: int, other: int) -> float | None:
    """McNemar's exact test: the two-sided chance of a split of discordant pairs as uneven as this; None without any."""
    from scipy.special import bdtr

    n = one + other
    return min(1.0, 2.0 * float(bdtr(min(one, other), n, 0.5))) if n else None


def gap_interval(worth: float, n: float, mean_confidence: float) -> Interval:
    """The interval of accuracy less mean stated confidence; n > 0."""
    mean = mean_outcome_interval(worth, n)
    return Interval(mean.low - mean_confidence, mean.high - mean_confidence)


def supports(side: GapSide, gap: Interval) -> bool:
    """Whether a gap's interval carries the verdict that names a side: it excludes 0, or lies within the margin."""
    if side == "well":
        return gap.low >= -GAP_MARGIN and gap.high <= GAP_MARGIN
    return gap.high < 0 if side == "over" else gap.low > 0


def reviews_needed(side: GapSide, worth: float, n: float, mean_confidence: float) -> int | None:
    """How many more reviews would carry a verdict that these do not, if they went on alike; None where none would."""
    rate = worth / n

    def carried(reviews: int) -> bool:
        mean = _beta(rate * reviews, rate * reviews, reviews)
        return supports(side, Interval(mean.low - mean_confidence, mean.high - mean_confidence))

    enough = _least(carried, int(n) + 1)
    return None if enough is None else enough - int(n)


def _least(carried: Callable[[int], bool], low: int) -> int | None:
    """The least number from `low` on that carries, by doubling and halving."""
    high = low
    while not carried(high):
        low, high = high + 1, 2 * high
        if high > REVIEWS_MAX:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if carried(middle) else (middle + 1, high)
    return high


def _beta(low: float, high: float, n: float) -> Interval:
    """Quantiles of beta distributions: Clopper and Pearson's between two counts of successes, or Jeffreys'."""
    from scipy.special import betaincinv  # a quarter of a second that only who asks for figures should pay

    tail, less = (1 - CONFIDENCE_LEVEL) / 2, 0.0 if n < EXACT_REVIEWS_BELOW else 0.5
    return Interval(
        float(betaincinv(low + less, n - low + 1 - less, tail)) if low > 0 else 0.0,
        float(betaincinv(high + 1 - less, n - high + less, 1 - tail)) if high < n else 1.0,
    )
