"""Skill: how much lower the Brier score is than that of always stating the mean outcome, with an interval."""

from math import sqrt

import numpy as np

from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins
from projections.calibration.named_clusters import ClusterPart
from projections.stats.clustered_mean import INDEPENDENT
from projections.stats.intervals import CONFIDENCE_LEVEL
from tallystick.shapes.parts import Interval

_TOLERANCE = 1e-12


def skill_interval(bins: ConfidenceBins, named: ClusterPart | None = None) -> Interval | None:
    """Return the 95% interval of the skill, which allows for named clusters.

    It is None if all outcomes are alike, because then the skill is undefined. It is also None if reviews do not show
    how much the skill varies: if it is the same at each of them, or if one cluster has most of them.

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
    square = float(n @ (loss - ratio * baseline) ** 2)
    effect = INDEPENDENT
    if named is not None:
        terms = named.difference**2 - ratio * (named.outcome - bins.outcome_total / bins.reviewed) ** 2
        effect = named.design_effect(terms, square, bins.reviewed)
    variance = square / bins.reviewed * effect.ratio
    if variance < _TOLERANCE or not effect.known:
        return None
    half = effect.quantile((1 - CONFIDENCE_LEVEL) / 2) * sqrt(variance / bins.reviewed) / uncertainty
    return Interval(1 - ratio - half, min(1.0, 1 - ratio + half))
