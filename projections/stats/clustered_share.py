"""The share of answers with some property, with an interval that allows for dependence within clusters."""

import numpy as np

from projections.arrays import Floats, Ints
from projections.stats.clustered_mean import ClusterSpread, robust_mean
from projections.stats.intervals import wilson_interval
from tallystick.shapes.parts import Interval


def effective_number(values: Floats, cluster: Ints) -> float:
    """Return how many independent values have a mean with the same variance: 1..n for n values; 0 without any.

    A single cluster of several values counts as one value.
    """
    n = len(values)
    if n < 2:
        return float(n)
    _, index = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(index).astype(np.float64)
    mean = float(values.mean())
    excess = np.bincount(index, values - mean).astype(np.float64)
    return _effective(mean, float(values.var()), excess, sizes)


def _effective(mean: float, variance: float, excess: Floats, sizes: Floats) -> float:
    spread = ClusterSpread(int(sizes.sum()), len(sizes), variance, float(excess @ excess), float(sizes @ sizes))
    return max(1.0, robust_mean(mean, spread, 0.0, 1.0).effective_n)


def share_of_clusters(counts: Floats, sizes: Floats) -> Interval:
    """Return the 95% interval of a share, given for each cluster how many of how many values have the property."""
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    total = float(sizes.sum())
    share = float(counts.sum()) / total
    number = total if total < 2 else _effective(share, share * (1 - share), counts - share * sizes, sizes)
    return wilson_interval(share * number, number)


def share_interval(values: Floats, cluster: Ints) -> Interval | None:
    """Return the 95% interval of the mean of n values in 0..1: Wilson's at the effective number; None without values.

    With independent values 0 and 1 it is Wilson's interval.
    """
    if not len(values):
        return None
    size = effective_number(values, cluster)
    return wilson_interval(float(values.mean()) * size, size)
