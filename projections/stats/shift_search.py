"""Search for one shift of a mean within strata: values in order of time, whose neighbours may depend on each other.

The model: each stratum has a mean of its own, and after some point all means differ by the same shift. The sum of
values minus the mean of their stratum, up to a point, is 0 at the end and stays near 0 without a shift. A stratum that
ends before another begins adds nothing at the point between them, so strata that follow each other show no shift. At
each point the sum divided by its `information` is the least-squares estimate of the shift (a Mantel-Haenszel
combination of the strata), and its square divided by the information the reduction of squared errors.

Dependence: the sums of all windows of consecutive values, after the best shift is removed, give the long-run variance
by which the sums are divided (overlapping batch means, Meketon and Schmeiser 1984). Neighbours that succeed or fail
together vary more in windows. Short windows see only a part of that, so what exceeds the variance of independent values
is multiplied by EXCESS_FACTOR. Simulated histories are divided by their own estimate, so that its error in a short
history is part of their distribution.

Interval of the point: all points whose reduction of squared errors is at most INTERVAL_LOSS long-run variances below
the largest, an inverted likelihood ratio test (Siegmund 1988; Eo and Morley 2015). The limit of that difference is the
larger of two independent exponential variables (Yao 1987), with P(at most x) = (1 - exp(-x/2))^2.
"""

from math import log, sqrt
from typing import Final

import msgspec
import numpy as np

from projections.arrays import Floats, Ints

CANDIDATES_MAX = 500
"""Most possible shifts at which simulated histories are compared."""

POINTS_MAX = 1_000
"""Most points between which windows are summed."""

WINDOW = 10
"""Values of a window, or more if a moment has more or the history is long."""

EXCESS_FACTOR = 2.5
"""Chosen by simulation: clusters of 10 and autocorrelation of .5 then raise as few false alarms as independence."""

INTERVAL_FACTOR = 1.3
"""The same for the interval of the point, chosen so that it covers nine of ten changes of independent outcomes."""

INTERVAL_LEVEL = 0.90
"""The confidence level of the interval of the point."""

INTERVAL_LOSS = -2 * log(1 - sqrt(INTERVAL_LEVEL))
"""The largest difference of squared errors, in long-run variances, of a point in the interval: 5.94."""

SPREAD_SHARE_MIN: Final = 0.5
"""The long-run variance is at least this share of the variance of the values. Windows that vary less are chance."""

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

    `largest` is the largest weighted sum, `variance` the variance of the values after the shift is removed, and
    `windows` the mean square of window sums, divided by that variance and by the number of values of a window.
    """

    largest: Floats
    variance: Floats
    windows: Floats

    def scaled(self, independent: float) -> Floats:
        """Return `largest` in long-run standard deviations; `independent` is the mean of `windows` if values are."""
        return self.largest / np.sqrt(self.variance * inflation(self.windows / independent, EXCESS_FACTOR))


def inflation(windows: Floats, factor: float) -> Floats:
    """Return the long-run variance as a multiple of the variance; `windows` are relative to independent values."""
    return np.maximum(1 + np.where(windows > 1, factor, 1.0) * (windows - 1), SPREAD_SHARE_MIN)


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
        chosen = self.candidates[:: max(1, -(-len(self.candidates) // CANDIDATES_MAX))]
        step = -(-len(ends) // POINTS_MAX)
        self.points = np.unique(np.concatenate([chosen, np.arange(len(ends) - 1, -1, -step)]))
        """Indices of `ends`: some of the candidates, and ends of windows."""
        self._candidate = np.searchsorted(self.points, chosen)
        self.before = self.cumulated(np.ones(n))
        at = ends[self.points]
        scaled = self.before / self.sizes[:, None]
        self._kernel = np.minimum.outer(at[self._candidate], at) - self.before[:, self._candidate].T @ scaled
        """The expected sum at each point if the means shift by -1 at each candidate."""
        edges = np.append(0, at)
        stops = np.searchsorted(edges, edges + WINDOW)
        self._from = np.flatnonzero(stops < len(edges))
        self._to = stops[self._from]
        self._window_values = float((edges[self._to] - edges[self._from]).sum())

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
        remaining = np.zeros((len(sums), len(self.points) + 1))
        remaining[:, 1:] = sums - shift[:, None] * self._kernel[best]
        windows = remaining[:, self._to] - remaining[:, self._from]
        variance = np.maximum((squares - reduction[row, best]) / n, _SPREAD_MIN**2)
        return Deviation(largest, variance, np.einsum("ij,ij->i", windows, windows) / self._window_values / variance)

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
