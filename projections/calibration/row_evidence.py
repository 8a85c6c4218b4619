"""The evidence of every row of a table at once: of all its groups, whichever are shown."""

from typing import Final

import msgspec
import numpy as np

from projections.arrays import Floats, RowNumbers, split_runs
from projections.calibration.cell_groups import Groups
from projections.calibration.stakes import log_e_values_of
from projections.calibration.view_evidence import GroupEvidence
from projections.query_check import Check
from projections.stats.gap_martingale import FRACTIONS, log_factors_over, log_factors_under, log_mean_exp
from projections.stats.gap_sequence import log_e_within

CELLS_AT_ONCE = 16_384
"""Cells whose evidence is computed between two calls of `check`: a few milliseconds."""


_K: Final = len(FRACTIONS)
_OVER, _UNDER, _SUMS = slice(0, _K), slice(_K, 2 * _K), slice(2 * _K, 2 * _K + 3)


class RowEvidence(msgspec.Struct, frozen=True):
    """The logarithms of the e-values of each row: that its gap is not 0, and that it is within GAP_MARGIN."""

    off: Floats
    within: Floats


def evidence_of_rows(groups: Groups, numbers: RowNumbers, followed: GroupEvidence, check: Check) -> RowEvidence:
    """Return the evidence of some groups with reviews: as followed from review to review, or else from counts."""
    columns = followed.columns([groups.names.of(number) for number in numbers.tolist()])
    known = columns >= 0
    over, under, within = np.zeros((3, len(numbers)))
    if not known.all():
        over, under, within = (logs[numbers] for logs in _from_counts(groups, check))
    if followed.stakes is not None:
        over[known], under[known], within[known] = log_e_values_of(followed.stakes, columns[known])
    return RowEvidence(np.logaddexp(over, under) - np.log(2), within)


def _from_counts(groups: Groups, check: Check) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of the e-values of all groups, from the counts of their cells.

    Cells of one group and confidence are merged first: there are far fewer of them, and logarithms take most time.
    """
    table, size = groups.table, len(groups.names.ranks)
    totals = np.zeros((_SUMS.stop, size))
    rows = np.flatnonzero(~np.isnan(table.confidence) & table.counts[:, 1:].any(axis=1) & (groups.numbers >= 0))
    for start in range(0, len(rows), CELLS_AT_ONCE):
        check()
        part = rows[start : start + CELLS_AT_ONCE]
        starts, lengths = split_runs(table.confidence[part])  # a table ascends by confidence
        levels, level = table.confidence[part][starts], np.repeat(np.arange(len(starts)), lengths)
        key, place = np.unique(groups.numbers[part] * len(levels) + level, return_inverse=True)
        success, partial, failure, abandoned = table.counts[part, 1:].T
        added = np.zeros((_SUMS.stop, len(key)))
        for outcome, n in ((1.0, success), (0.5, partial), (0.0, failure + abandoned)):
            added += _additions(levels, outcome)[:, key % len(levels)] * np.bincount(place, n, len(key))
        number = key // len(levels)
        starts, _ = split_runs(number)
        totals[:, number[starts]] += np.add.reduceat(added, starts, axis=1)
    over, under = log_mean_exp(totals[_OVER]), log_mean_exp(totals[_UNDER])
    n, difference, square = totals[_SUMS]
    return over, under, log_e_within(n, difference, square, np.ones(size))


def _additions(confidence: Floats, outcome: float) -> Floats:
    """Return what a review with an outcome adds to the totals, at each of some confidences."""
    outcomes = np.full(len(confidence), outcome)
    over, under = log_factors_over(confidence, outcomes), log_factors_under(confidence, outcomes)
    difference = outcome - confidence
    return np.concatenate([over, under, [np.ones_like(confidence), difference, difference**2]])
