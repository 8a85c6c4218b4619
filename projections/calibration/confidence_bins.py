"""Reviewed decisions pooled by stated confidence: all that the scores need to know of them."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.counts import Counts

REVIEWED_VALUES = np.array([1.0, 0.5, 0.0, 0.0])
"""What an outcome counts: success, partial, failure, abandoned."""

_ZERO = 0.0
"""What is added to a confidence, because it turns -0.0 into 0.0."""

_ONES = np.ones(len(REVIEWED_VALUES))


class ConfidenceBins(NamedTuple):
    """One row a stated confidence, ascending; only what is reviewed and has a confidence.

    `outcomes` counts success, partial, failure and abandoned, a column each; `n` is their sum, `worth` the sum of o.
    `reviewed`, `total_worth` (exact: halves add without rounding) and `mean_confidence` (0 of none) are those of all.
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
        """Mean outcome at each stated confidence."""
        return self.worth / self.n


def merge_cells(confidence: Floats, counts: Counts) -> tuple[Floats, Counts]:
    """Cells added up by stated confidence, ascending, those without one last; empty ones left out."""
    if (confidence[1:] > confidence[:-1]).all():
        kept = counts.any(axis=1)
        return confidence[kept] + _ZERO, counts[kept]
    ((found, added),) = merge_cells_by_group(confidence, counts, np.zeros(len(counts), dtype=np.intp), 1)
    return found, added


def merge_cells_by_group(
    confidence: Floats, counts: Counts, numbers: npt.NDArray[np.intp], groups: int
) -> list[tuple[Floats, Counts]]:
    """The same for each of some groups, given the number of every cell's group: all in one pass."""
    order = np.lexsort((confidence, numbers))
    c, number, added = confidence[order] + _ZERO, numbers[order], counts[order]
    if len(c):
        alike = (number[1:] == number[:-1]) & ((c[1:] == c[:-1]) | np.isnan(c[:-1]))
        starts = np.flatnonzero(np.concatenate([[True], ~alike]))
        c, number, added = c[starts], number[starts], np.add.reduceat(added, starts, axis=0)
        kept = added.any(axis=1)
        c, number, added = c[kept], number[kept], added[kept]
    ends = np.searchsorted(number, np.arange(groups + 1)).tolist()
    return [(c[first:last], added[first:last]) for first, last in pairwise(ends)]


def bin_counts(confidence: Floats, counts: Counts) -> ConfidenceBins:
    """The pool of cells: stated confidences (NaN: none), and counts by outcome, the unreviewed first."""
    confidence, counts = merge_cells(confidence, counts)
    kept = ~np.isnan(confidence) & counts[:, 1:].any(axis=1)
    return bin_reviews(confidence[kept], counts[kept, 1:])


def bin_reviews(confidence: Floats, outcomes: Ints) -> ConfidenceBins:
    """A pool of ascending, distinct confidences and their outcomes."""
    n, worth = outcomes @ _ONES, outcomes @ REVIEWED_VALUES
    reviewed = int(n.sum())
    mean = float(confidence @ n) / reviewed if reviewed else 0.0
    return ConfidenceBins(confidence, outcomes, n, worth, reviewed, float(worth.sum()), mean)
