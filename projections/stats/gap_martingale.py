"""Evidence against stated confidences that holds however often one looks at it.

Imagine a bet at each review: before the outcome is known, a share f of a stake is put on "the outcome is lower than the
stated confidence c". At fair odds the stake is multiplied by

    1 + f (c - o) / (1 - c)         (o: outcome, 0 to 1; the factor is 1 - f after a success)

If the agent succeeds at least as often as it states, such a stake does not grow on average, whatever c and f. Ville's
inequality then says that it ever reaches 40 times its beginning with a probability of at most 1/40, at whichever
review, and however the reviews depend on each other's past. So a stake of 40 is evidence of overconfidence. Bets on
"higher" (1 + f (o - c) / c) give evidence of underconfidence. The stake is the mean of the stakes of FRACTIONS, which
is an e-value: the two sides together refute a calibrated agent in at most 5% of histories.

The bets need an order that does not depend on the outcomes: that of the first review of each decision.

Reviews of one cluster (a task, a session, a day) may succeed or fail together. The factor of a cluster that decisions
name is therefore the mean of its reviews' factors: it does not grow on average either, whatever the dependence inside
(Miller 2024; the mean of e-values is an e-value). In the middle of a cluster its factor is the mean so far. Simulated
agents are then called off in at most 5% of histories with a look after every review, whether clusters come one after
another or interleaved.

Confidences beyond ROUNDED are treated as this value, because an agent that writes 1.00 may mean 0.995. This is on the
safe side: it makes stakes smaller.

Source: Arnold, Henzi, Ziegel, "Sequentially valid tests for forecast calibration", Annals of Applied Statistics 2023;
Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; Miller, "Adding error bars
to evals", arXiv 2411.00640, for clusters.
"""

from math import log
from typing import Final

import numpy as np

from projections.arrays import Floats

FRACTIONS: Final = (0.05, 0.1, 0.2, 0.4)
"""Shares of a stake. Small ones find small gaps in many reviews, large ones large gaps in few."""

E_VALUE_SUPPORTED: Final = 40.0
"""A verdict of over- or underconfidence is supported from this e-value on: 2.5% for each side."""

E_VALUE_SURE: Final = 20.0
"""The mean of both e-values of a calibrated agent ever reaches this with a probability of at most 1/20."""

LOG_SUPPORTED: Final = log(E_VALUE_SUPPORTED)

ROUNDED: Final = 0.995
"""The highest confidence at which bets on a lower outcome are made; for a higher outcome the lowest is 1 minus this."""

LOG_E_VALUE_MAX: Final = 690.0
"""Natural logarithm of the largest e-value that is reported, about 1e300."""

_fractions = np.array(FRACTIONS)


def log_factors_over(confidence: Floats, outcome: Floats) -> Floats:
    """Return the logarithms of the factors of the bets on a lower outcome.

    Shapes: n confidences and n outcomes, both 0..1; the answer has a row for each of FRACTIONS and n columns.
    """
    c = np.minimum(confidence, ROUNDED)
    return np.asarray(np.log1p(_fractions[:, np.newaxis] * ((c - outcome) / (1 - c))))


def log_factors_under(confidence: Floats, outcome: Floats) -> Floats:
    """Return the logarithms of the factors of the bets on a higher outcome. Shapes: as of `log_factors_over`."""
    return log_factors_over(1 - confidence, 1 - outcome)


def log_mean_exp(logs: Floats) -> Floats:
    """Return the logarithm of the mean over the rows of the numbers whose logarithms are given."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)))


def log_e_values(confidence: Floats, outcome: Floats, n: Floats | None = None) -> tuple[float, float]:
    """Return the logarithms of the e-values of overconfidence and of underconfidence.

    Shapes: confidences and outcomes 0..1 of reviews, in any order; with `n`, of so many reviews each.
    """
    weights = np.ones(len(confidence)) if n is None else n
    over, under = log_factors_over(confidence, outcome) @ weights, log_factors_under(confidence, outcome) @ weights
    return float(log_mean_exp(over)), float(log_mean_exp(under))
