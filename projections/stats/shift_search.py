"""Search for one shift of a mean within strata: values in order of time, whose neighbours may depend on each other.

The model: each stratum has a mean of its own, and after some point all means differ by the same shift. The sum of
values minus the mean of their stratum, up to a point, is 0 at the end and stays near 0 without a shift. A stratum that
ends before another begins adds nothing at the point between them, so strata that follow each other are no shift. At
each point the sum divided by its `information` is the least-squares estimate of the shift (a Mantel-Haenszel
combination of the strata), and its square divided by the information the reduction of squared errors.

Dependence: the sums of blocks of consecutive values, after the best shift is removed, give the long-run variance, by
which the sums are divided (batch means, Flegal and Jones 2010). Neighbours that succeed or fail together vary more in
blocks. Simulated histories are divided by their own estimate, so that its error with few blocks is part of their
distribution.

Interval of the point: all points whose reduction of squared errors is at most INTERVAL_LOSS long-run variances below
the largest, an inverted likelihood ratio test (Siegmund 1988; Eo and Morley 2015). The limit of that difference is the
larger of two independent exponential variables (Yao 1987), with P(at most x) = (1 - exp(-x/2))^2.
"""

from math import ceil, log, sqrt
from typing import Final

import msgspec
import numpy as np

from projections.arrays import Floats, Ints

POINTS_MAX = 500
"""Most points at which simulated histories are compared."""

BLOCK_MIN = 10
"""Fewest values of a block. The length is the square root of the number of values if that is more."""

INTERVAL_LEVEL = 0.90
"""The confidence level of the interval of the point."""

INTERVAL_LOSS = -2 * log(1 - sqrt(INTERVAL_LEVEL))
"""The largest difference of squared errors, in long-run variances, of a point in the interval: 5.94."""

SPREAD_SHARE_MIN: Final = 0.6
"""The long-run variance is at least this share of the variance of the values. Blocks that vary less are chance."""

_POWER: Final = -0.25
_SPREAD_MIN: Final = 1e-6


class Shift(msgspec.Struct, frozen=True):
    """The most likely shift: after `end` values the means change by `amount`, known to `error` (a standard error).

    The interval of the point is from `earliest` to `latest` values, both included.
    """

    end: int
    amount: float
    error: float
    earliest: int
    latest: int


class Deviation(msgspec.Struct, frozen=True):
    """How far the sums of some histories stray. Shapes: one entry per history.

    `largest` is the largest weighted sum in units of the square root of `spread`, the unscaled long-run variance.
    `variance` is the variance of the values after the shift is removed.
    """

    largest: Floats
    spread: Floats
    variance: Floats


class ShiftLayout:
    """The strata of n values in order of time, and the points at which their means may shift.

    stratum: the number 0..S-1 of each value's stratum. ends: ascending numbers of values before each possible shift;
    the last is n. Each side of a shift has at least `side_min` values, and at least half as much information as that
    many values on each side have in one stratum.
    """

    def __init__(self, stratum: Ints, ends: Ints, side_min: int) -> None:
        n = len(stratum)
        self.stratum, self.ends = stratum, ends
        self.sizes = np.maximum(np.bincount(stratum), 1)
        self.order = np.argsort(stratum, kind="stable")
        self.starts = np.append(0, np.cumsum(self.sizes)[:-1])
        rank = np.empty(n, dtype=np.int64)
        rank[self.order] = np.arange(n) - np.repeat(self.starts, self.sizes)
        size = self.sizes[stratum]
        self.information = np.cumsum((size - 2 * rank - 1) / size)[ends - 1]
        enough = self.information >= side_min / 2 - 1e-9
        self.candidates = np.flatnonzero((ends >= side_min) & (n - ends >= side_min) & enough)
        thinned = self.candidates[:: max(1, -(-len(self.candidates) // POINTS_MAX))]
        blocks = _block_ends(n, ends)
        self.points = np.unique(np.concatenate([thinned, blocks]))
        """Indices of `ends`: candidates, thinned, and ends of blocks."""
        self.blocks = len(blocks)
        self._candidate, self._block = np.searchsorted(self.points, thinned), np.searchsorted(self.points, blocks)
        self.before = self.cumulated(np.ones(n))
        at = ends[self.points]
        scaled = self.before[:, self._block] / self.sizes[:, None]
        self._kernel = np.minimum.outer(at[self._candidate], at[self._block]) - self.before[:, self._candidate].T @ scaled
        """The expected sum at each end of a block, if the means shift by -1 at each candidate."""

    def cumulated(self, values: Floats) -> Floats:
        """Return the sum of the values before each point in each stratum. Shape: strata, points."""
        shape = len(self.sizes), len(self.points)
        segment = np.searchsorted(self.ends[self.points], np.arange(len(values)), side="right")
        sums = np.bincount(self.stratum * shape[1] + segment, values, shape[0] * shape[1])
        return sums.reshape(shape).cumsum(axis=1)

    def deviation(self, sums: Floats, squares: Floats) -> Deviation:
        """Return the deviation of histories, given the sums at `points` and the sum of squares of centred values.

        Shapes: histories, points; histories.
        """
        n = len(self.stratum)
        information = self.information[self.points[self._candidate]]
        examined = sums[:, self._candidate]
        largest = (np.abs(examined) * (information / n) ** _POWER).max(axis=1) / sqrt(n)
        reduction = examined**2 / information
        best, row = reduction.argmax(axis=1), np.arange(len(sums))
        shift = examined[row, best] / information[best]
        remaining = sums[:, self._block] - shift[:, None] * self._kernel[best]
        increments = np.diff(remaining, axis=1, prepend=0.0)
        variance = np.maximum((squares - reduction[row, best]) / n, _SPREAD_MIN**2)
        spread = np.maximum((increments**2).sum(axis=1) / n, SPREAD_SHARE_MIN * variance)
        return Deviation(largest / np.sqrt(spread), spread, variance)

    def centred(self, values: Floats) -> Floats:
        """Return the values minus the mean of their stratum."""
        return values - (np.bincount(self.stratum, values) / self.sizes)[self.stratum]

    def sums(self, centred: Floats) -> Floats:
        """Return the sum of centred values up to each of `ends`."""
        return np.cumsum(centred)[self.ends - 1]

    def locate(self, sums: Floats, variance: float) -> Shift:
        """Return the most likely shift, given the sums at `ends` and the long-run variance of the values."""
        information = self.information[self.candidates]
        examined = sums[self.candidates]
        reduction = examined**2 / information
        best = int(reduction.argmax())
        likely = np.flatnonzero(reduction >= reduction[best] - INTERVAL_LOSS * variance)
        ends = self.ends[self.candidates]
        return Shift(
            end=int(ends[best]),
            amount=float(-examined[best] / information[best]),
            error=sqrt(variance / information[best]),
            earliest=int(ends[likely[0]]),
            latest=int(ends[likely[-1]]),
        )


def _block_ends(n: int, ends: Ints) -> Ints:
    """Return the indices of the ends of consecutive blocks, each of at least BLOCK_MIN values if possible."""
    blocks = max(1, n // max(BLOCK_MIN, ceil(sqrt(n))))
    return np.unique(np.searchsorted(ends, np.ceil(np.arange(1, blocks + 1) * n / blocks)))
