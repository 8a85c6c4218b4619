"""Evidence about stated confidences that holds at any time: at each look, and for the time of looking that is chosen.

Imagine a bet at each review: before the outcome o (0 to 1) is known, a share b of a stake is put on a payoff whose mean
is at most 0 if a hypothesis holds. The stake is multiplied by 1 + b * payoff, and so does not grow on average. Ville's
inequality then says that it ever reaches 40 times its beginning with a probability of at most 1/40, at whichever
review, and however the reviews depend on each other's past. So a stake of 40 is evidence against the hypothesis. The
mean of the stakes of several bets is an e-value, too: small bets find small gaps in many reviews, large ones large gaps
in few. It is the product over reviews, which does not depend on their order.

There are four payoffs, for a stated confidence c:

- `c - o` and `o - c`, against "the mean outcome is at least (at most) the mean confidence". A verdict on the gap rests
  on these: gaps at different confidences that cancel each other are no gap.
- `(c - o) / (1 - c)` and `(o - c) / c`, fair odds against "each confidence is true". Their mean, an e-value against a
  calibrated agent, also finds gaps that cancel. Confidences beyond ROUNDED are treated as this value, because an agent
  that writes 1.00 may mean 0.995: it makes stakes smaller.

Reviews of one cluster (a task, a session, a day) may succeed or fail together, and their number may depend on their
outcomes: a task is tried until it succeeds. The factor of a named cluster is therefore 1 + b * (sum of the first J
payoffs) / J, with J set before: it does not grow on average, whatever the dependence inside and the size. The e-value
is the mean over several J.

Source: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; Arnold, Henzi,
Ziegel, "Sequentially valid tests for forecast calibration", Annals of Applied Statistics 2023; Miller, "Adding error
bars to evals", arXiv 2411.00640, for clusters.
"""

from math import log
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, RowNumbers

E_VALUE_SUPPORTED: Final = 40.0
"""A verdict of over- or underconfidence is supported from this e-value on: 2.5% for each side."""

E_VALUE_SURE: Final = 20.0
"""The mean of both e-values of a calibrated agent ever reaches this with a probability of at most 1/20."""

LOG_SUPPORTED: Final = log(E_VALUE_SUPPORTED)

ROUNDED: Final = 0.995
"""The highest confidence at which bets at fair odds on a lower outcome are made; for a higher outcome 1 minus this."""

LOG_E_VALUE_MAX: Final = 690.0
"""Natural logarithm of the largest e-value that is reported, about 1e300."""

CLUSTER_REVIEWS: Final = (1, 4, 16)
"""The numbers J of reviews of a cluster that are bet on."""

PAYOFFS: Final = 4
"""The payoffs of a review: of a lower and of a higher mean outcome, then at fair odds at its confidence."""

_GAP_BETS: Final = {0.02: 0.03, 0.1: 0.12, 0.25: 0.25, 0.5: 0.4, 0.8: 0.2}
"""The weight in the e-value of each bet on the mean outcome."""

_FAIR_BETS: Final = {0.05: 0.25, 0.1: 0.25, 0.2: 0.25, 0.4: 0.25}
"""The weight of each bet at fair odds."""

_bets = [(payoff, *bet) for payoff in range(PAYOFFS) for bet in (_GAP_BETS if payoff < 2 else _FAIR_BETS).items()]
_payoff_of_bet = np.array([payoff for payoff, _, _ in _bets])
_bet = np.array([bet for _, bet, _ in _bets])
_log_weight = np.log([weight for _, _, weight in _bets])

BETS: Final = len(_bets)
_LOWER, _HIGHER, _FAIR_LOWER, _FAIR_HIGHER = (_payoff_of_bet == payoff for payoff in range(PAYOFFS))


GAP_LOG_WEIGHTS: Final[Floats] = _log_weight[_LOWER]


def gap_log_factors(payoff: Floats) -> Floats:
    """Return the logarithms of the factors of the bets on one side of the mean outcome, and their weights.

    Shapes: n payoffs; a row for each bet, whose weights are those of GAP_LOG_WEIGHTS.
    """
    return np.asarray(np.log1p(_bet[_LOWER][:, np.newaxis] * payoff))


class LogEValues(NamedTuple):
    """Natural logarithms of e-values, by group.

    `over` and `under` are against a mean gap of 0, for overconfidence and for underconfidence; `calibrated` is against
    "each confidence is true".
    """

    over: Floats
    under: Floats
    calibrated: Floats


def payoffs(confidence: Floats, outcome: Floats) -> Floats:
    """Return the payoffs of reviews. Shapes: n confidences and n outcomes, both 0..1; PAYOFFS rows of n."""
    gap = confidence - outcome
    lower, higher = np.minimum(confidence, ROUNDED), np.maximum(confidence, 1 - ROUNDED)
    return np.stack([gap, -gap, (lower - outcome) / (1 - lower), (outcome - higher) / higher])


def log_factors(payoff: Floats) -> Floats:
    """Return the logarithms of the factors of all bets. Shapes: PAYOFFS rows; BETS rows of the same shape."""
    shape = (-1, *(1 for _ in payoff.shape[1:]))
    return np.asarray(np.log1p(_bet.reshape(shape) * payoff[_payoff_of_bet]))


def log_e_values(total: Floats) -> LogEValues:
    """Return the e-values, given the sums of `log_factors`.

    Shapes: BETS rows, then where reviews are of clusters one for each of CLUSTER_REVIEWS, then groups.
    """
    several = total.shape[1:-1]
    weights = _log_weight - sum(map(log, several))

    def over_all(rows: npt.NDArray[np.bool_]) -> Floats:
        size = np.count_nonzero(rows) * int(np.prod(several))
        chosen = (total[rows].T + weights[rows]).reshape(total.shape[-1], size)
        top = chosen.max(axis=1)
        return np.asarray(top + np.log(np.exp(chosen - top[:, np.newaxis]).sum(axis=1)))

    fair = np.logaddexp(over_all(_FAIR_LOWER), over_all(_FAIR_HIGHER)) - log(2)
    return LogEValues(over_all(_LOWER), over_all(_HIGHER), fair)


def cluster_factors(payoff: Floats, place: RowNumbers, starts: RowNumbers) -> Floats:
    """Return the logarithms of the factors of named clusters.

    Shapes: PAYOFFS rows of n reviews, which are in the order of clusters; the place of each in its cluster, from 0; the
    number of the first review of each of m clusters. The answer has BETS, then CLUSTER_REVIEWS, then m columns.
    """
    sums = [np.add.reduceat(payoff * (place < size), starts, axis=1) / size for size in CLUSTER_REVIEWS]
    return log_factors(np.stack(sums, axis=1))


def log_mean_exp(logs: Floats) -> Floats:
    """Return the logarithm of the mean over the rows of the numbers whose logarithms are given."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)))
