"""A confidence sequence for the gap: 95% intervals, one after each review, that all contain the true gap together.

The interval of one look (`intervals.gap_interval`) contains the true gap in 95% of samples of a size that was fixed
before. A person who looks after every review sees many of them, and some miss. Of a confidence sequence at most 5% of
histories have any interval that misses, so it may be read at any time.

For d = outcome minus stated confidence, which is at least -1, and a bet of size b on "the mean of d is higher than m",

    exp(b (sum d - n m) - (-ln(1 - b) - b) sum d^2)

is at most a product of fair bets 1 + b d (Fan's inequality), so that its mean over BETS reaches 40 with a probability
of at most 1/40 if m is the mean of the expectations so far. The interval has the m that no bet of either side refutes.
The expectations may change from review to review. The sums need no order.

Reviews of one cluster may depend on each other. Then d is the sum over a cluster, divided by the number of reviews of
the largest cluster so that it is at least -1.

Source: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; Howard, Ramdas,
McAuliffe, Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021.
"""

from math import exp, log, log1p
from typing import Final

import numpy as np

from projections.arrays import Floats
from projections.stats.gap_martingale import LOG_SUPPORTED, log_mean_exp
from projections.stats.intervals import GAP_MARGIN
from tallystick.shapes.parts import Interval

BETS: Final = tuple(0.9 * 0.6**power for power in range(12))
"""Sizes of bets: the largest are best for few reviews, the smallest for a million."""

_COSTS: Final = tuple(-log1p(-bet) - bet for bet in BETS)
_LEVEL: Final = LOG_SUPPORTED + log(len(BETS))
_NEWTON_STEPS: Final = 60
_ROUNDING: Final = 1e-12

_bets = np.array(BETS)
_costs = np.array(_COSTS)


def gap_sequence(n: int, difference_sum: float, square_sum: float, largest: int = 1) -> Interval:
    """Return the interval of the gap after n > 0 reviews.

    `difference_sum` is the sum of outcome minus confidence. `square_sum` is the sum of the squares of its sums by
    cluster, and `largest` the number of reviews of the largest cluster; a review without a cluster is one of its own.
    """
    mean, half = difference_sum / n, largest * _half_width(square_sum / largest**2) / n
    return Interval(max(-1.0, mean - half), min(1.0, mean + half))


def log_e_within(n: Floats, difference_sum: Floats, square_sum: Floats, largest: Floats) -> Floats:
    """Return the logarithms of the e-values of the hypotheses that a gap is outside plus and minus GAP_MARGIN.

    Shapes: arrays of equal length with what `gap_sequence` takes. Its interval is within the margin where the e-value
    is at least 40.
    """
    square = square_sum / largest**2
    sides = (sign * difference_sum + GAP_MARGIN * n for sign in (1, -1))
    return np.minimum(*(_log_mean_bets(side / largest, square) for side in sides))


def log_factors_above(difference: Floats) -> Floats:
    """Return the logarithms of the factors of the bets on "the mean is higher than -GAP_MARGIN".

    Shapes: n differences, outcome minus confidence; the answer has a row for each of BETS and n columns. If the mean
    of their products reaches 40, the interval of `gap_sequence` is above -GAP_MARGIN.
    """
    d = difference[np.newaxis, :]
    return np.asarray(_bets[:, np.newaxis] * (d + GAP_MARGIN) - _costs[:, np.newaxis] * d**2)


def _log_mean_bets(total: Floats, square: Floats) -> Floats:
    return log_mean_exp(_bets[:, np.newaxis] * total - _costs[:, np.newaxis] * square)


def _half_width(square_sum: float) -> float:
    """Return the sum u at which the mean over bets of exp(b u - cost square_sum) is 40.

    The logarithm of that mean is convex and increases with u, so Newton's method from above decreases to the answer.
    """
    costs = [cost * square_sum for cost in _COSTS]
    # here one bet alone brings the mean to 40, so that u is not below the answer
    u = min((_LEVEL + cost) / bet for bet, cost in zip(BETS, costs, strict=True))
    for _ in range(_NEWTON_STEPS):
        logs = [bet * u - cost for bet, cost in zip(BETS, costs, strict=True)]
        top = max(logs)
        weights = [exp(value - top) for value in logs]
        total = sum(weights)
        excess = top + log(total) - _LEVEL
        step = excess * total / sum(bet * weight for bet, weight in zip(BETS, weights, strict=True))
        u -= step
        if abs(step) <= _ROUNDING * u:
            break
    return u
