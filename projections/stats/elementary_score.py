"""The Murphy diagram: the mean elementary score of forecasts at each threshold (Ehm et al. 2016, JRSSB 78:505).

A person who acts above a confidence t, because a failure costs t / (1 - t) times what a success gains, loses by each
forecast that is on the wrong side of t: 2 t by a failure above, 2 (1 - t) by a success below. The mean loss at every t
is the diagram. The area under it is the Brier score. A forecaster whose curve is lower at every threshold is better
for everyone, at whatever costs.
"""

import msgspec
import numpy as np

from projections.arrays import Floats

POINTS = 100
THRESHOLDS = (np.arange(POINTS) + 0.5) / POINTS
"""Between whole per cents, so that no forecast that is a whole per cent is on a threshold. The curves are straight
between such forecasts, and so their means over these thresholds are their areas."""


class MurphyPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The mean elementary scores at a threshold, 0 or greater; lower is better.

    `stated` is that of the stated confidences, `recalibrated` that of the calibration curve fitted to the same
    decisions, `base_rate` that of always stating the mean outcome.
    """

    threshold: float
    stated: float
    recalibrated: float
    base_rate: float


def mean_elementary_scores(forecast: Floats, counts: Floats, values: Floats) -> Floats:
    """Return the mean elementary score at each of THRESHOLDS.

    `forecast` is ascending; `counts` has a row for each and a column for each of the outcomes' `values`.
    """
    above = np.searchsorted(forecast, THRESHOLDS, side="right")  # the first forecast above each threshold
    lower = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])[above]
    higher = counts.sum(axis=0) - lower
    excess = values[np.newaxis, :] - THRESHOLDS[:, np.newaxis]
    loss = lower * np.maximum(excess, 0) + higher * np.maximum(-excess, 0)
    return np.asarray(2 * loss.sum(axis=1) / counts.sum())
