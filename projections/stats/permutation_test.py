"""A one-sided permutation test of two means: is one sample higher than another by more than chance explains?

Losses are skewed (at a stated confidence of .95 they are .0025 or .9025) and samples may have only five values, where
the actual level of Student's test is far from the nominal one. A permutation test computes how often the same values,
randomly split again, differ as much. Under the null hypothesis it is exact for any size and any distribution.
For many values the mean of a random split is normal (Hoeffding 1951).
"""

from typing import Final

import numpy as np

from projections.arrays import Floats

SHUFFLED_MAX = 2_000
"""With more values, the normal limit replaces the shuffling."""

_SHUFFLES: Final = 999
_SEED: Final = 1_951
_TOLERANCE: Final = 1e-9


def permutation_p_value(sample: Floats, others: Floats) -> float:
    """Return the p value: how often a random split of all values gives `sample` a mean at least this high.

    Shapes: at least one value each. The result is deterministic: the shuffles have a fixed seed.
    """
    pooled = np.concatenate([sample, others])
    if pooled.max() - pooled.min() < _TOLERANCE:
        return 1.0
    n, size = len(sample), len(pooled)
    if size > SHUFFLED_MAX:
        return _normal_p_value(float(sample.mean()), n, pooled)
    shuffled = np.random.default_rng(_SEED).permuted(np.tile(pooled, (_SHUFFLES, 1)), axis=1)
    means = shuffled[:, :n].mean(axis=1)
    as_high = int((means >= sample.mean() - _TOLERANCE).sum())
    return (1 + as_high) / (1 + _SHUFFLES)


def _normal_p_value(mean: float, n: int, pooled: Floats) -> float:
    from scipy.special import ndtr

    size = len(pooled)
    deviation = np.sqrt(pooled.var() / n * (size - n) / (size - 1))
    return float(ndtr((pooled.mean() - mean) / deviation))
