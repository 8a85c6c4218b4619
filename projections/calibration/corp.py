"""CORP: reliability diagram and Brier decomposition without bins (Dimitriadis, Gneiting, Jordan, PNAS 2021).

The recalibrated confidence is the isotonic regression of outcome on stated confidence. The Brier score S then has three
parts, none of them negative: S = miscalibration - discrimination + uncertainty.

The band has two pairs of ends. Of perfectly calibrated agents, 95% have their curve within the first pair at any one
confidence; most leave it at some confidence. 95% have their whole curve within the second pair, which is wider
(simultaneous bands: Dimitriadis, Dümbgen, Henzi, Puke, Ziegel, Biometrika 2023). Only the second tests calibration.
"""

from functools import lru_cache

import numpy as np

from projections.arrays import Floats, Ints
from projections.calibration.confidence_bins import ConfidenceBins
from projections.stats.isotonic_fit import fit_isotonic
from projections.stats.simultaneous_band import simultaneous_band
from tallystick.shapes.calibration import BandPoint, Corp, CurvePoint

REFITS = 1_000
"""Simulated refits of a consistency band."""

POINTS_MAX = 100
"""Most points of a band. If there are more confidences, it has the lowest, the highest, and some between."""

REFIT_MAX = 500
"""Most confidences in a refit. If there are more, neighbours are merged into groups with equal numbers of reviews."""

CURVE_MAX = 1_000
"""Most confidences that a curve lists one by one. If there are more, it lists only the two ends of each level."""

SEED = 20211
"""The fixed seed of the refits, so that the same decisions always give the same band."""

BAND_LEVEL = 0.95

_DIGITS = 9
"""Refits are rounded, because equal ones differ by rounding errors of the steps."""


def decompose_brier(bins: ConfidenceBins, *, curves: bool = False) -> Corp:
    """Decompose the Brier score of at least one reviewed decision."""
    total = bins.n.sum()
    rate = bins.rate
    recalibrated = fit_isotonic(rate, bins.n)
    overall = bins.outcome_total / total
    squares = float(bins.outcomes[:, 0].sum() + 0.25 * bins.outcomes[:, 1].sum())
    # S(c) - S(recalibrated), in which the squares of the outcomes cancel.
    excess = bins.n * (bins.confidence - recalibrated) * (bins.confidence + recalibrated - 2 * rate)
    return Corp(
        miscalibration=max(0.0, float(excess.sum() / total)),
        discrimination=float((bins.n * (recalibrated - overall) ** 2).sum() / total),
        uncertainty=max(0.0, float(squares / total - overall**2)),
        curve=tuple(_curve(bins, recalibrated)) if curves else None,
        band=tuple(consistency_band(bins)) if curves else None,
    )


def _curve(bins: ConfidenceBins, recalibrated: Floats) -> list[CurvePoint]:
    listed = np.ones(len(bins.n), dtype=bool)
    if len(listed) > CURVE_MAX:
        step = np.diff(recalibrated) != 0
        listed = np.concatenate([[True], step]) | np.concatenate([step, [True]])
    columns = (bins.confidence, bins.n, bins.rate, recalibrated)
    return [
        CurvePoint(confidence=c, reviewed=int(n), rate=rate, recalibrated=value)
        for c, n, rate, value in zip(*(column[listed].tolist() for column in columns), strict=True)
    ]


def consistency_band(bins: ConfidenceBins) -> list[BandPoint]:
    """Simulate the consistency band: draw outcomes with the stated confidences as probabilities, and refit."""
    c, n = _merge_neighbours(bins)
    points = _band_points(len(c))
    ends = _simulate_band(c.tobytes(), n.tobytes())
    return [
        BandPoint(confidence=confidence, low=low, high=high, simultaneous_low=lowest, simultaneous_high=highest)
        for confidence, low, high, lowest, highest in zip(c[points].tolist(), *ends, strict=True)
    ]


def _merge_neighbours(bins: ConfidenceBins) -> tuple[Floats, Floats]:
    """Return confidences and numbers of reviews, with neighbours merged down to REFIT_MAX.

    The lowest and the highest quarter of that number are left alone, because curves vary most at their ends.
    """
    size, alone = len(bins.n), REFIT_MAX // 4
    if size <= REFIT_MAX:
        return bins.confidence, bins.n
    inner = bins.n[alone : size - alone]
    middle = (np.cumsum(inner) - inner / 2) / inner.sum()
    groups = alone + (middle * (REFIT_MAX - 2 * alone)).astype(np.intp)
    ends = np.arange(alone)
    _, group = np.unique(np.concatenate([ends, groups, ends + REFIT_MAX]), return_inverse=True)
    n = np.bincount(group, weights=bins.n).astype(np.float64)
    c: Floats = np.bincount(group, weights=bins.n * bins.confidence) / n
    return c, n


def _band_points(size: int) -> Ints:
    """Return the indexes of the confidences that the band shows: most of them at its ends."""
    ends = POINTS_MAX // 4
    if size <= POINTS_MAX:
        return np.arange(size)
    inner = np.rint(np.linspace(ends, size - 1 - ends, POINTS_MAX - 2 * ends)).astype(np.int64)
    return np.concatenate([np.arange(ends), inner, np.arange(size - ends, size)])


@lru_cache(64)
def _simulate_band(confidence: bytes, reviews: bytes) -> list[list[float]]:
    """Return the ends of the band: those at each point, and those of the whole curve.

    All refits are concatenated, each 2 above the last, and fitted in one pass.
    """
    c, n = np.minimum(np.frombuffer(confidence), 1.0), np.frombuffer(reviews)
    rng = np.random.default_rng(SEED)
    drawn = np.empty((REFITS, len(c)))
    single = (n == 1) & (len(c) > POINTS_MAX)
    drawn[:, single] = rng.random((REFITS, int(single.sum()))) < c[single]
    for column in np.flatnonzero(~single):  # numpy draws five times faster with one probability at a time
        drawn[:, column] = rng.binomial(int(n[column]), c[column], REFITS)
    step = 2.0 * np.arange(REFITS)[:, None]
    fitted = fit_isotonic((drawn / n + step).ravel(), np.tile(n, REFITS)).reshape(REFITS, -1) - step
    curves = np.asarray(np.round(fitted[:, _band_points(len(c))], _DIGITS), dtype=np.float64)
    low, high = np.asarray(np.quantile(curves, [(1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2], axis=0), dtype=np.float64)
    ends = (low, high, *simultaneous_band(curves, low, high, BAND_LEVEL))
    return [np.clip(end, 0, 1).tolist() for end in ends]
