"""The Murphy diagram: the mean elementary score of forecasts at each threshold (Ehm et al. 2016, JRSSB 78:505).

A person who acts above a confidence t, because a failure costs t / (1 - t) times what a success gains, loses by each
forecast that is on the wrong side of t: 2 t by a failure above, 2 (1 - t) by a success below. The mean loss at every t
is the diagram. The area under it is the Brier score. A forecaster whose curve is lower at every threshold is better
for everyone, at whatever costs.

Two forecasters differ only by the decisions that one of them acts on and the other does not: at t, acting on an outcome
o loses 2 (t - o) more than leaving it. So the difference from a constant forecast is a weighted sum of two shares that
exclude each other, successes and failures among those decisions, as the score itself is one of missed successes and of
failures acted on. Both have intervals (`exclusive_shares.py`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.stats.exclusive_shares import weigh_shares
from tallystick.shapes.parts import Interval

POINTS = 100
THRESHOLDS = (np.arange(POINTS) + 0.5) / POINTS
"""Between whole per cents, so that no forecast that is a whole per cent is on a threshold. The curves are straight
between such forecasts, and so their means over these thresholds are their areas."""


class ScoreIntervals(NamedTuple):
    """At one threshold: the interval of a mean elementary score, its difference from a constant's, and its interval."""

    score: Interval
    difference: float
    difference_interval: Interval


def mean_elementary_scores(forecast: Floats, counts: Floats, values: Floats) -> Floats:
    """Return the mean elementary score at each of THRESHOLDS.

    `forecast` is ascending; `counts` has a row for each and a column for each of the outcomes' `values`.
    """
    lower, higher = _divide(forecast, counts)
    excess = values[np.newaxis, :] - THRESHOLDS[:, np.newaxis]
    loss = lower * np.maximum(excess, 0) + higher * np.maximum(-excess, 0)
    return np.asarray(2 * loss.sum(axis=1) / counts.sum())


def elementary_score_intervals(forecast: Floats, counts: Floats, values: Floats) -> Iterator[ScoreIntervals]:
    """Yield the intervals at each of THRESHOLDS; the difference is from always stating the mean outcome.

    The arguments are those of `mean_elementary_scores`; `values` are in 0..1. Dependent decisions have smaller counts:
    as many independent ones as contain the same evidence.
    """
    n, mean = float(counts.sum()), float((counts @ values).sum() / counts.sum())
    lower, higher = _divide(forecast, counts)
    excess = values[np.newaxis, :] - THRESHOLDS[:, np.newaxis]
    missed = (lower * np.maximum(excess, 0)).sum(axis=1) / (1 - THRESHOLDS)  # in whole successes
    failed = (higher * np.maximum(-excess, 0)).sum(axis=1) / THRESHOLDS
    for place, t in enumerate(THRESHOLDS.tolist()):
        weights = 2 * (1 - t), 2 * t
        _, interval = weigh_shares(float(missed[place]), float(failed[place]), n, weights)
        acts = mean > t  # the mean outcome as a forecast: it acts on every decision, or on none
        other = lower[place] if acts else higher[place]
        success = float(other @ values)
        gain, loss = weights if acts else (-weights[0], -weights[1])
        difference, of_difference = weigh_shares(success, float(other.sum()) - success, n, (gain, -loss))
        yield ScoreIntervals(Interval(max(0.0, interval.low), interval.high), difference, of_difference)


def _divide(forecast: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the counts with a forecast up to each threshold, and above it."""
    above = np.searchsorted(forecast, THRESHOLDS, side="right")  # the first forecast above each threshold
    lower = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])[above]
    return lower, counts.sum(axis=0) - lower
