"""Strata of a population in which some units are observed, and means weighted to represent the whole population.

A unit that is observed with probability q gets the weight 1/q (Horvitz and Thompson 1952). Here q is the share of units
that are observed in a stratum, so that the weighted mean is the stratified (post-stratified) mean. It has no bias if
whether a unit is observed depends only on what the strata are made of.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.stats.intervals import CONFIDENCE_LEVEL, Interval

Numbers = npt.NDArray[np.intp]

NO_STRATUM = -1
"""The number of the stratum of units that no observed unit represents."""


class StratumWeights(NamedTuple):
    """The weight of an observed unit in each stratum, and Kish's effective number of observed units.

    `represented` is the number of units in strata. The weights of all observed units sum to 1.
    """

    weight: Floats
    effective_n: float
    represented: float


def quantile_bins(values: Floats, counts: Floats, bins: int) -> Numbers:
    """Return a bin number 0.. for each value: at most `bins` bins of about equal counts. Equal values share a bin.

    Shapes: one entry per value; a value may occur more than once.
    """
    if not len(values):
        return np.zeros(0, dtype=np.intp)
    distinct, inverse = np.unique(values, return_inverse=True)
    by_value = np.bincount(inverse, weights=counts, minlength=len(distinct))
    middle = np.cumsum(by_value) - by_value / 2
    number = np.floor(middle * bins / max(float(by_value.sum()), 1.0)).astype(np.intp)
    changes = np.concatenate([[0], np.cumsum(number[1:] != number[:-1])])
    return changes[inverse].astype(np.intp)


def make_strata(unit: Numbers, bin_number: Numbers, observed: Floats, observed_min: int) -> Numbers:
    """Return the stratum of each cell: adjacent bins of one unit, merged until each stratum has enough observed units.

    Units with fewer than `observed_min` observed get NO_STRATUM. Strata depend on no outcome.
    Shapes: one entry per cell; `unit` and `bin_number` count from 0.
    """
    strata = np.full(len(unit), NO_STRATUM, dtype=np.intp)
    if not len(unit):
        return strata
    by_unit = np.bincount(unit, weights=observed)
    units = np.flatnonzero(by_unit >= observed_min)
    place = np.full(len(by_unit), -1, dtype=np.intp)
    place[units] = np.arange(len(units))
    inside = place[unit] >= 0
    bins = int(bin_number.max()) + 1
    rows, columns = place[unit[inside]], bin_number[inside]
    sums = np.bincount(rows * bins + columns, weights=observed[inside], minlength=len(units) * bins)
    label = _merge_columns(sums.reshape(len(units), bins), observed_min)
    _, numbers = np.unique(rows * bins + label[rows, columns], return_inverse=True)
    strata[inside] = numbers
    return strata


def _merge_columns(observed: Floats, observed_min: int) -> Numbers:
    """Return the label of each column of a row, ascending. Columns with one label have at least `observed_min`."""
    label = np.zeros(observed.shape, dtype=np.intp)
    current = np.zeros(len(observed), dtype=np.intp)
    collected = np.zeros(len(observed))
    for column in range(observed.shape[1]):
        label[:, column] = current
        collected += observed[:, column]
        complete = collected >= observed_min
        current += complete
        collected[complete] = 0
    return np.minimum(label, np.maximum(current - 1, 0)[:, np.newaxis])


def weigh_strata(total: Floats, observed: Floats) -> StratumWeights | None:
    """Return the weights for strata with `total` units, of which `observed` are observed; None without strata."""
    represented = float(total.sum())
    if represented <= 0:
        return None
    weight = total / (observed * represented)
    return StratumWeights(weight, 1 / float((observed * weight**2).sum()), represented)


def weighted_rate_interval(rate: float, effective_n: float) -> Interval:
    """Return the 95% interval of a weighted rate: Clopper and Pearson's at the effective number (Korn, Graubard 1998).

    `rate` is in 0..1 and `effective_n` at least 1.
    """
    from scipy.special import betaincinv

    tail, count = (1 - CONFIDENCE_LEVEL) / 2, min(max(rate, 0.0), 1.0) * effective_n
    rest = effective_n - count
    return Interval(
        float(betaincinv(count, rest + 1, tail)) if count > 0 else 0.0,
        float(betaincinv(count + 1, rest, 1 - tail)) if rest > 0 else 1.0,
    )
