"""Tests of gaps that agree with their intervals: p is at most .05 where the 95% interval excludes the hypothesis.

The functions take arrays with one element for each row, as tables of categories, buckets or agents have them.
"""

from collections.abc import Callable

import numpy as np

from projections.arrays import Floats
from projections.stats.intervals import EXACT_REVIEWS_BELOW, GAP_MARGIN

REVIEWS_MAX = 10**9
"""More reviews than this are never said to be needed."""

GapTest = Callable[[Floats, Floats, Floats], Floats]
"""Returns the p value of each row, given its sum of outcomes, number of reviews and mean stated confidence."""

_STEPS = 40
"""Numbers of reviews are searched in this many steps between a number and its double."""


def gap_p_values(outcome_sum: Floats, n: Floats, mean_confidence: Floats) -> Floats:
    """Return the two-sided p value of each hypothesis that the gap is 0; n > 0."""
    too_low, too_high = _tails(outcome_sum, n, mean_confidence)
    p: Floats = np.minimum(1.0, 2 * np.minimum(too_low, too_high))
    return p


def margin_p_values(outcome_sum: Floats, n: Floats, mean_confidence: Floats) -> Floats:
    """Return the p value of each hypothesis that the gap is outside GAP_MARGIN; n > 0.

    It is twice the larger one of two one-sided tests, which is at most .05 where the 95% interval is within the margin.
    A mean outcome below 0 or above 1 is impossible.
    """
    lower, upper = mean_confidence - GAP_MARGIN, mean_confidence + GAP_MARGIN
    above_lower = np.where(lower > 0, _tails(outcome_sum, n, lower)[1], 0.0)
    below_upper = np.where(upper < 1, _tails(outcome_sum, n, upper)[0], 0.0)
    p: Floats = np.minimum(1.0, 2 * np.maximum(above_lower, below_upper))
    return p


def reviews_at_level(test: GapTest, rate: float, n: int, mean_confidence: float, level: float) -> int | None:
    """Return about how many more reviews with the same averages give a p value at a level; None if no number does."""

    def first(totals: Floats) -> int | None:
        enough = test(rate * totals, totals, np.full(len(totals), mean_confidence)) <= level
        return int(totals[enough.argmax()]) if enough.any() else None

    doublings = int(np.log2(REVIEWS_MAX / n)) + 1
    high = first(np.ceil(n * 2.0 ** np.arange(1, doublings + 1)))
    if high is None:
        return None
    found = first(np.unique(np.ceil(np.linspace(max(n + 1, high // 2), high, _STEPS))))
    return None if found is None else found - n


def _tails(outcome_sum: Floats, n: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the one-sided p values of the hypothesis that the mean outcome is `mean`: outcomes too low, and too high.

    They are the tails of the beta distributions whose quantiles are the bounds of `mean_outcome_interval`.
    """
    from scipy.special import betainc, betaincc

    mean = np.clip(mean, 0.0, 1.0)
    exact = n < EXACT_REVIEWS_BELOW
    total = np.round(2 * outcome_sum) / 2
    low, high = np.where(exact, np.floor(total), total), np.where(exact, np.ceil(total), total)
    shift = np.where(exact, 0.0, 0.5)
    too_low = betaincc(high + 1 - shift, np.maximum(n - high + shift, 0.5), mean)
    too_high = betainc(np.maximum(low + shift, 0.5), n - low + 1 - shift, mean)
    return np.where(high < n, too_low, 1.0), np.where(low > 0, too_high, 1.0)
