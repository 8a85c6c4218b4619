"""The interval of a mean over observations that depend on each other within clusters."""

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.stats.intervals import CONFIDENCE_LEVEL, Interval

CLUSTERS_MIN = 2
"""With fewer clusters there is no interval."""


def clustered_mean_interval(
    values: Floats, cluster: npt.NDArray[np.integer], bounds: tuple[float, float]
) -> Interval | None:
    """Return Student's 95% interval of the mean of some values, with a standard error clustered by `cluster`.

    Shapes: one entry per value; `cluster` has the number of its cluster. The interval is cut at `bounds`.
    None with fewer than two clusters, or if the sums of the clusters do not vary: then the data do not show how much
    they would.
    Source: Miller, Adding error bars to evals (arXiv 2411.00640), section 2.2, with the factor k / (k - 1) for k
    clusters and k - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    _, numbers = np.unique(cluster, return_inverse=True)
    mean = float(values.mean()) if len(values) else 0.0
    sums = np.bincount(numbers, weights=values - mean)
    clusters = len(sums)
    if clusters < CLUSTERS_MIN or not np.any(np.abs(sums) > _ROUNDING):
        return None
    error = float(np.sqrt(clusters / (clusters - 1) * (sums**2).sum())) / len(values)
    half = error * float(stdtrit(clusters - 1, (1 + CONFIDENCE_LEVEL) / 2))
    low, high = bounds
    return Interval(max(low, mean - half), min(high, mean + half))


_ROUNDING = 1e-12
