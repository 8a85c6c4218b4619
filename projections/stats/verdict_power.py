"""How many reviews a verdict needs: the power of the mixture of bets against "stated confidences are true".

Each bet multiplies its wealth by 1 + s * l * (o - c) at a review, with o the outcome, c the stated confidence, s the
side, and l a fraction of the largest bet that keeps the factor positive. The e-value is the mean wealth of all bets. A
verdict is supported once it has reached EVIDENCE_MIN (Arnold, Henzi and Ziegel 2023; Waudby-Smith and Ramdas 2024).

The number of reviews that this takes varies from agent to agent. Here it is approximated: the logarithm of each wealth
is a random walk with the mean and the variance of one step. All walks of one side have the same steps up to their size,
so that one normal number places all of them, and the e-value reaches EVIDENCE_MIN where that number reaches a limit.
The chance of reaching it before and falling back is that of a Brownian motion with drift (the inverse Gaussian law),
with Siegmund's correction for steps in place of a continuous path (Siegmund 1985, Sequential Analysis, ch. 10).
"""

from math import log, pi, sqrt
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.stats.intervals import GAP_MARGIN, GapSide

EVIDENCE_MIN = 20.0
"""A verdict is supported once the e-value has reached this: 1 / 5%."""

POWER = 0.8
"""The share of agents that have the verdict after the number of reviews."""

FRACTIONS = np.arange(1, 11) / 20
"""The bets, as fractions of the largest one: .05 to .5."""

CERTAIN = 0.99
"""A confidence closer to 0 or 1 is treated as this far from it, because no bet against certainty is too large."""

REVIEWS_MAX = 10**7
"""A verdict that needs more reviews than this is reported as unreachable."""

CELLS_MAX = 100
"""With more distinct confidences, those within one hundredth are merged."""

_OVERSHOOT = 0.583
"""How far a walk passes a limit, on average, in standard deviations of a step; a sixth of its skewness is added."""

_FALL_BACK, _FALL_BACK_REVIEWS = 0.9, 10
"""Fewer walks than Brownian motions fall back after they reached a limit, with few steps above all. Measured: 0.3 of
them at 11 to 13 reviews, 0.7 at 22, 0.8 to 1 at 77 to 330, over ten distributions of confidence and gaps."""

_GRID = 12
_REFINEMENTS = 3
_NEWTON_STEPS = 4


class Record(NamedTuple):
    """Reviews by stated confidence: distinct confidences, and how many had an outcome of 0, 0.5 and 1 (columns)."""

    confidence: Floats
    counts: Floats


def log_factors(confidence: Floats) -> Floats:
    """Return the logarithm of the factor of each bet (rows), at each confidence, for outcomes 0, 0.5 and 1.

    The first half of the bets is on successes, more than stated; the second on failures.
    """
    c = np.clip(confidence, 1 - CERTAIN, CERTAIN)[np.newaxis, :, np.newaxis]
    f = FRACTIONS[:, np.newaxis, np.newaxis]
    excess = np.array([0.0, 0.5, 1.0]) - c
    return np.log1p(np.concatenate([f * excess / c, -f * excess / (1 - c)]))


def e_value(record: Record) -> float:
    """Return the e-value of a record, as if it were looked at for the first time."""
    wealth = np.tensordot(log_factors(record.confidence), record.counts, axes=2)
    return float(np.exp(wealth).mean())


def reviews_for_verdict(side: GapSide, record: Record, gap: float) -> int | None:
    """Return after how many further reviews POWER of such agents have a supported verdict; None if it is unreachable.

    Such agents have this record, state confidences with the same distribution, and succeed more often than they state
    by `gap` (less often, if it is negative), within 0 and 1, at each confidence. `side` is the verdict: "over" and
    "under" need evidence against a gap of 0, "well" against gaps of GAP_MARGIN on both sides.
    """
    if (side == "over" and gap >= 0) or (side == "under" and gap <= 0) or (side == "well" and abs(gap) >= GAP_MARGIN):
        return None
    record = _merge_cells(record)
    shifts = (0.0,) if side != "well" else (-GAP_MARGIN, GAP_MARGIN)
    walks = [_make_walks(record, gap, shift) for shift in shifts]
    return _find_reviews(walks)


class _Walks(NamedTuple):
    """The logarithms of all wealths, from `start` on: mean and deviation of a step.

    Deviations are along the leading walk, which grows fastest; `skewness` is that of its steps.
    """

    start: Floats
    mean: Floats
    deviation: Floats
    leader: int
    skewness: float


