"""Evidence about stated confidences that holds at any time: at each look, and for the time of looking that is chosen.

Imagine a bet at each review: before the outcome o (0 to 1) is known, a share of a stake is put on a payoff whose mean
is at most 0 if a hypothesis holds. The stake is multiplied by 1 + what the bet wins or loses, its wager, and so does
not grow on average. Ville's inequality then says that it ever reaches 40 times its beginning with a probability of at
most 1/40, at whichever review, and however the reviews depend on each other's past. So a stake of 40 is evidence
against the hypothesis. The weighted mean of the stakes of several bets is an e-value, too: small bets find small gaps
in many reviews, large ones large gaps in few. It is a product over reviews, which does not depend on their order.

There are bets on four payoffs, for a stated confidence c:

- b (c - o) and b (o - c), against "the mean outcome is at least (at most) the mean confidence". A verdict on the gap
  rests on these: gaps at different confidences that cancel each other are not a gap. No bet can lose more than LOSS_MAX
  of its stake: where it could, it is smaller.
- b (c - o) / (1 - c) and b (o - c) / c, fair odds against "each confidence is true". Their mean, an e-value against a
  calibrated agent, also finds gaps that cancel. Confidences beyond ROUNDED are treated as this value, because an agent
  that writes 1.00 may mean 0.995: it makes stakes smaller.

Reviews of one cluster (a task, a session, a day) may succeed or fail together, and their number may depend on their
outcomes: a task is tried until it succeeds. The factor of a named cluster is therefore 1 + the sum of its first J
wagers / J, with J set before: it does not grow on average, whatever the dependence inside and the size. The e-value is
the mean over several J.

Bets of the first kind are also made on other values in -1..1, such as the differences of two agents' losses, against
"their mean is at most 0".

Source: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; Arnold, Henzi,
Ziegel, "Sequentially valid tests for forecast calibration", Annals of Applied Statistics 2023; Choe, Ramdas, "Comparing
sequential forecasters", Operations Research 2024; Miller, "Adding error bars to evals", arXiv 2411.00640, for clusters.
"""

from math import log, prod
from typing import Final, NamedTuple

import numpy as np

from projections.arrays import Floats, Ints, RowNumbers

E_VALUE_SUPPORTED: Final = 40.0
"""A verdict of over- or underconfidence is supported from this e-value on: 2.5% for each side."""

E_VALUE_SURE: Final = 20.0
"""The mean of both e-values of a calibrated agent ever reaches this with a probability of at most 1/20."""

LOG_SUPPORTED: Final = log(E_VALUE_SUPPORTED)

ROUNDED: Final = 0.995
"""The highest confidence at which bets at fair odds on a lower outcome are made; for a higher outcome 1 minus this."""

_TINY: Final = 1e-9

LOG_E_VALUE_MAX: Final = 690.0
"""Natural logarithm of the largest e-value that is reported, about 1e300."""

CLUSTER_REVIEWS: Final = (1, 3, 9)
"""The numbers J of reviews of a cluster that are bet on."""

LOSS_MAX: Final = 0.9
"""The largest share of a stake that a bet on the mean outcome can lose at a review."""

_GAP_BETS: Final = {0.02: 0.02, 0.1: 0.08, 0.25: 0.22, 0.5: 0.45, 1.0: 0.18, 3.0: 0.05}
"""The weight in the e-value of each bet on the mean outcome."""

_FAIR_BETS: Final = {0.05: 0.25, 0.1: 0.25, 0.2: 0.25, 0.4: 0.25}
"""The weight of each bet at fair odds."""

_gap, _fair = (np.array(list(bets))[:, np.newaxis] for bets in (_GAP_BETS, _FAIR_BETS))
_log_weight = np.log([*_GAP_BETS.values(), *_GAP_BETS.values(), *_FAIR_BETS.values(), *_FAIR_BETS.values()])

BETS: Final = len(_log_weight)
_LOWER, _HIGHER = slice(0, len(_gap)), slice(len(_gap), 2 * len(_gap))
_FAIR_LOWER = slice(_HIGHER.stop, _HIGHER.stop + len(_fair))
_FAIR_HIGHER = slice(_FAIR_LOWER.stop, BETS)

GAP_LOG_WEIGHTS: Final[Floats] = _log_weight[_LOWER]


