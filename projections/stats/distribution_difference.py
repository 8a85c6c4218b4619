"""How much two distributions over classes differ, and whether by more than chance."""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats

EXPECTED_MIN = 1.0
"""Classes of which fewer are expected in one of the samples are merged for the test."""


class DistributionDifference(NamedTuple):
    """The total variation distance of two distributions, 0 to 1, and the p value of the test that they are equal.

    The distance is the smallest share of one sample that would have to be in other classes to match the other sample.
    `p` is None if there are too few counts for a test.
    """

    distance: float
    p: float | None


def compare_distributions(first: Floats, second: Floats) -> DistributionDifference | None:
    """Compare the counts of two samples by class; return None if a sample is empty.

    The test is Pearson's chi-square test of homogeneity, without correction. Classes with an expected count below
    EXPECTED_MIN in either sample are merged into one (Cochran 1954).
    Shapes: one count per class in each array.
    """
    first_total, second_total = float(first.sum()), float(second.sum())
    if first_total <= 0 or second_total <= 0:
        return None
    distance = float(np.abs(first / first_total - second / second_total).sum()) / 2
    return DistributionDifference(distance, _chi_square_p(_merge_rare(first, second)))


def _merge_rare(first: Floats, second: Floats) -> Floats:
    """Return the counts as two rows, with the rare classes added up in the last column; empty columns left out."""
    counts = np.stack([first, second]).astype(np.float64)
    total = counts.sum()
    smaller_share = counts.sum(axis=1).min() / total
    rare = counts.sum(axis=0) * smaller_share < EXPECTED_MIN
    merged = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    if 0 < merged[:, -1].sum() * smaller_share < EXPECTED_MIN and merged.shape[1] > 1:
        rarest = int(np.argmin(merged[:, :-1].sum(axis=0)))
        merged[:, rarest] += merged[:, -1]
        merged = merged[:, :-1]
    return merged[:, merged.sum(axis=0) > 0]


def _chi_square_p(counts: Floats) -> float | None:
    """Return the p value of the chi-square test on a table of two rows; None with fewer than two columns."""
    from scipy.special import chdtrc

    if counts.shape[1] < 2:
        return None
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chdtrc(counts.shape[1] - 1, statistic))
