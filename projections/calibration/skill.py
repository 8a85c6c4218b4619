"""Skill: how much lower the Brier score is than that of always stating the mean outcome, with an interval."""

from math import sqrt

import numpy as np

from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins
from projections.stats.intervals import Interval, Z


def skill_interval(bins: ConfidenceBins) -> Interval | None:
    """Return the 95% interval of the skill; None if the skill is undefined, because all outcomes are alike.

    Skill is 1 - B/U, with B the mean of (o - c)^2 and U the mean of (o - mean of o)^2. Its variance is that of the mean
    of (o - c)^2 - (B/U)(o - mean of o)^2, divided by U^2 (delta method; U does not change to first order with the mean
    of o). Between 50 and 1,000 reviews the interval contains the skill in 92 to 96% of samples.
    Source: Bradley, Schwartz and Hashino, Sampling uncertainty and confidence intervals for the Brier score and Brier
    skill score, Weather and Forecasting 2008.
    """
    rows, columns = np.nonzero(bins.outcomes)
    n, outcome = bins.outcomes[rows, columns], REVIEWED_VALUES[columns]
    if bins.reviewed == 0 or np.ptp(outcome) == 0:
        return None
    loss = (outcome - bins.confidence[rows]) ** 2
    baseline = (outcome - bins.outcome_total / bins.reviewed) ** 2
    brier, uncertainty = float(n @ loss) / bins.reviewed, float(n @ baseline) / bins.reviewed
    ratio = brier / uncertainty
    variance = float(n @ (loss - ratio * baseline) ** 2) / bins.reviewed
    half = Z * sqrt(variance / bins.reviewed) / uncertainty
    return Interval(1 - ratio - half, min(1.0, 1 - ratio + half))
