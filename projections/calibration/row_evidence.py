"""The evidence of every row of a table at once: of all its groups, whichever are shown."""

from collections.abc import Sequence
from math import log
from typing import Final

import msgspec
import numpy as np

from projections.arrays import AnyInts, Floats, RowNumbers, split_runs
from projections.calibration.cell_groups import Groups
from projections.calibration.counted_columns import OPEN
from projections.calibration.view_evidence import GroupEvidence
from projections.outcome_codes import OUTCOME_VALUES, OUTCOMES_COUNT, UNREVIEWED
from projections.query_check import Check
from projections.stats.gap_martingale import (
    BETS,
    CLUSTER_REVIEWS,
    E_VALUE_SURE,
    LogEValues,
    log_e_values,
    log_factors,
)
from projections.stats.gap_sequence import log_e_within
from projections.stats.intervals import wilson_interval

CELLS_AT_ONCE = 16_384
"""Cells whose evidence is computed between two calls of `check`: a few milliseconds."""

_ROWS: Final = BETS + 3


class RowEvidence(msgspec.Struct, frozen=True):
    """The logarithms of the e-values of each row: that its gap is not 0, and that it is within GAP_MARGIN.

    Gaps that cancel each other are not within it. Decisions without a review turn out against each (`gap_evidence.py`).
    """

    over: Floats
    under: Floats
    within: Floats

    @property
    def off(self) -> Floats:
        """The logarithm of the e-value that the gap is not 0."""
        return np.logaddexp(self.over, self.under) - log(2)


def evidence_of_rows(groups: Groups, numbers: RowNumbers, by_group: GroupEvidence, check: Check) -> RowEvidence:
    """Return the evidence of some groups with reviews, from the counts of their cells and from their clusters."""
    counts = groups.table.counts
    reviews: list[AnyInts | Floats] = [counts[:, 1:OUTCOMES_COUNT]]
    if counts[:, [UNREVIEWED, OPEN]].any():
        reviews += [_fill(groups, good=good) for good in (True, False)]
    each = len(numbers)
    logs, within = _find_evidence(groups, numbers, reviews, by_group, check)
    # of outcomes as they are, then as the missing ones would be against "over" and "under"
    over, under, within = (found.reshape(len(reviews), each) for found in (logs.over, logs.under, within))
    return RowEvidence(over[:2].min(axis=0), under[::2].min(axis=0), within.min(axis=0))


def _fill(groups: Groups, *, good: bool) -> Floats:
    """Return counts of reviewed outcomes by cell, to which those of decisions without a review are added.

    Open ones are all `good`, or none is. Overdue ones succeed at the upper or lower limit of Wilson's interval of the
    reviewed ones of their group.
    """
    counts, size = groups.table.counts, len(groups.names.ranks) + 1  # the last is that of cells without a group
    reviews = counts[:, 1:OUTCOMES_COUNT].astype(np.float64)
    n = np.maximum(1, np.bincount(groups.numbers % size, reviews.sum(axis=1), size))
    total = np.bincount(groups.numbers % size, reviews @ OUTCOME_VALUES[1:], size)
    limits = [wilson_interval(*pair) for pair in zip(total.tolist(), n.tolist(), strict=True)]
    rate = np.array([limit.high if good else limit.low for limit in limits])[groups.numbers]
    overdue, may_come = counts[:, UNREVIEWED], counts[:, OPEN]
    reviews[:, 0] += overdue * rate + may_come * good
    reviews[:, 2] += overdue * (1 - rate) + may_come * (not good)
    return reviews


def _find_evidence(
    groups: Groups, numbers: RowNumbers, reviews: Sequence[AnyInts | Floats], by_group: GroupEvidence, check: Check
) -> tuple[LogEValues, Floats]:
    """Return the evidence of some groups for each of some counts of reviewed outcomes: all groups for one, and so on.

    The second array has the logarithms of the e-values that gaps are within GAP_MARGIN and do not cancel each other.
    """
    totals = _sum_cells(groups, reviews, check)[:, :, numbers].reshape(_ROWS, -1)
    stakes, (n, difference, square) = totals[:BETS], totals[BETS:]
    largest = np.ones(len(n))
    logs = log_e_values(stakes)
    parts = {
        place: part
        for place, number in enumerate(numbers.tolist() * len(reviews))
        if (part := by_group.of(groups.names.of(number)).clusters) is not None
    }
    if parts:
        places = np.array(list(parts))
        changed = np.repeat(stakes[:, np.newaxis, places], len(CLUSTER_REVIEWS), axis=1)
        changed += np.stack([part.log_factors for part in parts.values()], axis=2)
        for each, clustered in zip(logs, log_e_values(changed), strict=True):
            each[places] = clustered
        square[places] += [part.square for part in parts.values()]
        largest[places] = [part.sizes.max() for part in parts.values()]
    cancelled = logs.calibrated >= log(E_VALUE_SURE)
    return logs, np.where(cancelled, -np.inf, log_e_within(n, difference, square, largest))


def _sum_cells(groups: Groups, reviews: Sequence[AnyInts | Floats], check: Check) -> Floats:
    """Return the logarithms of stakes, the number of reviews, and sums of differences and squares.

    The array has the totals of each of the counts of `reviews`, and of each of these those of all groups. Cells of one
    group and confidence are merged first: there are far fewer of them, and logarithms take most time.
    """
    table, size = groups.table, len(groups.names.ranks)
    totals = np.zeros((_ROWS, len(reviews), size))
    # the last of `reviews` has every cell that another one has: it adds those of missing outcomes
    rows = np.flatnonzero(~np.isnan(table.confidence) & reviews[-1].any(axis=1) & (groups.numbers >= 0))
    for start in range(0, len(rows), CELLS_AT_ONCE):
        check()
        part = rows[start : start + CELLS_AT_ONCE]
        starts, lengths = split_runs(table.confidence[part])  # a table ascends by confidence
        levels, level = table.confidence[part][starts], np.repeat(np.arange(len(starts)), lengths)
        key, place = np.unique(groups.numbers[part] * len(levels) + level, return_inverse=True)
        number, level = np.divmod(key, len(levels))
        starts, _ = split_runs(number)
        for outcome, columns in ((1.0, [0]), (0.5, [1]), (0.0, [2, 3])):
            addition = _additions(levels, outcome)[:, level]
            for each, counts in enumerate(reviews):
                n = np.bincount(place, counts[part][:, columns].sum(axis=1), len(key))
                totals[:, each, number[starts]] += np.add.reduceat(addition * n, starts, axis=1)
    return totals


def _additions(confidence: Floats, outcome: float) -> Floats:
    """Return what a review with an outcome adds to the totals, at each of some confidences."""
    difference = outcome - confidence
    factors = log_factors(confidence, np.full(len(confidence), outcome))
    return np.concatenate([factors, [np.ones_like(confidence), difference, difference**2]])
