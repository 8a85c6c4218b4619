"""CORP: calibration without bins (Dimitriadis, Gneiting, Jordan, PNAS 2021).

The recalibrated confidence is the isotonic regression of outcome on stated confidence. The Brier score S then falls
into three parts, none negative: S = miscalibration - discrimination + uncertainty.
"""

from functools import lru_cache

import msgspec
import numpy as np

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins
from projections.stats.intervals import Interval

REFITS = 1_000
"""Refits behind a consistency band."""

POINTS_MAX = 100
"""Confidences a band is drawn at; more of them are pooled with their neighbours for it, evenly by reviews."""

CURVE_MAX = 1_000
"""Confidences a curve lists one by one; of more it lists the ends of each level."""

SEED = 20211
"""Refits are drawn from one fixed seed, so that the same decisions always show the same band."""

BAND_LEVEL = 0.95


class CurvePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the curve: at this stated confidence, the mean outcome, and the recalibrated confidence."""

    confidence: float
    reviewed: int
    rate: float
    recalibrated: float


class BandPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A point of the consistency band: where the curve of a perfectly calibrated agent lies in 95% of samples."""

    confidence: float
    low: float
    high: float


class Corp(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the Brier score; curve and band where they were asked for."""

    miscalibration: float
    discrimination: float
    uncertainty: float
    curve: list[CurvePoint] | None = None
    band: list[BandPoint] | None = None


def fit_isotonic(rate: Floats, n: Floats) -> Floats:
    """Isotonic regression of rates, weighted, in the order given."""
    from scipy.optimize import isotonic_regression  # a third of a second that only who asks for figures should pay

    return np.asarray(isotonic_regression(rate, weights=n).x)


def decompose_brier(pool: ConfidenceBins, *, curves: bool = False) -> Corp:
    """The decomposition of the Brier score of at least one decision."""
    total = pool.n.sum()
    rate = pool.rate
    recalibrated = fit_isotonic(rate, pool.n)
    overall = pool.total_worth / total
    squares = float(pool.outcomes[:, 0].sum() + 0.25 * pool.outcomes[:, 1].sum())
    # S(c) - S(recalibrated), with the outcomes themselves cancelled out.
    excess = pool.n * (pool.confidence - recalibrated) * (pool.confidence + recalibrated - 2 * rate)
    return Corp(
        miscalibration=max(0.0, float(excess.sum() / total)),
        discrimination=float((pool.n * (recalibrated - overall) ** 2).sum() / total),
        uncertainty=max(0.0, float(squares / total - overall**2)),
        curve=_curve(pool, recalibrated) if curves else None,
        band=consistency_band(pool) if curves else None,
    )


def _curve(pool: ConfidenceBins, recalibrated: Floats) -> list[CurvePoint]:
    shown = np.ones(len(pool.n), dtype=bool)
    if len(shown) > CURVE_MAX:
        step = np.diff(recalibrated) != 0
        shown = np.concatenate([[True], step]) | np.concatenate([step, [True]])
    columns = (pool.confidence, pool.n, pool.rate, recalibrated)
    return [
        CurvePoint(confidence=c, reviewed=int(n), rate=rate, recalibrated=value)
        for c, n, rate, value in zip(*(column[shown].tolist() for column in columns), strict=True)
    ]


def consistency_band(pool: ConfidenceBins) -> list[BandPoint]:
    """The consistency band: outcomes drawn as the agent stated them, refitted REFITS times."""
    c, n = _thinned(pool)
    low, high = _refitted(c.tobytes(), n.tobytes())
    return [
        BandPoint(confidence=at, low=interval.low, high=interval.high)
        for at, interval in zip(c.tolist(), map(Interval, low, high), strict=True)
    ]


def _thinned(pool: ConfidenceBins) -> tuple[Floats, Floats]:
    """Confidences and reviews, neighbours pooled down to POINTS_MAX."""
    if len(pool.n) <= POINTS_MAX:
        return pool.confidence, pool.n
    middle = np.cumsum(pool.n) - pool.n / 2
    _, place = np.unique((middle / pool.n.sum() * POINTS_MAX).astype(np.intp), return_inverse=True)
    n = np.bincount(place, weights=pool.n).astype(np.float64)
    c: Floats = np.bincount(place, weights=pool.n * pool.confidence) / n
    return c, n


@lru_cache(64)
def _refitted(confidence: bytes, reviews: bytes) -> tuple[list[float], list[float]]:
    """The ends of the band. The refits are laid end to end, each a step above the last, and fitted in one pass."""
    c, n = np.frombuffer(confidence), np.frombuffer(reviews)
    rng = np.random.default_rng(SEED)
    drawn = np.empty((REFITS, len(c)))
    for place in range(len(c)):  # of one chance at a time, which numpy draws five times faster than of many
        drawn[:, place] = rng.binomial(int(n[place]), min(1.0, c[place]), REFITS)
    step = 2.0 * np.arange(REFITS)[:, None]
    fitted = fit_isotonic((drawn / n + step).ravel(), np.tile(n, REFITS)).reshape(REFITS, -1) - step
    low, high = np.quantile(fitted, [(1 - BAND_LEVEL) / 2, (1 + BAND_LEVEL) / 2], axis=0)
    return np.clip(low, 0, 1).tolist(), np.clip(high, 0, 1).tolist()
