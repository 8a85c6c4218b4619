"""A one-sided permutation test of two means: is one sample worse than another by more than chance?

Losses are skewed (at a stated confidence of .95 they are .0025 or .9025) and samples may have only five values, where
the actual level of Student's test is far from the nominal one. A permutation test only asks whether the same values,
randomly split again, would differ as much. Under the null hypothesis it is exact for any size and any distribution.
For many values the mean of a random split is normal (Hoeffding 1951).
"""

from typing import Final

import numpy as np

from projections.arrays import Floats

SHUFFLED_MAX = 2_000
"""Above this number of values the normal limit replaces the shuffling."""

_SHUFFLES: Final = 999
_SEED: Final = 1_951
_TOLERANCE: Final = 1e-9


def permutation_p_value(sample: Floats, others: Floats) -> float:
    """Return the p value: how often a random split of all values gives `sample` a mean at least this high.

    Shapes: at least one value each. The result is deterministic: the shuffles have a fixed seed.
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
