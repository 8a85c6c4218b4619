"""Reviewed decisions binned by stated confidence, which is all that the scores need."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.count_table import Counts
from projections.outcome_codes import OUTCOME_VALUES, OUTCOMES_COUNT

REVIEWED_VALUES = OUTCOME_VALUES[1:]
"""The values of the outcomes success, partial, failure, abandoned."""

_ZERO = 0.0
"""Added to a confidence to turn -0.0 into 0.0."""

_ONES = np.ones(len(REVIEWED_VALUES))


class ConfidenceBins(NamedTuple):
    """Reviewed decisions with a stated confidence: one row for each confidence, ascending.

    `outcomes` has a column of counts for success, partial, failure and abandoned. `n` is their sum, `outcome_sum`
    the sum of the values of their outcomes. `reviewed`, `outcome_total` (exact, because halves add without rounding)
    and `mean_confidence` (0 without decisions) are over all rows.
    """

    confidence: Floats
    outcomes: Ints
    n: Floats
    outcome_sum: Floats
    reviewed: int
    outcome_total: float
    mean_confidence: float

    @property
    def rate(self) -> Floats:
        """The mean outcome at each stated confidence."""
        return self.outcome_sum / self.n

    @property
    def value_counts(self) -> Floats:
        """The counts by value of the outcome: a column each for 0, 0.5 and 1."""
        success, partial, failure, abandoned = self.outcomes.T
        return np.stack([failure + abandoned, partial, success], axis=1).astype(np.float64)

    def weighted_reviews(self) -> tuple[Floats, Floats, Floats]:
        """Return a confidence, the value of an outcome and the number of reviews for each pair of both that occurs."""
        rows, columns = np.nonzero(self.outcomes)
        return self.confidence[rows], REVIEWED_VALUES[columns], self.outcomes[rows, columns].astype(np.float64)


def merge_cells(confidence: Floats, counts: Counts) -> tuple[Floats, Counts]:
    """Add up cells with the same stated confidence. Return the nonempty ones in ascending order, NaN last."""
    if (confidence[1:] > confidence[:-1]).all():
        nonempty = counts.any(axis=1)
        return confidence[nonempty] + _ZERO, counts[nonempty]
    ((merged, merged_counts),) = merge_cells_by_group(confidence, counts, np.zeros(len(counts), dtype=np.intp), 1)
    return merged, merged_counts


def merge_cells_by_group(
    confidence: Floats, counts: Counts, numbers: npt.NDArray[np.intp], groups: int
) -> list[tuple[Floats, Counts]]:
    """Merge the cells of each group 0..groups-1 in one pass. `numbers` has the group of each cell; -1 is none."""
    order = np.lexsort((confidence, numbers))
    level, number, total = confidence[order] + _ZERO, numbers[order], counts[order]
    if len(level):
        same_cell = (number[1:] == number[:-1]) & ((level[1:] == level[:-1]) | np.isnan(level[:-1]))
        starts = np.flatnonzero(np.concatenate([[True], ~same_cell]))
        level, number, total = level[starts], number[starts], np.add.reduceat(total, starts, axis=0)
        nonempty = total.any(axis=1)
        level, number, total = level[nonempty], number[nonempty], total[nonempty]
    ends = np.searchsorted(number, np.arange(groups + 1)).tolist()
    return [(level[first:last], total[first:last]) for first, last in pairwise(ends)]


def bin_counts(confidence: Floats, counts: Counts) -> ConfidenceBins:
    """Bin cells, given their stated confidences (NaN: none) and their counts as in a `CountTable`."""
    confidence, counts = merge_cells(confidence, counts)
    reviews = counts[:, 1:OUTCOMES_COUNT]
    nonempty = ~np.isnan(confidence) & reviews.any(axis=1)
    return bin_reviews(confidence[nonempty], reviews[nonempty])


def bin_reviews(confidence: Floats, outcomes: Ints) -> ConfidenceBins:
    """Make bins of ascending, distinct confidences and their counts of reviewed outcomes."""
    n, outcome_sum = outcomes @ _ONES, outcomes @ REVIEWED_VALUES
    reviewed = int(n.sum())
    mean = float(confidence @ n) / reviewed if reviewed else 0.0
    return ConfidenceBins(confidence, outcomes, n, outcome_sum, reviewed, float(outcome_sum.sum()), mean)
