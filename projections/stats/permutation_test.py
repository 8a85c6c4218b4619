"""Whether one sample is worse than another by more than chance: a permutation test of two means.

Losses are skewed (at a stated .95 they are .0025 or .9025) and samples begin at five, where Student's test is far from
its level. A permutation asks only whether the same values, dealt out anew, would differ as far: it is exact at any size
if nothing changed, whatever the values are. From many values on, the mean of a deal is normal (Hoeffding 1951).
"""

from typing import Final

import numpy as np

from projections.arrays import Floats

SHUFFLED_MAX = 2_000
"""More values than this are not shuffled; the normal limit is taken."""

_SHUFFLES: Final = 999
_SEED: Final = 1_951
_TOLERANCE: Final = 1e-9


def permutation_p_value(sample: Floats, others: Floats) -> float:
    """The chance of a sample's mean standing at least as far above the others' if both were dealt from one lot.

    Both have at least one value. The same values give the same answer.
    """
    both = np.concatenate([sample, others])
    if both.max() - both.min() < _TOLERANCE:
        return 1.0
    n, whole = len(sample), len(both)
    if whole > SHUFFLED_MAX:
        return _limit(float(sample.mean()), n, both)
    shuffled = np.random.default_rng(_SEED).permuted(np.tile(both, (_SHUFFLES, 1)), axis=1)
    means = shuffled[:, :n].mean(axis=1)
    beyond = int((means >= sample.mean() - _TOLERANCE).sum())
    return (1 + beyond) / (1 + _SHUFFLES)


def _limit(mean: float, n: int, both: Floats) -> float:
    from scipy.special import ndtr

    whole = len(both)
    deviation = np.sqrt(both.var() / n * (whole - n) / (whole - 1))
    return float(ndtr((both.mean() - mean) / deviation))
