"""How alike decisions are that were made one after another, from the newest reviews of each group."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints, RowNumbers
from projections.calibration.gap_evidence import dependence_of
from projections.calibration.review_moments import number_moments
from projections.stats.autocorrelation import estimate_autocorrelation
from tallystick.shapes.dependence import Dependence

DEPENDENCE_REVIEWS: Final = 5_000
"""Dependence is estimated over so many of the newest reviews."""


class NewestReviews(NamedTuple):
    """Outcome minus confidence of the newest reviews, the cell and the cluster (-1: none) of each, when it was made.

    They are in the order in which the decisions were made.
    """

    difference: Floats
    cell: RowNumbers
    cluster: Ints
    time_us: Ints


def estimate_dependence(
    newest: NewestReviews, group: npt.NDArray[np.intp], category: npt.NDArray[np.uint32]
) -> dict[int, Dependence]:
    """Return the dependence of each group with enough reviews, given the number of each review's group and category.

    Categories differ in their gaps, and are often recorded in blocks: that alone makes neighbours alike. So outcomes
    are compared within a category.
    """
    present = np.bincount(group + 1) > 0  # -1 is a number, too
    numbers, places = np.flatnonzero(present) - 1, (np.cumsum(present) - 1)[group + 1]
    moment = number_moments(newest.time_us)
    found = estimate_autocorrelation(newest.difference, places, len(numbers), newest.cluster, category, moment)
    estimates = map(dependence_of, found)
    return {number: one for number, one in zip(numbers.tolist(), estimates, strict=True) if one is not None}
