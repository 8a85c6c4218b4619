"""Histories of successes and failures without a shift: how far do their sums stray by chance?"""

from collections.abc import Iterator

import numpy as np

from projections.arrays import Floats
from projections.stats.shift_search import Deviation, ShiftLayout

EXACT_MAX = 10_000
"""Up to this many values each outcome is drawn. With more, the sums are drawn from their normal limit."""

ROUND_MIN = 100
ROUND_MAX = 1_000
"""The number of histories of a round is between these, the more the shorter they are."""

_SEED = 20_110_607
_JITTER = 1e-9
_ROUND_VALUES = 50_000


def simulate_deviations(layout: ShiftLayout, stated: Floats, chance: Floats) -> Iterator[Deviation]:
    """Return rounds of simulated histories without end. The result is deterministic: the seed is fixed.

    The values are outcomes minus `stated`; each outcome is 1 with its `chance` and otherwise 0, all independent.
    Shapes: one entry per value.
    """
    rng = np.random.Generator(np.random.SFC64(_SEED))
    if len(stated) <= EXACT_MAX:
        return _exact_rounds(rng, layout, stated, chance)
    variance = 1 - chance
    variance *= chance
    return _normal_rounds(rng, layout, layout.cumulated(variance))


def _exact_rounds(
    rng: "np.random.Generator", layout: ShiftLayout, stated: Floats, chance: Floats
) -> Iterator[Deviation]:
    """Yield rounds in which each outcome is drawn."""
    histories = min(max(_ROUND_VALUES // len(stated), ROUND_MIN), ROUND_MAX)
    edges = np.append(0, layout.ends[layout.points][:-1])
    share = layout.before / layout.sizes[:, None]
    order, starts = layout.order(), layout.starts
    while True:
        excess = (rng.random((histories, len(stated))) < chance) - stated
        totals = np.add.reduceat(excess[:, order], starts, axis=1)
        sums = np.add.reduceat(excess, edges, axis=1).cumsum(axis=1) - totals @ share
        squares = np.einsum("ij,ij->i", excess, excess) - (totals**2 / layout.sizes).sum(axis=1)
        yield layout.deviation(sums, squares)


def _normal_rounds(rng: "np.random.Generator", layout: ShiftLayout, before: Floats) -> Iterator[Deviation]:
    """Yield rounds in which the sums at the points are normal, with the covariance of independent outcomes.

    `before` is the sum of the variances of the outcomes before each point in each stratum.
    """
    share = layout.before / layout.sizes[:, None]
    total, crossed = before[:, -1], share.T @ before
    sums = before.sum(axis=0)
    covariance = np.minimum.outer(sums, sums)
    covariance -= crossed
    covariance -= crossed.T
    covariance += np.matmul(share.T, share * total[:, None], out=crossed)
    del crossed
    covariance[np.diag_indices_from(covariance)] += _JITTER * sums[-1]
    root = np.linalg.cholesky(covariance)
    del covariance
    squares = np.full(ROUND_MIN, total.sum() - (total / layout.sizes).sum())
    while True:
        yield layout.deviation(rng.standard_normal((ROUND_MIN, len(sums))) @ root.T, squares)