def gap_wagers(confidence: Floats, outcome: Floats) -> Floats:
    """Return the wagers of bets on a lower mean outcome, whose weights are those of GAP_LOG_WEIGHTS.

    Shapes: n confidences and n outcomes, both 0..1; a row for each bet.
    """
    most = LOSS_MAX / np.maximum(1 - confidence, _TINY)
    return np.asarray(np.minimum(_gap, most) * (confidence - outcome))


class LogEValues(NamedTuple):
    """Natural logarithms of e-values, by group.

    `over` and `under` are against a mean gap of 0, for overconfidence and for underconfidence; `calibrated` is against
    "each confidence is true".
    """

    over: Floats
    under: Floats
    calibrated: Floats


def wagers(confidence: Floats, outcome: Floats) -> Floats:
    """Return what each bet wins or loses, as a share of its stake. Shapes: n of both, 0..1; BETS rows of n."""
    lower, higher = np.minimum(confidence, ROUNDED), np.maximum(confidence, 1 - ROUNDED)
    return np.concatenate(
        [
            gap_wagers(confidence, outcome),
            gap_wagers(1 - confidence, 1 - outcome),
            _fair * ((lower - outcome) / (1 - lower)),
            _fair * ((outcome - higher) / higher),
        ]
    )


def log_factors(confidence: Floats, outcome: Floats) -> Floats:
    """Return the logarithms of the factors of all bets. Shapes: as of `wagers`."""
    return np.asarray(np.log1p(wagers(confidence, outcome)))


def log_e_values(total: Floats) -> LogEValues:
    """Return the e-values, given the sums of `log_factors`.

    Shapes: BETS rows, then where reviews are of clusters one for each of CLUSTER_REVIEWS, then groups.
    """
    several = total.shape[1:-1]
    weights = _log_weight - sum(map(log, several))

    def over_all(rows: slice) -> Floats:
        size = (rows.stop - rows.start) * prod(several)
        chosen = (total[rows].T + weights[rows]).reshape(total.shape[-1], size)
        top = chosen.max(axis=1)
        return np.asarray(top + np.log(np.exp(chosen - top[:, np.newaxis]).sum(axis=1)))

    fair = np.logaddexp(over_all(_FAIR_LOWER), over_all(_FAIR_HIGHER)) - log(2)
    return LogEValues(over_all(_LOWER), over_all(_HIGHER), fair)


def cluster_factors(wager: Floats, kind: RowNumbers, starts: RowNumbers, sizes: RowNumbers) -> Floats:
    """Return the logarithms of the factors of named clusters.

    Shapes: the wagers of different reviews; for n reviews, in the order of clusters, the column of its wagers; of m
    clusters the number of its first review, and the number of its reviews. The answer has a row for each bet, then one
    for each of CLUSTER_REVIEWS, then m columns.
    """
    order = np.argsort(-sizes, kind="stable")  # the longest first: those that have another review are a slice
    total, factors = np.zeros((len(wager), len(starts))), np.empty((len(wager), len(CLUSTER_REVIEWS), len(starts)))
    for place in range(CLUSTER_REVIEWS[-1]):
        longer = int(np.count_nonzero(sizes > place))
        total[:, :longer] += np.take(wager, kind[starts[order[:longer]] + place], axis=1)
        if place + 1 in CLUSTER_REVIEWS:
            factors[:, CLUSTER_REVIEWS.index(place + 1), order] = np.log1p(total / (place + 1))
    return factors


def log_e_above_zero(values: Floats, cluster: Ints) -> float:
    """Return the logarithm of the e-value against "the mean of these values is at most 0".

    Shapes: n values in -1..1, and the number of the named cluster of each (-1: none). Within a cluster they are in an
            order that does not depend on them.
    """
    order = np.argsort(cluster, kind="stable")
    named = order[np.searchsorted(cluster[order], 0) :]
    wager = gap_wagers(np.zeros(len(values)), -values)  # of a stake at most LOSS_MAX is lost at a value of -1
    total = np.log1p(wager[:, cluster < 0]).sum(axis=1)[:, np.newaxis] + GAP_LOG_WEIGHTS[:, np.newaxis]
    if len(named):
        _, starts, sizes = np.unique(cluster[named], return_index=True, return_counts=True)
        factors = cluster_factors(wager[:, named], np.arange(len(named)), starts, sizes)
        total = total + factors.sum(axis=2) - log(len(CLUSTER_REVIEWS))
    return float(np.logaddexp.reduce(total, axis=None))


def log_mean_exp(logs: Floats) -> Floats:
    """Return the logarithm of the mean over the rows of the numbers whose logarithms are given."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)))
