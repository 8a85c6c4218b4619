"""The evidence of every row of a table at once: of all its groups, whichever are shown."""

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Floats, RowNumbers
from projections.calibration.cell_groups import Groups
from projections.calibration.confidence_bins import REVIEWED_VALUES
from projections.calibration.evidence_trace import log_e_values_of
from projections.calibration.view_evidence import GroupEvidence
from projections.query_check import Check
from projections.stats.gap_martingale import FRACTIONS, log_factors_over, log_factors_under, log_mean_exp
from projections.stats.gap_sequence import log_e_within

CELLS_AT_ONCE = 16_384
"""Cells whose evidence is computed between two calls of `check`: a few milliseconds."""


class RowEvidence(msgspec.Struct, frozen=True):
    """The logarithms of the e-values of each row: that its gap is not 0, and that it is within GAP_MARGIN."""

    off: Floats
    within: Floats


def evidence_of_rows(groups: Groups, numbers: RowNumbers, followed: GroupEvidence, check: Check) -> RowEvidence:
    """Return the evidence of some groups with reviews: as followed from review to review, or else from counts."""
    over, under, within = _from_counts(groups, check)
    over, under, within = over[numbers], under[numbers], within[numbers]
    if followed.stakes is not None:
        names = [groups.names.of(number) for number in numbers.tolist()]
        columns = np.array([followed.numbers.get(name, -1) for name in names], dtype=np.intp)
        known = np.flatnonzero((columns >= 0) & (columns < len(followed.stakes.reviewed)))
        known = known[followed.stakes.reviewed[columns[known]] > 0]
        if len(known):
            over[known], under[known], within[known] = log_e_values_of(followed.stakes, columns[known])
    return RowEvidence(np.logaddexp(over, under) - np.log(2), within)


def _from_counts(groups: Groups, check: Check) -> tuple[Floats, Floats, Floats]:
    """Return the logarithms of the e-values of all groups, from the counts of their cells."""
    table, size = groups.table, len(groups.names.ranks)
    stakes, sums = np.zeros((2 * len(FRACTIONS), size)), np.zeros((3, size))
    rows = np.flatnonzero(~np.isnan(table.confidence) & table.counts[:, 1:].any(axis=1) & (groups.numbers >= 0))
    for start in range(0, len(rows), CELLS_AT_ONCE):
        check()
        part = rows[start : start + CELLS_AT_ONCE]
        confidence, number = table.confidence[part], groups.numbers[part]
        for outcome, n in zip(REVIEWED_VALUES.tolist(), table.counts[part, 1:].T, strict=True):
            values = np.full(len(part), outcome)
            factors = np.concatenate([log_factors_over(confidence, values), log_factors_under(confidence, values)])
            _add(stakes, factors * n, number)
            difference = outcome - confidence
            _add(sums, np.stack([n, difference * n, difference**2 * n]), number)
    n, difference, square = sums
    over, under = log_mean_exp(stakes[: len(FRACTIONS)]), log_mean_exp(stakes[len(FRACTIONS) :])
    return over, under, log_e_within(n, difference, square, np.ones(size))


def _add(totals: Floats, values: Floats, number: npt.NDArray[np.intp]) -> None:
    for place, row in enumerate(values):
        totals[place] += np.bincount(number, weights=row, minlength=totals.shape[1])
