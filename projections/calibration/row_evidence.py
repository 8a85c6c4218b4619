"""The evidence of every row of a table at once: of all its groups, whichever are shown."""

from math import log
from typing import Final

import msgspec
import numpy as np

from projections.arrays import Floats, RowNumbers, split_runs
from projections.calibration.cell_groups import Groups
from projections.calibration.view_evidence import GroupEvidence
from projections.outcome_codes import OUTCOMES_COUNT
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

CELLS_AT_ONCE = 16_384
"""Cells whose evidence is computed between two calls of `check`: a few milliseconds."""

_ROWS: Final = BETS + 3


class RowEvidence(msgspec.Struct, frozen=True):
    """The logarithms of the e-values of each row: that its gap is not 0, and that it is within GAP_MARGIN.

    Gaps that cancel each other are not within it.
    """

    off: Floats
    within: Floats


def evidence_of_rows(groups: Groups, numbers: RowNumbers, followed: GroupEvidence, check: Check) -> RowEvidence:
    """Return the evidence of some groups with reviews, from the counts of their cells and from their clusters."""
    totals = _sum_cells(groups, check)[:, numbers]
    stakes, (n, difference, square) = totals[:BETS], totals[BETS:]
    largest = np.ones(len(numbers))
    logs = log_e_values(stakes)
    parts = {
        place: part
        for place, number in enumerate(numbers.tolist())
        if (part := followed.of(groups.names.of(number)).clusters) is not None
    }
    if parts:
        places = np.array(list(parts))
        changed = np.repeat(stakes[:, np.newaxis, places], len(CLUSTER_REVIEWS), axis=1)
        changed += np.stack([part.log_factors for part in parts.values()], axis=2)
        for each, clustered in zip(logs, log_e_values(changed), strict=True):
            each[places] = clustered
        square[places] += [part.square for part in parts.values()]
        largest[places] = [part.sizes.max() for part in parts.values()]
    return _row_evidence(logs, log_e_within(n, difference, square, largest))


def _row_evidence(logs: LogEValues, within: Floats) -> RowEvidence:
    cancelled = logs.calibrated >= log(E_VALUE_SURE)
    return RowEvidence(np.logaddexp(logs.over, logs.under) - log(2), np.where(cancelled, -np.inf, within))


def _sum_cells(groups: Groups, check: Check) -> Floats:
    """Return for all groups the logarithms of stakes, the number of reviews, and sums of differences and squares.

    Cells of one group and confidence are merged first: there are far fewer of them, and logarithms take most time.
    """
    table, size = groups.table, len(groups.names.ranks)
    totals = np.zeros((_ROWS, size))
    reviews = table.counts[:, 1:OUTCOMES_COUNT]
    rows = np.flatnonzero(~np.isnan(table.confidence) & reviews.any(axis=1) & (groups.numbers >= 0))
    for start in range(0, len(rows), CELLS_AT_ONCE):
        check()
        part = rows[start : start + CELLS_AT_ONCE]
        starts, lengths = split_runs(table.confidence[part])  # a table ascends by confidence
        levels, level = table.confidence[part][starts], np.repeat(np.arange(len(starts)), lengths)
        key, place = np.unique(groups.numbers[part] * len(levels) + level, return_inverse=True)
        success, partial, failure, abandoned = reviews[part].T
        added = np.zeros((_ROWS, len(key)))
        for outcome, n in ((1.0, success), (0.5, partial), (0.0, failure + abandoned)):
            added += _additions(levels, outcome)[:, key % len(levels)] * np.bincount(place, n, len(key))
        number = key // len(levels)
        starts, _ = split_runs(number)
        totals[:, number[starts]] += np.add.reduceat(added, starts, axis=1)
    return totals


def _additions(confidence: Floats, outcome: float) -> Floats:
    """Return what a review with an outcome adds to the totals, at each of some confidences."""
    difference = outcome - confidence
    factors = log_factors(confidence, np.full(len(confidence), outcome))
    return np.concatenate([factors, [np.ones_like(confidence), difference, difference**2]])
