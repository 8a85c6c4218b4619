"""The success rate at a stated confidence, from decisions that stated others.

A logistic regression of the outcome on the logit of the stated confidence. Few decisions at like confidences do not
determine it, so there is a prior at "as stated", intercept 0 and slope 1: the likelihood of PRIOR_DECISIONS at each of
PRIOR_CONFIDENCES that came to exactly these rates. So it is that of a logistic regression, and always has a maximum.

Source: Cox, "Two further applications of a model for binary regression", Biometrika 1958, for the regression; Bedrick,
Christensen and Johnson, "A new perspective on priors for generalized linear models", JASA 1996, for such a prior.
"""

from math import sqrt
from typing import Final

import numpy as np

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins
from projections.calibration.map_families import EXTREME
from projections.stats.intervals import Z
from projections.stats.logistic_regression import fit_logistic, inverse_logit, logit
from tallystick.shapes.advice import PredictedRate
from tallystick.shapes.parts import Interval

PRIOR_CONFIDENCES: Final = (0.25, 0.75)
PRIOR_DECISIONS: Final = 2.0


def predict_rate(bins: ConfidenceBins, at: float, share: float = 1.0) -> PredictedRate:
    """Return the mean outcome that a logistic curve through reviewed decisions predicts at a confidence, 0..1.

    `share` is the effective number of reviews divided by their number; below 1 in clusters. A partial outcome counts
    as half a success. Confidences beyond EXTREME are treated as this far from 0 or 1.
    """
    prior = np.array(PRIOR_CONFIDENCES)
    x = _features(np.concatenate([bins.confidence, prior]))
    successes = np.concatenate([share * bins.outcome_sum, PRIOR_DECISIONS * prior])
    n = np.concatenate([share * bins.n, np.full(len(prior), PRIOR_DECISIONS)])
    free, as_stated = np.ones((1, 2), dtype=bool), np.array([0.0, 1.0])
    (found,) = fit_logistic(x, as_stated, np.zeros(len(x)), successes[None], (n - successes)[None], free)
    p = inverse_logit(x @ found)
    (planned,) = _features(np.array([at]))
    middle = float(planned @ found)
    half = Z * sqrt(float(planned @ np.linalg.solve((x.T * (n * p * (1 - p))) @ x, planned)))
    low, rate, high = inverse_logit(np.array([middle - half, middle, middle + half])).tolist()
    return PredictedRate(rate=rate, interval=Interval(low, high))


def _features(confidence: Floats) -> Floats:
    x = logit(np.clip(confidence, EXTREME, 1 - EXTREME))
    return np.stack([np.ones_like(x), x], axis=1)
