"""Are outcomes of decisions made one after another alike? Then so many reviews contain less evidence than they seem.

The figures treat reviews as independent. Decisions about one task, session or incident often succeed or fail together.
If they do, outcome minus stated confidence (less its mean) is correlated with that of the decisions just before. If
decisions are independent, the correlations at distances 1 to LAGS are about normal with variance 1 / n, and so is
their sum weighted by WEIGHTS.

A dependence is material if that sum is Z_MATERIAL standard deviations above chance (5% of independent histories) and
the reviews are worth at least a sixth fewer (EXCESS_MIN). Of histories of 500 reviews it finds more than 90% with
clusters of ten and a latent correlation of .3, or with a latent autoregression of .5. Clusters whose members are far
apart in time are not found.

Source: Box, Jenkins, Reinsel, "Time series analysis", chapter 2 (variance of the correlations); Kish, "Survey
sampling", 1965 (design effect).
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import AnyInts, Floats, Ints

LAGS: Final = 8
"""Distances at which correlations are added up."""

WEIGHTS: Final = tuple(0.8**power for power in range(LAGS))
"""Near decisions count most. These weights find clusters and autoregression about equally well."""

REVIEWS_MIN: Final = 30
"""With fewer reviews the dependence is not estimated."""

Z_MATERIAL: Final = 1.6448536269514722
EXCESS_MIN: Final = 0.2
"""The least excess of the variance of a mean over that of independent reviews."""


class Autocorrelation(NamedTuple):
    """The sum of the correlations at distances 1 to LAGS, the standard score of the weighted sum, and the verdict.

    `effective` is the number of independent reviews with about the same evidence; at most `reviews`.
    """

    reviews: int
    total: float
    z: float
    effective: float
    material: bool


def estimate_autocorrelation(
    difference: Floats,
    group: npt.NDArray[np.intp],
    groups: int,
    cluster: Ints | None = None,
    stratum: AnyInts | None = None,
    moment: AnyInts | None = None,
) -> "list[Autocorrelation | None]":
    """Return the autocorrelation of each group 0..groups-1; None with fewer than REVIEWS_MIN reviews or all alike.

    Shapes: n differences, outcome minus confidence, in the order in which the decisions were made; n group numbers; n
    numbers of clusters (-1: none), of strata and of moments, ascending. Reviews of one named cluster are not correlated
    here, because the evidence already allows for their dependence; nor are those of one moment, whose order is not
    known. The mean of each stratum is subtracted.
    """
    narrow = np.min_scalar_type(max(0, groups - 1))  # it is sorted faster
    order = np.argsort(group.astype(narrow), kind="stable")
    d, g = difference[order], group[order]
    named = None if cluster is None or (cluster < 0).all() else cluster[order]
    n = np.bincount(g, minlength=groups)
    width = 1 if stratum is None else int(stratum.max(initial=0)) + 1
    found, within = np.unique(g if stratum is None else g * width + stratum[order], return_inverse=True)
    strata = np.bincount(found // width, minlength=groups)
    e = d - (np.bincount(within, weights=d) / np.bincount(within))[within]
    if moment is not None:
        moment = moment[order]
        followed = (g[1:] == g[:-1]) & (moment[1:] != moment[:-1])
        n = np.where(np.bincount(g[1:][followed], minlength=groups) < REVIEWS_MIN - 1, 0, n)
    squares = np.bincount(g, weights=e * e, minlength=groups)
    products = np.zeros((groups, LAGS))
    for lag in range(1, LAGS + 1):
        same = g[lag:] == g[:-lag]
        if named is not None:
            same &= (named[lag:] != named[:-lag]) | (named[lag:] < 0)
        if moment is not None:
            same &= moment[lag:] != moment[:-lag]
        products[:, lag - 1] = np.bincount(g[lag:], weights=e[lag:] * e[:-lag] * same, minlength=groups)
    return [_judge(*row) for row in zip(n.tolist(), strata.tolist(), squares.tolist(), products, strict=True)]


def _judge(n: int, strata: int, square_sum: float, products: Floats) -> Autocorrelation | None:
    if n < REVIEWS_MIN or square_sum <= n * 1e-12:
        return None
    correlations = products / square_sum
    weights = np.array(WEIGHTS)
    total = float(correlations.sum())
    bias = -strata / n  # the mean of each correlation
    z = float((correlations - bias) @ weights) / sqrt(float(weights @ weights) / n)
    excess = max(0.0, 2 * total)
    return Autocorrelation(n, total, z, n / (1 + excess), z >= Z_MATERIAL and excess >= EXCESS_MIN)
