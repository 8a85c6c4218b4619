"""A weighted sum of two shares of the same decisions that exclude each other, with its interval.

The interval combines Wilson's intervals of both shares by the method of variance estimates recovery (Zou and Donner
2008, Statistics in Medicine 27:1693). It stays wide if a share is 0 or 1.
"""

from math import copysign, sqrt

from projections.stats.intervals import wilson_interval
from tallystick.shapes.parts import Interval


def weigh_shares(first: float, second: float, n: float, weights: tuple[float, float]) -> tuple[float, Interval]:
    """Return the weighted sum of the shares `first / n` and `second / n`, and its 95% interval.

    `first + second` is at most `n`, which is above 0. Weights have any sign.
    """
    shares, (heavy, light) = (first / n, second / n), weights
    value = heavy * shares[0] + light * shares[1]
    free = (1 - shares[0]) * (1 - shares[1])
    correlation = -1.0 if free <= 0 else -min(1.0, sqrt(shares[0] * shares[1] / free))
    correlation = copysign(1.0, heavy) * copysign(1.0, light) * correlation
    below, above = zip(
        _distances(shares[0], wilson_interval(first, n), heavy),
        _distances(shares[1], wilson_interval(second, n), light),
        strict=True,
    )
    return value, Interval(value - _combine(*below, correlation), value + _combine(*above, correlation))


def _distances(share: float, interval: Interval, weight: float) -> tuple[float, float]:
    """Return how far the interval of a weighted share extends below and above it."""
    below, above = abs(weight) * (share - interval.low), abs(weight) * (interval.high - share)
    return (below, above) if weight >= 0 else (above, below)


def _combine(first: float, second: float, correlation: float) -> float:
    return sqrt(max(0.0, first * first + second * second + 2 * correlation * first * second))
