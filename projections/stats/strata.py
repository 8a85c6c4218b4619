"""Strata of a population in which some units are observed, and means weighted to represent the whole population.

A unit that is observed with probability q gets the weight 1/q (Horvitz and Thompson 1952). Here q is the share of units
that are observed in a stratum, so that the weighted mean is the stratified (post-stratified) mean. It has no bias if
whether a unit is observed depends only on what the strata are made of.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats
from projections.stats.intervals import CONFIDENCE_LEVEL
from tallystick.shapes.parts import Interval

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


def sum_by_number(numbers: Numbers, values: Floats, size: int = 0) -> Floats:
    """Return the sums of the values with each number 0.., at least `size` of them."""
    return np.bincount(numbers, weights=values, minlength=size).astype(np.float64)


def quantile_bins(values: Floats, counts: Floats, bins: int) -> Numbers:
    """Return a bin number 0.. for each value: at most `bins` bins of about equal counts. Equal values share a bin.

    Shapes: one entry per value; a value may occur more than once.
    """
    if not len(values):
        return np.zeros(0, dtype=np.intp)
    distinct, inverse = np.unique(values, return_inverse=True)
    by_value = sum_by_number(inverse, counts, len(distinct))
    middle = np.cumsum(by_value) - by_value / 2
    number = np.floor(middle * bins / max(float(by_value.sum()), 1.0)).astype(np.intp)
    changes = np.concatenate([[0], np.cumsum(number[1:] != number[:-1])])
    return changes[inverse].astype(np.intp)


class Observations(NamedTuple):
    """Cells of units in bins: the unit, bin and number of observed units of each, and the mean value of each bin.

    Units and bins count from 0, and the values of the bins ascend.
    """

    unit: Numbers
    bin_number: Numbers
    observed: Floats
    bin_value: Floats


def make_strata(cells: Observations, observed_min: int, span: float) -> Numbers:
    """Return the stratum of each cell: adjacent bins of one unit, merged until each stratum has enough observed units.

    Bins in a stratum differ in value by at most about `span`. A bin without enough observed units within `span` gets
    NO_STRATUM: nothing observed is like it. Strata depend on no outcome.
    """
    strata = np.full(len(cells.unit), NO_STRATUM, dtype=np.intp)
    if not len(strata):
        return strata
    by_unit = np.bincount(cells.unit, weights=cells.observed)
    units = np.flatnonzero(by_unit >= observed_min)
    place = np.full(len(by_unit), NO_STRATUM, dtype=np.intp)
    place[units] = np.arange(len(units))
    inside = place[cells.unit] >= 0
    bins = len(cells.bin_value)
    rows, columns = place[cells.unit[inside]], cells.bin_number[inside]
    sums = sum_by_number(rows * bins + columns, cells.observed[inside], len(units) * bins)
    label = _merge_columns(sums.reshape(len(units), bins), cells.bin_value, observed_min, span)[rows, columns]
    kept = label != NO_STRATUM
    _, numbers = np.unique((rows * bins + label)[kept], return_inverse=True)
    strata[np.flatnonzero(inside)[kept]] = numbers
    return strata


def _merge_columns(observed: Floats, value: Floats, observed_min: int, span: float) -> Numbers:
    """Return the label of each column of a row: columns with one label have at least `observed_min` and are adjacent.

    A run of columns that ends with too few, because the next is too far away, takes the label of the nearest complete
    column within `span`, or NO_STRATUM.
    """
    label = np.zeros(observed.shape, dtype=np.intp)
    complete = np.zeros(observed.shape, dtype=bool)
    current = np.zeros(len(observed), dtype=np.intp)
    start = np.full(len(observed), value[0])
    collected = np.zeros(len(observed))
    for column in range(observed.shape[1]):
        leaves = value[column] - start > span
        current += leaves
        collected[leaves] = 0
        start[leaves] = value[column]
        label[:, column] = current
        collected += observed[:, column]
        enough = collected >= observed_min
        complete |= enough[:, np.newaxis] & (label == current[:, np.newaxis]) & (np.arange(len(value)) <= column)
        current += enough
        collected[enough] = 0
        start[enough] = value[min(column + 1, len(value) - 1)]
    return _join_nearest(label, complete, value, span)


def _join_nearest(label: Numbers, complete: npt.NDArray[np.bool_], value: Floats, span: float) -> Numbers:
    """Give columns that are not complete the label of the nearest complete column within `span`, or NO_STRATUM."""
    joined = label.copy()
    for column in range(len(value)):
        distance = np.where(complete, np.abs(value - value[column]), np.inf)
        nearest = distance.argmin(axis=1)
        rows = np.arange(len(label))
        near = distance[rows, nearest] <= span
        other = np.where(near, label[rows, nearest], NO_STRATUM)
        joined[:, column] = np.where(complete[:, column], label[:, column], other)
    return joined


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
