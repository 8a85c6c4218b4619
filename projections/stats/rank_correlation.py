"""Spearman's rank correlation with its interval: whether longer answers get better verdicts."""

from math import atanh, sqrt, tanh

import msgspec
import numpy as np

from projections.arrays import Floats
from projections.stats.intervals import Z
from tallystick.shapes.parts import Interval

PAIRS_MIN = 4
"""With fewer pairs there is no interval."""


class RankCorrelation(msgspec.Struct, frozen=True, kw_only=True):
    """Spearman's correlation, -1..1, its 95% interval, and the number of pairs."""

    rho: float
    interval: Interval | None
    n: int


def rank_correlation(first: Floats, second: Floats, effective_n: float | None = None) -> RankCorrelation | None:
    """Return the correlation of the ranks of n pairs; ties get their mean rank. None if all values of a side are alike.

    The interval is Fisher's on the scale atanh, with the variance (1 + rho^2 / 2) / (n - 3) (Bonett and Wright 2000),
    at `effective_n` independent pairs; None with fewer than PAIRS_MIN.
    """
    n = len(first)
    if n < 2 or float(np.ptp(first)) == 0 or float(np.ptp(second)) == 0:
        return None
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    rho = min(1.0, max(-1.0, float(a @ b) / sqrt(float(a @ a) * float(b @ b))))
    return RankCorrelation(rho=rho, interval=_interval(rho, n if effective_n is None else effective_n), n=n)


def _ranks(values: Floats) -> Floats:
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[index]


def _interval(rho: float, n: float) -> Interval | None:
    if n < PAIRS_MIN:
        return None
    middle = atanh(min(1 - 1e-12, max(1e-12 - 1, rho)))
    half = Z * sqrt((1 + rho * rho / 2) / (n - 3))
    return Interval(tanh(middle - half), tanh(middle + half))
