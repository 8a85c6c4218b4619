"""Reviewed decisions binned by stated confidence, which is all that the scores need."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.counts import Counts

REVIEWED_VALUES = np.array([1.0, 0.5, 0.0, 0.0])
"""The values of the outcomes success, partial, failure, abandoned."""

_ZERO = 0.0
"""Added to a confidence to turn -0.0 into 0.0."""

_ONES = np.ones(len(REVIEWED_VALUES))


class ConfidenceBins(NamedTuple):
    """Reviewed decisions with a stated confidence: one row for each confidence, ascending.

    `outcomes` has a column of counts for success, partial, failure and abandoned. `n` is their sum, `worth` the sum of
    their values o. `reviewed`, `total_worth` (exact, because halves add without rounding) and `mean_confidence` (0
    without decisions) are over all rows.
    """

    confidence: Floats
    outcomes: Ints
    n: Floats
    worth: Floats
    reviewed: int
    total_worth: float
    mean_confidence: float

    @property
    def rate(self) -> Floats:
        """The mean outcome at each stated confidence."""
        return self.worth / self.n


def merge_cells(confidence: Floats, counts: Counts) -> tuple[Floats, Counts]:
    """Add up cells with the same stated confidence. Return them in ascending order, NaN last, without empty ones."""
    if (confidence[1:] > confidence[:-1]).all():
        nonempty = counts.any(axis=1)
        return confidence[nonempty] + _ZERO, counts[nonempty]
    ((merged, added),) = merge_cells_by_group(confidence, counts, np.zeros(len(counts), dtype=np.intp), 1)
    return merged, added


def merge_cells_by_group(
    confidence: Floats, counts: Counts, numbers: npt.NDArray[np.intp], groups: int
) -> list[tuple[Floats, Counts]]:
    """Do the same for each group 0..groups-1, in one pass. `numbers` has the group of each cell; -1 is none."""
    order = np.lexsort((confidence, numbers))
    c, number, added = confidence[order] + _ZERO, numbers[order], counts[order]
    if len(c):
        alike = (number[1:] == number[:-1]) & ((c[1:] == c[:-1]) | np.isnan(c[:-1]))
        starts = np.flatnonzero(np.concatenate([[True], ~alike]))
        c, number, added = c[starts], number[starts], np.add.reduceat(added, starts, axis=0)
        nonempty = added.any(axis=1)
        c, number, added = c[nonempty], number[nonempty], added[nonempty]
    ends = np.searchsorted(number, np.arange(groups + 1)).tolist()
    return [(c[first:last], added[first:last]) for first, last in pairwise(ends)]


def bin_counts(confidence: Floats, counts: Counts) -> ConfidenceBins:
    """Bin cells, given their stated confidences (NaN: none) and their counts by outcome, `unreviewed` first."""
    confidence, counts = merge_cells(confidence, counts)
    nonempty = ~np.isnan(confidence) & counts[:, 1:].any(axis=1)
    return bin_reviews(confidence[nonempty], counts[nonempty, 1:])


def bin_reviews(confidence: Floats, outcomes: Ints) -> ConfidenceBins:
    """Make bins of ascending, distinct confidences and their counts of reviewed outcomes."""
    n, worth = outcomes @ _ONES, outcomes @ REVIEWED_VALUES
    reviewed = int(n.sum())
    mean = float(confidence @ n) / reviewed if reviewed else 0.0
    return ConfidenceBins(confidence, outcomes, n, worth, reviewed, float(worth.sum()), mean)
