"""CORP: reliability diagram and Brier decomposition without bins (Dimitriadis, Gneiting, Jordan, PNAS 2021).

The recalibrated confidence is the isotonic regression of outcome on stated confidence. The Brier score S then has three
parts, none of them negative: S = miscalibration - discrimination + uncertainty.
"""

from functools import lru_cache

import msgspec
import numpy as np

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins
from projections.stats.intervals import Interval

REFITS = 1_000
"""Simulated refits of a consistency band."""

POINTS_MAX = 100
"""Most confidences in a band. If there are more, neighbours are merged into groups with equal numbers of reviews."""

CURVE_MAX = 1_000
"""Most confidences that a curve lists one by one. If there are more, it lists only the two ends of each level."""

SEED = 20211
"""The fixed seed of the refits, so that the same decisions always give the same band."""

BAND_LEVEL = 0.95


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the curve: a stated confidence, its mean outcome, and its recalibrated confidence."""

    confidence: float
    reviewed: int
    rate: float
    recalibrated: float


class BandPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the consistency band, which contains the curve of a perfectly calibrated agent in 95% of samples."""

    confidence: float
    low: float
    high: float


class Corp(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the Brier score. Curve and band are present only if they were requested."""

    miscalibration: float
    discrimination: float
    uncertainty: float
    curve: list[CurvePoint] | None = None
    band: list[BandPoint] | None = None


def fit_isotonic(rate: Floats, n: Floats) -> Floats:
    """Return the weighted isotonic regression of rates, in the given order."""
    from scipy.optimize import isotonic_regression  # imported here because it takes a third of a second

    return np.asarray(isotonic_regression(rate, weights=n).x)


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
        curve=_curve(bins, recalibrated) if curves else None,
        band=consistency_band(bins) if curves else None,
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
    low, high = _simulate_band(c.tobytes(), n.tobytes())
    return [
        BandPoint(confidence=confidence, low=interval.low, high=interval.high)
        for confidence, interval in zip(c.tolist(), map(Interval, low, high), strict=True)
    ]


def _merge_neighbours(bins: ConfidenceBins) -> tuple[Floats, Floats]:
    """Return confidences and numbers of reviews, with neighbours merged down to POINTS_MAX."""
    if len(bins.n) <= POINTS_MAX:
        return bins.confidence, bins.n
    middle = np.cumsum(bins.n) - bins.n / 2
    _, group = np.unique((middle / bins.n.sum() * POINTS_MAX).astype(np.intp), return_inverse=True)
    n = np.bincount(group, weights=bins.n).astype(np.float64)
    c: Floats = np.bincount(group, weights=bins.n * bins.confidence) / n
    return c, n


@lru_cache(64)
def _simulate_band(confidence: bytes, reviews: bytes) -> tuple[list[float], list[float]]:
    """Return the ends of the band. All refits are concatenated, each 2 above the last, and fitted in one pass."""
    c, n = np.frombuffer(confidence), np.frombuffer(reviews)
    rng = np.random.default_rng(SEED)
    drawn = np.empty((REFITS, len(c)))
    for column in range(len(c)):  # numpy draws five times faster with one probability at a time
        drawn[:, column] = rng.binomial(int(n[column]), min(1.0, c[column]), REFITS)
    step = 2.0 * np.arange(REFITS)[:, None]
    fitted = fit_isotonic((drawn / n + step).ravel(), np.tile(n, REFITS)).reshape(REFITS, -1) - step
    low, high = np.quantile(fitted, [(1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2], axis=0)
    return np.clip(low, 0, 1).tolist(), np.clip(high, 0, 1).tolist()
