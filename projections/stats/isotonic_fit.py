"""Weighted isotonic regression: the non-decreasing values that are closest to given ones, by least squares.

Neighbours that fall are pooled into their weighted mean until none falls (Ayer, Brunk, Ewing, Reid, Silverman 1955).
Few values are pooled here, many by scipy. Both add up in the same order, so that the values are equal to the last bit.
"""

from itertools import pairwise

import numpy as np

from projections.arrays import Floats

POOLED_HERE_MAX = 1_000
"""Up to this many values a loop takes less than a millisecond, and loading scipy.optimize a third of a second."""


def fit_isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the weighted isotonic regression of values, in the given order. Weights are above 0."""
    if len(values) > POOLED_HERE_MAX:
        from scipy.optimize import isotonic_regression

        return np.asarray(isotonic_regression(values, weights=weights).x)
    means, ends = _pool(values.tolist(), weights.tolist())
    sizes = [end - begin for begin, end in pairwise([0, *ends])]
    return np.repeat(np.array(means, dtype=np.float64), sizes)


def _pool(values: list[float], weights: list[float]) -> tuple[list[float], list[int]]:
    """Return the means of the pools, which rise, and the places at which they end."""
    means: list[float] = []
    totals: list[float] = []
    ends: list[int] = []
    size, place = len(values), 0
    while place < size:
        mean, weight = values[place], weights[place]
        place += 1
        if means and means[-1] >= mean:
            last = totals.pop()
            total = last * means.pop() + weight * mean
            ends.pop()
            weight += last
            mean = total / weight
            while place < size and mean >= values[place]:
                total += weights[place] * values[place]
                weight += weights[place]
                mean = total / weight
                place += 1
            while means and means[-1] >= mean:
                last = totals.pop()
                total += last * means.pop()
                ends.pop()
                weight += last
                mean = total / weight
        means.append(mean)
        totals.append(weight)
        ends.append(place)
    return means, ends
