"""The interval of the point of a shift that was found: all points that a conditional test does not reject.

For each point, the test asks whether the largest reduction of squared errors is further above the one at this point
than chance explains if the shift is there. Given the sum at the point, the other sums do not depend on the size of the
shift (Siegmund 1988), so they are simulated as a normal process that passes through it, with the long-run variance.

A shift is dated only if it was found, and a small one is found only where chance helped, which also moves the date. So
only those simulated histories count in which the shift would have been found, too: the selection is a part of the test
(Fithian, Sun and Taylor 2014). Without that, intervals of small changes cover the date much too rarely.
"""

from typing import Final

import numpy as np

from projections.arrays import Floats, Ints
from projections.stats.shift_search import Deviation, ShiftLayout
from tallystick.shapes.history import INTERVAL_LEVEL

HISTORIES: Final = 400
"""Simulated histories of each test."""

POINTS_MAX: Final = 200
"""Points that are tested: half of them near the most likely one, half over the whole history."""

FOUND_SHARE_MIN: Final = 0.1
"""Where fewer simulated histories would have been found than this share, they count as this many."""

LOSS_MAX: Final = 25.0
"""A point whose reduction is this many long-run variances below the largest is not in the interval, without a test."""

EXCESS_FACTOR: Final = 2.0
"""By how much what exceeds the variance of independent values is multiplied, as windows see only a part of it."""

WINDOW_ERRORS: Final = 1.0
"""Standard errors that are added to the windows: shifts are found where their variance was estimated too small.

Both are chosen by simulation: intervals then cover nine of ten dates with outcomes in clusters and autocorrelated ones,
and rather more with independent ones (tests/projections/calibration/test_drift_intervals.py).
"""

_SEED: Final = 19_880_401
_JITTER: Final = 1e-9


def long_run_variance(layout: ShiftLayout, found: Deviation, independent: float) -> float:
    """Return the long-run variance of the values of the one history in `found`, rather too large than too small."""
    windows = float(found.windows[0]) / independent * (1 + WINDOW_ERRORS * layout.window_error)
    return float(found.variance[0]) * max(1.0, 1 + EXCESS_FACTOR * (windows - 1))


def find_interval(layout: ShiftLayout, sums: Floats, variance: float, limit: float) -> tuple[int, int]:
    """Return the first and the last likely number of values before the shift.

    sums: the sum of centred values up to each of `layout.ends`. variance: the long-run variance of the values. limit:
    the weighted sum from which on a shift is found, in units of the values.
    """
    reduction = sums[layout.candidates] ** 2 / layout.information[layout.candidates]
    loss = (reduction.max() - reduction) / variance
    tested = _choose(loss)
    rows = layout.candidates[tested]
    at, information = layout.ends[rows], layout.information[rows]
    covariance = layout.covariance(rows)
    rng = np.random.Generator(np.random.SFC64(_SEED))
    root = np.linalg.cholesky(covariance + _JITTER * information.max() * np.eye(len(at)))
    drawn = (rng.standard_normal((HISTORIES, len(at))) @ root.T).astype(np.float32)
    passing = (sums[rows] / np.sqrt(variance)).astype(np.float32)
    limits = (limit / np.sqrt(variance) / layout.weight(rows)).astype(np.float32)
    per_information = (1 / np.sqrt(information)).astype(np.float32)
    likely = [int(loss[tested].argmin())]
    for point in np.flatnonzero(loss[tested] <= LOSS_MAX).tolist():
        slope = (covariance[point] / information[point]).astype(np.float32)
        walks = drawn + (passing[point] - drawn[:, point])[:, None] * slope
        np.abs(walks, out=walks)
        found = (walks >= limits).any(axis=1)
        losses = (walks[found] * per_information).max(axis=1, initial=0) ** 2 - passing[point] ** 2 / information[point]
        as_far = int((losses >= loss[tested[point]]).sum())
        if as_far > (1 - INTERVAL_LEVEL) * max(int(found.sum()), FOUND_SHARE_MIN * HISTORIES):
            likely.append(point)
    return int(at[min(likely)]), int(at[max(likely)])


def _choose(loss: Floats) -> Ints:
    """Choose the points to test among the candidates, given their losses."""
    every = np.arange(len(loss))
    near = every[np.flatnonzero(loss <= LOSS_MAX)[0] : np.flatnonzero(loss <= LOSS_MAX)[-1] + 1]
    half = POINTS_MAX // 2
    chosen = [points[:: max(1, -(-len(points) // half))] for points in (every, near)]
    return np.unique(np.concatenate([*chosen, [int(loss.argmin())]]))
