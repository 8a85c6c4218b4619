"""Simulated agents, and the review at which each has a supported verdict: bets multiplied out one by one."""

from collections.abc import Callable
from math import log1p

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins, bin_reviews
from projections.stats.gap_martingale import log_factors_over, log_factors_under, log_mean_exp
from projections.stats.intervals import GAP_MARGIN, GapSide

Stating = Callable[[np.random.Generator, tuple[int, ...]], Floats]

STATING: dict[str, Stating] = {
    "heaped": lambda rng, shape: rng.choice([0.8, 0.9, 0.95], shape),
    "all .8": lambda _, shape: np.full(shape, 0.8),
    "all .99": lambda _, shape: np.full(shape, 0.99),
    "beta(8,2)": lambda rng, shape: np.round(rng.beta(8, 2, shape), 2),
    "beta(2,2)": lambda rng, shape: np.round(rng.beta(2, 2, shape), 2),
    "uniform": lambda rng, shape: np.round(rng.random(shape), 2),
    "sure or not": lambda rng, shape: np.where(rng.random(shape) < 0.5, 0.99, np.round(rng.beta(2, 2, shape), 2)),
    "scattered": lambda rng, shape: rng.choice([0.05, 0.3, 0.6, 0.95, 1.0], shape),
}
"""The distributions of stated confidence."""

EVIDENCE = 40.0
FRACTIONS = (0.05, 0.1, 0.2, 0.4)
MARGIN_BETS = tuple(0.9 * 0.6**power for power in range(12))


def bins_of(confidence: Floats, outcome: Floats) -> ConfidenceBins:
    """Return the bins of decisions: a stated confidence and an outcome (0, 0.5 or 1) each."""
    levels, place = np.unique(confidence, return_inverse=True)
    counts = np.zeros((len(levels), 4), dtype=np.int64)
    np.add.at(counts, (place, np.array([2, 1, 0])[(2 * outcome).astype(int)]), 1)
    return bin_reviews(levels, counts)


def outcomes(rng: np.random.Generator, confidence: Floats, gap: float) -> Floats:
    """Return outcomes of agents that succeed more often than they state by `gap` on average, within 0 and 1."""
    low, high = -1.0, 1.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        mean = float((np.clip(confidence + middle, 0, 1) - confidence).mean())
        low, high = (middle, high) if mean < gap else (low, middle)
    return (rng.random(confidence.shape) < np.clip(confidence + low, 0, 1)).astype(float)


def first_support(side: GapSide, confidence: Floats, outcome: Floats) -> Floats:
    """Return the number of reviews after which each agent (row) has the verdict; infinite if it never has it."""
    conditions = [_growing(steps) for steps in _log_steps(side, confidence, outcome)]
    supported = np.logical_and.reduce(conditions)
    return np.where(supported.any(axis=1), supported.argmax(axis=1) + 1.0, np.inf)


def _log_steps(side: GapSide, c: Floats, o: Floats) -> list[list[Floats]]:
    if side == "over":
        c = np.minimum(c, 0.995)
        return [[np.log1p(f * (c - o) / (1 - c)) for f in FRACTIONS]]
    if side == "under":
        return _log_steps("over", 1 - c, 1 - o)
    return [
        [bet * (sign * (o - c) + GAP_MARGIN) - (-log1p(-bet) - bet) * (o - c) ** 2 for bet in MARGIN_BETS]
        for sign in (1, -1)
    ]


def _growing(steps: list[Floats]) -> npt.NDArray[np.bool_]:
    """Return after which reviews the mean stake is at least EVIDENCE."""
    stakes = np.zeros(steps[0].shape)
    for step in steps:
        stakes += np.exp(np.minimum(np.cumsum(step, axis=1), 300))
    return stakes / len(steps) >= EVIDENCE


def running_log_e_values(confidence: Floats, outcome: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of both e-values after each review: of overconfidence, and of underconfidence.

    Shapes: confidences and outcomes in the order of first review; the answers have one entry for each.
    """
    over, under = (
        log_mean_exp(np.cumsum(factors, axis=1))
        for factors in (log_factors_over(confidence, outcome), log_factors_under(confidence, outcome))
    )
    return over, under
