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
"""

from math import sqrt
from typing import Final

import msgspec
import numpy as np

from projections.arrays import AnyInts, Floats, RowNumbers

CANDIDATES_MAX = 500
"""Most possible shifts at which simulated histories are compared."""

POINTS_MAX = 1_000
"""Most points between which windows are summed."""

WINDOW = 10
"""Values of a window, or more if a moment or a named cluster has more or the history is long."""

EXCESS_FACTOR = 2.5
"""Chosen by simulation: clusters of 10 and autocorrelation of .5 then raise as few false alarms as independence."""

SPREAD_SHARE_MIN: Final = 0.5
"""The long-run variance is at least this share of the variance of the values. Windows that vary less are chance."""

_POWER: Final = -0.25
_SPREAD_MIN: Final = 1e-6


class Shift(msgspec.Struct, frozen=True):
    """The most likely shift: after `end` values the means change by `amount`, known to `error` (a standard error)."""

    end: int
    amount: float
    error: float


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
        return self.largest / self.long_run(independent)

    def long_run(self, independent: float) -> Floats:
        """Return the long-run standard deviation by which sums are divided."""
        windows = self.windows / independent
        inflation = np.maximum(1 + np.where(windows > 1, EXCESS_FACTOR, 1.0) * (windows - 1), SPREAD_SHARE_MIN)
        return np.sqrt(self.variance * inflation)


class ShiftLayout:
    """The strata of n values in order of time, and the points at which their means may shift.

    stratum: the number 0..S-1 of each value's stratum. ends: ascending numbers of values before each possible shift;
    the last is n. Each side of a shift has at least `side_min` values, and at least half as much information as that
    many values on each side have in one stratum.
    """

    def __init__(self, stratum: AnyInts, ends: AnyInts, side_min: int) -> None:
        n = len(stratum)
        self.sizes = np.maximum(np.bincount(stratum), 1)
        self.stratum = stratum.astype(np.min_scalar_type(len(self.sizes) - 1), copy=False)
        self.ends = ends
        self.starts = np.append(0, np.cumsum(self.sizes)[:-1])
        self.information = self._information()
        enough = self.information >= side_min / 2 - 1e-9
        self.candidates = np.flatnonzero((ends >= side_min) & (n - ends >= side_min) & enough).astype(np.int32)
        chosen = self.candidates[:: max(1, -(-len(self.candidates) // CANDIDATES_MAX))]
        step = -(-len(ends) // POINTS_MAX)
        self.points = np.unique(np.concatenate([chosen, np.arange(len(ends) - 1, -1, -step)]))
        """Indices of `ends`: some of the candidates, and ends of windows."""
        self._candidate = np.searchsorted(self.points, chosen)
        self.before = self.cumulated()
        at = ends[self.points]
        scaled = self.before / self.sizes[:, None]
        self._kernel = np.minimum.outer(at[self._candidate], at) - self.before[:, self._candidate].T @ scaled
        """The expected sum at each point if the means shift by -1 at each candidate."""
        edges = np.append(0, at)
        stops = np.searchsorted(edges, edges + WINDOW)
        self._from = np.flatnonzero(stops < len(edges))
        self._to = stops[self._from]
        self._window_values = float((edges[self._to] - edges[self._from]).sum())
        self.window_error = sqrt(4 / 3 * self._window_values / max(1, len(self._from)) / n)
        """The relative standard error of `windows` if values are independent (Meketon and Schmeiser 1984)."""

    def order(self) -> RowNumbers:
        """Return the places of the values by stratum, within each in order of time."""
        return np.argsort(self.stratum, kind="stable")

    def _information(self) -> Floats:
        """Return the information before each of `ends`: the sum of (size - 2 rank - 1) / size, ranks from 0.

        One column is filled at a time, because each takes 8 MB of a million values. Up to the division all are whole
        numbers, so that no order of the steps changes the result.
        """
        sizes = self.sizes.astype(np.float64)
        added = np.arange(0.0, -2.0 * len(self.stratum), -2.0)
        added += np.repeat(sizes + 2.0 * self.starts - 1.0, self.sizes)
        added /= np.repeat(sizes, self.sizes)
        information = np.empty(len(added))
        information[self.order()] = added
        return self._at_ends(np.cumsum(information, out=information))

    def _at_ends(self, values: Floats) -> Floats:
        """Return the last of the values before each of `ends`."""
        return values if len(values) == len(self.ends) else values[self.ends - 1]

    def cumulated(self, values: Floats | None = None, points: AnyInts | None = None) -> Floats:
        """Return the sum of the values (by default their number) before each point in each stratum.

        Shape: strata, points.
        """
        points, n = self.points if points is None else points, len(self.stratum)
        shape = len(self.sizes), len(points) + 1
        place = np.repeat(np.arange(shape[1]), np.diff(self.ends[points], prepend=0, append=n))
        place += np.multiply(self.stratum, shape[1], dtype=np.intp)
        sums = np.bincount(place, values, shape[0] * shape[1])
        return sums.astype(np.float64, copy=False).reshape(shape).cumsum(axis=1)[:, :-1]

    def covariance(self, points: AnyInts) -> Floats:
        """Return the covariance of the sums at some points, if the values are independent with variance 1."""
        at, before = self.ends[points], self.cumulated(points=points)
        covariance: Floats = np.minimum.outer(at, at) - before.T @ (before / self.sizes[:, None])
        return covariance

    def weight(self, points: AnyInts) -> Floats:
        """Return the factor by which the sums at some points are weighted."""
        n = len(self.stratum)
        weight: Floats = (self.information[points] / n) ** _POWER / sqrt(n)
        return weight

    def deviation(self, sums: Floats, squares: Floats) -> Deviation:
        """Return the deviation of histories, given the sums at `points` and the sum of squares of centred values.

        Shapes: histories, points; histories.
        """
        n = len(self.stratum)
        information = self.information[self.points[self._candidate]]
        examined = sums[:, self._candidate]
        largest = (np.abs(examined) * self.weight(self.points[self._candidate])).max(axis=1)
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
        centred: Floats = (np.bincount(self.stratum, values) / self.sizes)[self.stratum]
        return np.subtract(values, centred, out=centred)

    def sums(self, centred: Floats) -> Floats:
        """Return the sum of centred values up to each of `ends`."""
        return self._at_ends(np.cumsum(centred))

    def locate(self, sums: Floats, variance: float) -> Shift:
        """Return the most likely shift, given the sums at `ends` and the long-run variance of the values."""
        information = self.information[self.candidates]
        examined = sums[self.candidates]
        reduction = examined**2 / information
        best = int(reduction.argmax())
        return Shift(
            end=int(self.ends[self.candidates[best]]),
            amount=float(-examined[best] / information[best]),
            error=sqrt(variance / information[best]),
        )