def _merge_cells(record: Record) -> Record:
    if len(record.confidence) <= CELLS_MAX:
        return record
    hundredth = np.minimum((record.confidence * 100).astype(np.intp), 99)
    _, number = np.unique(hundredth, return_inverse=True)
    n = record.counts.sum(axis=1)
    total = np.bincount(number, weights=n)
    counts = np.stack([np.bincount(number, weights=column) for column in record.counts.T], axis=1)
    return Record(np.bincount(number, weights=n * record.confidence) / total, counts)


def _make_walks(record: Record, gap: float, shift: float) -> _Walks:
    """Return the walks of the bets against a gap of `shift`, for agents whose gap is `gap`."""
    factors = log_factors(record.confidence + shift)
    n = record.counts.sum(axis=1)
    share = n / n.sum()
    rate = np.clip(record.confidence + _true_shift(record.confidence, share, gap), 0, 1)
    chance = np.stack([share * (1 - rate), share * rate], axis=1)
    step = factors[:, :, ::2]
    mean = np.tensordot(step, chance, axes=2)
    leader = int(mean.argmax())
    centred = step - mean[:, np.newaxis, np.newaxis]
    covariance = np.tensordot(centred * centred[leader], chance, axes=2)
    spread = float(covariance[leader]) ** 0.5
    deviation = covariance / spread if spread > 0 else np.zeros_like(mean)
    skewness = float((centred[leader] ** 3 * chance).sum()) / spread**3 if spread > 0 else 0.0
    return _Walks(np.tensordot(factors, record.counts, axes=2), mean, deviation, leader, skewness)


def _true_shift(confidence: Floats, share: Floats, gap: float) -> float:
    """Return the shift of all confidences, cut off at 0 and 1, that gives a mean gap of `gap`."""
    shift = gap
    for _ in range(8):
        found = float(share @ (np.clip(confidence + shift, 0, 1) - confidence))
        free = float(share[(confidence + shift > 0) & (confidence + shift < 1)].sum())
        if abs(found - gap) < 1e-9 or free == 0:
            break
        shift += (gap - found) / free
    return shift


def _find_reviews(walks: list[_Walks]) -> int | None:
    """Return the smallest number of reviews with enough power: refine a grid of numbers around it."""
    low, high = 1.0, float(REVIEWS_MAX)
    for _ in range(_REFINEMENTS):
        n = np.geomspace(low, high, _GRID)
        enough = np.flatnonzero(sum(_chance(one, n) for one in walks) - (len(walks) - 1) >= POWER)
        if not len(enough):
            return None
        place = int(enough[0])
        if place == 0:
            return max(1, round(low))
        low, high = float(n[place - 1]), float(n[place])
    return max(1, round(high))


def _chance(walks: _Walks, n: Floats) -> Floats:
    """Return the chance that the e-value reaches EVIDENCE_MIN within n further reviews."""
    from scipy.special import log_ndtr, ndtr

    root, limit = np.sqrt(n), log(EVIDENCE_MIN * len(walks.start))
    mean, deviation = float(walks.mean[walks.leader]), float(walks.deviation[walks.leader])
    level = walks.start[:, np.newaxis] + walks.mean[:, np.newaxis] * n
    if deviation <= 0:
        return (np.logaddexp.reduce(level) >= limit).astype(np.float64)
    slope = walks.deviation[:, np.newaxis] * root
    z = (limit - level[walks.leader]) / slope[walks.leader]
    for _ in range(_NEWTON_STEPS):
        value = level + slope * z
        top = value.max(axis=0)
        weight = np.exp(value - top)
        total = weight.sum(axis=0)
        z = z - (top + np.log(total) - limit) / ((weight * slope).sum(axis=0) / total)
    above = ndtr(-z) + walks.skewness * (z * z - 1) * np.exp(-z * z / 2) / (6 * sqrt(2 * pi) * root)  # Edgeworth
    passed = n * mean + z * deviation * root + (_OVERSHOOT + walks.skewness / 6) * deviation
    fell_back = 2 * mean * passed / deviation**2 + log_ndtr(-(passed + mean * n) / (deviation * root))
    fell_back = _FALL_BACK * n / (n + _FALL_BACK_REVIEWS) * np.exp(np.minimum(0.0, fell_back))
    return np.where(passed <= 0, 1.0, np.clip(above + fell_back, 0.0, 1.0))
