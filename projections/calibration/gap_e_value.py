"""The e-value of calibration, from counts: how much a bettor against "stated confidences are true" would have now.

It is the product over reviews of 1 + b (o - c), averaged over bets b on either side. o is the outcome, 0..1, and c the
stated confidence. A bet is a fraction of the largest one that cannot lose everything: 1/c, or -1/(1 - c). Of a
calibrated agent the product is a test martingale, so it ever reaches 20 with a probability of at most 1/20 (Ville),
however often it is looked at. Every fraction depends on c alone, so the product is computed from counts by confidence.

Source: Arnold, Henzi and Ziegel, Sequentially valid tests for forecast calibration, Annals of Applied Statistics 2023;
Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSSB 2024.
"""

import numpy as np

from projections.arrays import Floats, Ints
from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins

E_VALUE_SURE = 20.0
"""A calibrated agent's e-value ever reaches this with a probability of at most 1/20."""

ROUNDED = 0.995
"""Higher confidences are treated as this value, because an agent that writes 1.00 may mean 0.995."""

_FRACTIONS = np.array([0.05, 0.1, 0.2, 0.35, 0.5])


def gap_e_value(bins: ConfidenceBins) -> float:
    """Return the e-value of reviewed decisions, above 0; 1 without any. Above 1e300 it is infinite."""
    rows, columns = np.nonzero(bins.outcomes)
    outcome, n = REVIEWED_VALUES[columns], bins.outcomes[rows, columns]
    c = bins.confidence[rows]
    sides = (_log_products(c, outcome, n), _log_products(1 - c, 1 - outcome, n))
    with np.errstate(over="ignore"):
        return float(np.exp(np.concatenate(sides)).mean())


def _log_products(confidence: Floats, outcome: Floats, n: Ints) -> Floats:
    """Return the logarithm of the product of each fraction's bets that the outcomes are below the confidences."""
    c = np.minimum(confidence, ROUNDED)
    return np.asarray(np.log1p(np.outer(_FRACTIONS, (c - outcome) / (1 - c))) @ n)
