"""How alike decisions are that were made one after another, from the newest reviews of each group."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, Ints
from projections.calibration.evidence_trace import Grouping, select_reviews
from projections.calibration.first_reviews import BLOCK_REVIEWS, CODE_VALUES, Block, ReviewOrder
from projections.calibration.gap_evidence import Dependence, dependence_of
from projections.query_check import Check
from projections.stats.autocorrelation import estimate_autocorrelation

DEPENDENCE_REVIEWS: Final = 5_000
"""Dependence is estimated over so many of the newest reviews."""


class NewestReviews(NamedTuple):
    """Outcome minus confidence of the newest reviews, the cell and the cluster (-1: none) of each.

    They are in the order in which the decisions were made.
    """

    difference: Floats
    cell: npt.NDArray[np.uint32]
    cluster: Ints


def newest_reviews(order: ReviewOrder, grouping: Grouping, check: Check) -> NewestReviews:
    """Return the newest selected reviews, at most DEPENDENCE_REVIEWS."""
    parts: list[Block] = []
    found, stop = 0, order.size
    while stop > 0 and found < DEPENDENCE_REVIEWS:
        check()
        start = (stop - 1) // BLOCK_REVIEWS * BLOCK_REVIEWS
        selected, _ = select_reviews(order, grouping, start, stop)
        parts.insert(0, selected)
        found += len(selected.cell)
        stop = start
    if not found:
        return NewestReviews(np.zeros(0), np.zeros(0, np.uint32), np.zeros(0, np.int64))
    cells, codes, times, clusters = map(np.concatenate, zip(*parts, strict=True))
    reviews = Block(cells, codes, times, clusters).take(slice(-DEPENDENCE_REVIEWS, None))
    if (reviews.time_us[1:] < reviews.time_us[:-1]).any():
        reviews = reviews.take(np.argsort(reviews.time_us, kind="stable"))
    return NewestReviews(CODE_VALUES[reviews.code] - order.levels.of_cell[reviews.cell], reviews.cell, reviews.cluster)


def estimate_dependence(newest: NewestReviews, group: npt.NDArray[np.intp]) -> dict[int, Dependence]:
    """Return the dependence of each group with enough reviews, given the number of the group of each review."""
    numbers, places = np.unique(group, return_inverse=True)
    found = estimate_autocorrelation(newest.difference, places, len(numbers), newest.cluster)
    estimates = map(dependence_of, found)
    return {number: one for number, one in zip(numbers.tolist(), estimates, strict=True) if one is not None}
