"""Cohen's kappa of two raters with two verdicts: agreement beyond what their pass rates alone give.

With the share of agreement po, and pe the share that two independent raters with the same pass rates would have, it is
(po - pe) / (1 - pe). Its value depends on the prevalence: with 95% passes, two good raters have a low kappa. Therefore
the prevalence and bias indices of Byrt, Bishop and Carlin (1993) are given with it, and PABAK, 2 po - 1.

The variance is the asymptotic one of Fleiss, Cohen and Everitt (1969). It is computed from the influence of each pair
of verdicts, (agrees - po) / (1 - pe) - (1 - po) / (1 - pe)^2 * (share of its second verdict among the first rater's
+ share of its first verdict among the second rater's - 2 pe), so that pairs of one cluster may depend on each other:
the influences of a cluster are added up before they are squared (Liang and Zeger 1986). Where all pairs agree, that
variance is 0, and the interval goes down to the kappa of Wilson's lower bound of the agreement instead; where none
agree, up.
"""

from math import sqrt

import msgspec
import numpy as np

from projections.arrays import Floats, Ints
from projections.stats.intervals import Z, wilson_interval
from tallystick.shapes.parts import Interval


class Kappa(msgspec.Struct, frozen=True, kw_only=True):
    """Cohen's kappa, -1..1, and its 95% interval.

    `agreement` is the share of pairs with equal verdicts. `prevalence_index` is the number of pairs in which both pass,
    minus that in which both fail, divided by n; `bias_index` the share of passes of the first rater minus that of the
    second. `pabak` is the kappa with both indices 0. `clusters` is the number of clusters that the interval allows for;
    with a single cluster there is no interval.
    """

    kappa: float
    variance: float
    interval: Interval | None
    agreement: float
    prevalence_index: float
    bias_index: float
    pabak: float
    n: int
    clusters: int


def measure_kappa(first: Floats, second: Floats, cluster: Ints | None = None) -> Kappa | None:
    """Return the kappa of n pairs of verdicts; None without pairs, or if all verdicts of one rater are alike.

    Shapes: n verdicts of each rater, 1 for a pass and 0 for a failure; n numbers of clusters, or None if the pairs are
    independent.
    """
    n = len(first)
    if n == 0 or first.min() == first.max() or second.min() == second.max():
        return None
    agrees = (first == second).astype(np.float64)
    agreement, rates = float(agrees.mean()), (float(first.mean()), float(second.mean()))
    chance = rates[0] * rates[1] + (1 - rates[0]) * (1 - rates[1])
    kappa = (agreement - chance) / (1 - chance)
    shares = _share_of(second, rates[0]) + _share_of(first, rates[1])
    influence = (agrees - agreement) / (1 - chance) - (1 - agreement) / (1 - chance) ** 2 * (shares - 2 * chance)
    variance, clusters = _variance(influence, cluster)
    return Kappa(
        kappa=kappa,
        variance=variance,
        interval=_interval(kappa, variance, agreement, chance, clusters),
        agreement=agreement,
        prevalence_index=float((first + second - 1).mean()),
        bias_index=rates[0] - rates[1],
        pabak=2 * agreement - 1,
        n=n,
        clusters=clusters,
    )


def _share_of(verdict: Floats, rate: float) -> Floats:
    """Return the share that each verdict has among those of a rater with some pass rate."""
    return np.where(verdict == 1, rate, 1 - rate)


def _variance(influence: Floats, cluster: Ints | None) -> tuple[float, int]:
    """Return the variance of a mean of influences, and the number of clusters."""
    n = len(influence)
    if cluster is None:
        return float(influence @ influence) / n**2, n
    _, index = np.unique(cluster, return_inverse=True)
    sums = np.bincount(index, influence)
    clusters = len(sums)
    factor = clusters / (clusters - 1) if 1 < clusters < n else 1.0
    return factor * float(sums @ sums) / n**2, clusters


def _interval(kappa: float, variance: float, agreement: float, chance: float, clusters: int) -> Interval | None:
    if clusters == 1:
        return None
    half = Z * sqrt(variance)
    low, high = kappa - half, kappa + half
    if agreement == 1:
        low = (wilson_interval(clusters, clusters).low - chance) / (1 - chance)
    if agreement == 0:
        high = (wilson_interval(0, clusters).high - chance) / (1 - chance)
    return Interval(max(-1.0, low), min(1.0, high))
