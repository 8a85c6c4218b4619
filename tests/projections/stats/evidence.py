"""Simulated agents, and whether each has a supported verdict: bets multiplied out one by one."""

from collections.abc import Callable
from math import log1p

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.calibration.confidence_bins import ConfidenceBins, bin_reviews
from projections.stats.gap_martingale import LogEValues, log_e_values, log_factors
from projections.stats.intervals import GAP_MARGIN
from tallystick.shapes.calibration import GapSide

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
GAP_BETS = {0.02: 0.02, 0.1: 0.08, 0.25: 0.22, 0.5: 0.45, 1.0: 0.18, 3.0: 0.05}
"""The weight of each bet on the mean outcome."""
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


def has_support(side: GapSide, confidence: Floats, outcome: Floats) -> npt.NDArray[np.bool_]:
    """Return whether each agent (row) has the evidence for a verdict after all its reviews."""
    conditions = []
    for factors, weights in _log_steps(side, confidence, outcome):
        stakes = np.exp(np.minimum(factors.sum(axis=-1), 300))
        conditions.append(weights @ stakes >= EVIDENCE)
    return np.asarray(np.logical_and.reduce(conditions))


def _log_steps(side: GapSide, c: Floats, o: Floats) -> list[tuple[Floats, Floats]]:
    """Return the logarithms of the factors of each bet, and the weights of the bets."""
    if side != "well":
        if side == "under":
            c, o = 1 - c, 1 - o
        most = 0.9 / np.maximum(1 - c, 1e-9)
        factors = [np.log1p(np.minimum(bet, most) * (c - o)) for bet in GAP_BETS]
        return [(np.stack(factors), np.array(list(GAP_BETS.values())))]
    return [
        (
            np.stack(
                [bet * (sign * (o - c) + GAP_MARGIN) - (-log1p(-bet) - bet) * (o - c) ** 2 for bet in MARGIN_BETS]
            ),
            np.full(len(MARGIN_BETS), 1 / len(MARGIN_BETS)),
        )
        for sign in (1, -1)
    ]


def running_log_e_values(confidence: Floats, outcome: Floats) -> LogEValues:
    """Return the logarithms of the e-values after each review.

    Shapes: confidences and outcomes; the answers have one entry for each.
    """
    return log_e_values(np.cumsum(log_factors(confidence, outcome), axis=1))
