"""How many reviews a verdict needs: the power of bets against "the mean gap is 0".

A bet multiplies its stake by 1 + b (c - o) at a review (o: outcome, c: stated confidence, b: its size), against
underconfidence mirrored. A verdict of over- or underconfidence is supported while the weighted mean stake of the bets
on its side is at least E_VALUE_SUPPORTED. "Well calibrated" is supported while the confidence sequence of the gap is
within plus and minus GAP_MARGIN, which is the same as two such means of stakes being that high, one for each side:
exp(b (d + GAP_MARGIN) - (-ln(1 - b) - b) d^2) for a review with d = o - c, and the same with -d (Waudby-Smith and
Ramdas 2024).

The number of reviews that this takes varies from agent to agent. Here it is approximated: the logarithm of each stake
is a random walk with the mean and the variance of one step. All walks of one side have the same steps up to their size,
so that one normal number places all of them, and the mean reaches the value where that number reaches a limit.
"""

from math import ceil, log, pi, sqrt
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.stats.gap_martingale import E_VALUE_SUPPORTED, GAP_LOG_WEIGHTS, gap_wagers
from projections.stats.gap_sequence import log_factors_above
from projections.stats.intervals import GAP_MARGIN
from tallystick.shapes.calibration import GapSide

POWER = 0.8
"""The share of agents that have the verdict after the number of reviews."""

SPREAD_MIN = 1e-9
"""A smaller standard deviation of a bet's log factor is 0: it comes from rounding."""

REVIEWS_MAX = 10**7
"""A verdict that needs more reviews than this is reported as unreachable."""

CELLS_MAX = 100
"""With more distinct confidences, those within one hundredth are merged."""

_Z_MAX = 9.0
_GRID = 20
_REFINEMENTS = 2
_NEWTON_STEPS = 3

_OUTCOMES = np.array([0.0, 0.5, 1.0])


class Record(NamedTuple):
    """Reviews by stated confidence: distinct confidences, and how many had an outcome of 0, 0.5 and 1 (columns)."""

    confidence: Floats
    counts: Floats


def log_factors(side: GapSide, confidence: Floats) -> list[Floats]:
    """Return the logarithms of the factors of the bets that support a verdict.

    Shapes: one array for each condition (two for "well"); a row for each bet, then for each confidence, then for the
    outcomes 0, 0.5 and 1.
    """
    c, o = np.repeat(confidence, len(_OUTCOMES)), np.tile(_OUTCOMES, len(confidence))
    if side == "well":
        found = [log_factors_above(o - c), log_factors_above(c - o)]
    else:
        found = [np.log1p(gap_wagers(c, o) if side == "over" else gap_wagers(1 - c, 1 - o))]
    return [factors.reshape(len(factors), len(confidence), len(_OUTCOMES)) for factors in found]


def reviews_for_verdict(side: GapSide, record: Record, gap: float) -> int | None:
    """Return after how many further reviews POWER of such agents have a supported verdict; None if it is unreachable.

    Such agents have this record, state confidences with the same distribution, and succeed more often than they state
    by `gap` (less often, if it is negative), within 0 and 1, at each confidence. `side` is the verdict: "over" and
    "under" need evidence against a gap of 0, "well" against gaps of GAP_MARGIN on both sides.
    """
    if (side == "over" and gap >= 0) or (side == "under" and gap <= 0) or (side == "well" and abs(gap) >= GAP_MARGIN):
        return None
    record = _merge_cells(record)
    n = record.counts.sum(axis=1)
    share = n / n.sum()
    rate = np.clip(record.confidence + _true_shift(record.confidence, share, gap), 0, 1)
    chance = np.stack([share * (1 - rate), share * rate], axis=1)
    # `_chance` divides the sum of the stakes by their number: weights that sum to 1 are multiplied by it
    weights = np.zeros(1) if side == "well" else GAP_LOG_WEIGHTS + log(len(GAP_LOG_WEIGHTS))
    return _find_reviews(
        [_make_walks(record, factors, chance, weights) for factors in log_factors(side, record.confidence)]
    )


