"""The mean of values in clusters, with an interval and a test that allow for dependence within clusters.

Values of one cluster may depend on each other in any way; clusters are independent. The effective number of clusters
is (sum of sizes)^2 / sum of squared sizes: a few large ones count most (Carter, Schnepel and Steigerwald 2017). From
WILD_CLUSTERS_BELOW on, the variance is cluster-robust (Liang and Zeger 1986), with the effective number less one as
degrees of freedom; Miller recommends it for evaluations (arXiv 2411.00640). With fewer, whole clusters have their signs
flipped: the wild cluster bootstrap. Without clusters of several values it is Student's test.
"""

from math import erfc, inf, isfinite, sqrt
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats, Ints
from projections.stats.intervals import CONFIDENCE_LEVEL
from projections.stats.sign_flips import sign_flip_mean
from tallystick.shapes.parts import Interval

EFFECTIVE_CLUSTERS_MIN = 2
"""With fewer effective clusters, values do not show how much their sum varies."""

WILD_CLUSTERS_BELOW = 40
"""With fewer effective clusters, signs of clusters are flipped instead of estimating a variance."""

FLIPPED_MAX = 200
"""With more clusters than this the variance is always estimated."""

_TOLERANCE = 1e-12


class DesignEffect(NamedTuple):
    """How many times larger the variance of a sum is than that of independent values: at least 1 (Kish 1965).

    `freedom` is the effective number of clusters less one: the degrees of freedom of Student's t.
    """

    ratio: float = 1.0
    freedom: float = inf

    @property
    def known(self) -> bool:
        """Whether there are enough clusters to tell how much a sum varies."""
        return self.freedom >= EFFECTIVE_CLUSTERS_MIN - 1

    def quantile(self, tail: float) -> float:
        """Return the t (with infinite freedom: the normal) quantile that is exceeded with a probability."""
        from scipy.special import ndtri, stdtrit

        return -float(stdtrit(self.freedom, tail) if isfinite(self.freedom) else ndtri(tail))

    def p_value(self, z: float) -> float:
        """Return the two-sided p value of a sum divided by its standard error."""
        from scipy.special import stdtr

        return 2 * float(stdtr(self.freedom, -abs(z))) if isfinite(self.freedom) else erfc(abs(z) / sqrt(2))


INDEPENDENT = DesignEffect()
"""The design effect without clusters."""


class ClusteredMean(NamedTuple):
    """The mean, its 95% interval, and the two-sided p value of the hypothesis that it is 0.

    `interval` and `p` are None with a single cluster. `effective_n` is the number of independent values with the same
    variance of the mean, at most n.
    """

    mean: float
    interval: Interval | None
    p: float | None
    clusters: int
    effective_n: float


def clustered_mean(values: Floats, cluster: Ints, low: float, high: float) -> ClusteredMean:
    """Return the mean of n >= 2 values in `low`..`high`, given the number of the cluster of each."""
    mean = float(values.mean())
    _, index = np.unique(cluster, return_inverse=True)
    sizes = np.bincount(index).astype(np.float64)
    excess = np.bincount(index, values - mean).astype(np.float64)
    return mean_of_clusters(ClusterMoments(mean, float(values.var()), excess, sizes), low, high)


class ClusterMoments(NamedTuple):
    """The mean of values, their variance, and of each cluster the excess over that mean and the number of values."""

    mean: float
    variance: float
    excess: Floats
    sizes: Floats


def mean_of_clusters(moments: ClusterMoments, low: float, high: float) -> ClusteredMean:
    """Return the mean of n >= 2 values in `low`..`high`, given what is known of the clusters."""
    mean, variance, excess, sizes = moments
    spread = ClusterSpread(int(sizes.sum()), len(sizes), variance, float(excess @ excess), float(sizes @ sizes))
    found = robust_mean(mean, spread, low, high)
    if not spread.few or spread.clusters == 1:
        return found
    interval, p = sign_flip_mean(excess + mean * sizes, sizes, low, high)
    return found._replace(interval=interval, p=p)


class ClusterSpread(NamedTuple):
    """How n values spread: their variance, and over clusters the sums of squared excesses and of squared sizes.

    The excess of a cluster is the sum of its values minus the mean of all.
    """

    n: int
    clusters: int
    variance: float
    excess_square: float
    size_square: float

    @property
    def effective_clusters(self) -> float:
        """The number of clusters of equal size that would tell as much."""
        return self.n * self.n / self.size_square

    @property
    def few(self) -> bool:
        """Whether there are too few clusters to estimate a variance, so that signs are to be flipped."""
        few = self.clusters <= FLIPPED_MAX and self.effective_clusters < WILD_CLUSTERS_BELOW
        return few and self.clusters < self.n


def robust_mean(mean: float, spread: ClusterSpread, low: float, high: float) -> ClusteredMean:
    """Return a mean of values in `low`..`high`, with the interval of the cluster-robust variance."""
    from scipy.special import stdtr, stdtrit

    n, clusters = spread.n, spread.clusters
    if clusters == 1:
        return ClusteredMean(mean, None, None, 1, 1.0)
    deviation = sqrt(clusters / (clusters - 1) * spread.excess_square) / n
    alone = sqrt(spread.variance / (n - 1))
    effective_n = n * min(1.0, (alone / deviation) ** 2) if deviation > _TOLERANCE else float(n)
    if deviation < _TOLERANCE:
        return ClusteredMean(mean, Interval(mean, mean), 1.0 if abs(mean) < _TOLERANCE else 0.0, clusters, effective_n)
    freedom = spread.effective_clusters - 1
    half = deviation * float(stdtrit(freedom, (1 + CONFIDENCE_LEVEL) / 2))
    interval = Interval(max(low, mean - half), min(high, mean + half))
    return ClusteredMean(mean, interval, 2 * float(stdtr(freedom, -abs(mean) / deviation)), clusters, effective_n)