class _Walks(NamedTuple):
    """The logarithms of all stakes, weighted so that their mean counts, from `start` on: mean and deviation of a step.

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
    counts = np.asarray([np.bincount(number, weights=column) for column in record.counts.T], dtype=np.float64).T
    return Record(np.asarray(np.bincount(number, weights=n * record.confidence) / total), counts)


def _make_walks(record: Record, factors: Floats, chance: Floats, weights: Floats) -> _Walks:
    """Return the walks of some bets, given the chances of outcomes 0 and 1 at each confidence, and their weights."""
    # of the future only outcomes 0 and 1 are assumed; what is recorded may have partial ones
    step, start = factors[:, :, ::2], np.tensordot(factors, record.counts, axes=2) + weights
    mean = np.tensordot(step, chance, axes=2)
    leader = int(mean.argmax())
    centred = step - mean[:, np.newaxis, np.newaxis]
    covariance = np.maximum(0.0, np.tensordot(centred * centred[leader], chance, axes=2))
    spread = sqrt(float(covariance[leader]))
    if spread < SPREAD_MIN:
        return _Walks(start, mean, np.zeros_like(mean), leader, 0.0)
    deviation = covariance / spread
    skewness = float((centred[leader] ** 3 * chance).sum()) / spread**3
    return _Walks(start, mean, deviation, leader, skewness)


def _true_shift(confidence: Floats, share: Floats, gap: float) -> float:
    """Return the shift of all confidences, cut off at 0 and 1, that gives a mean gap of `gap`."""
    shift = gap
    for _ in range(8):
        found = float(share @ (np.clip(confidence + shift, 0, 1) - confidence))
        # only confidences that are not cut off move with the shift: the slope for Newton's method
        free = float(share[(confidence + shift > 0) & (confidence + shift < 1)].sum())
        if abs(found - gap) < 1e-9 or free == 0:
            break
        shift += (gap - found) / free
    return shift


def _find_reviews(walks: list[_Walks]) -> int | None:
    """Return the smallest number of reviews with enough power: on a grid, then between two neighbours of it."""
    low, high, below, above = 1.0, float(REVIEWS_MAX), 0.0, 1.0
    for _ in range(_REFINEMENTS):
        n = np.geomspace(low, high, _GRID)
        # Bonferroni: two conditions hold together with at least the sum of their chances minus 1
        power = np.sum([_chance(one, n) for one in walks], axis=0) - (len(walks) - 1)
        enough = np.flatnonzero(power >= POWER)
        if not len(enough):
            return None
        place = int(enough[0])
        if place == 0:
            return ceil(low)
        low, high, below, above = (float(part[end]) for part in (n, power) for end in (place - 1, place))
    return ceil(low + (high - low) * (POWER - below) / (above - below))


def _chance(walks: _Walks, n: Floats) -> Floats:
    """Return the chance that the e-value is at least E_VALUE_SUPPORTED after n further reviews."""
    from scipy.special import ndtr

    root, limit = np.sqrt(n), log(E_VALUE_SUPPORTED * len(walks.start))
    deviation = float(walks.deviation[walks.leader])
    level = walks.start[:, np.newaxis] + walks.mean[:, np.newaxis] * n
    if deviation <= 0:
        return np.asarray(np.logaddexp.reduce(level) >= limit, dtype=np.float64)
    slope = walks.deviation[:, np.newaxis] * root
    z = np.clip((limit - level[walks.leader]) / slope[walks.leader], -_Z_MAX, _Z_MAX)
    for _ in range(_NEWTON_STEPS):
        value = level + slope * z
        top = value.max(axis=0)
        weight = np.exp(value - top)
        total = weight.sum(axis=0)
        increase = np.maximum(1e-9, (weight * slope).sum(axis=0) / total)
        z = np.clip(z - (top + np.log(total) - limit) / increase, -_Z_MAX, _Z_MAX)
    above = ndtr(-z) + walks.skewness * (z * z - 1) * np.exp(-z * z / 2) / (6 * sqrt(2 * pi) * root)  # Edgeworth
    return np.asarray(np.clip(above, 0.0, 1.0))
