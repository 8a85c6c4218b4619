"""How much two distributions over classes differ, and whether by more than chance."""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats

EXPECTED_MIN = 5.0
"""If fewer of a class are expected in a sample, the test is by permutation (Cochran 1954)."""

CLASSES_MAX = 30
"""The test adds up the counts of all classes but so many, the largest."""

PERMUTATIONS = 1_000
_SEED = 1954


class DistributionDifference(NamedTuple):
    """The total variation distance of two distributions, 0 to 1, and the p value of the test that they are equal.

    The distance is the smallest share of one sample that would have to be in other classes to match the other sample.
    `p` is None if there are too few counts for a test.
    """

    distance: float
    p: float | None


def compare_distributions(first: Floats, second: Floats) -> DistributionDifference | None:
    """Compare the counts of two samples by class; return None if a sample is empty.

    The test is Pearson's chi-square test of homogeneity, without correction. If a class is rare, its p value is that of
    PERMUTATIONS random divisions of all counts into two samples of these sizes, which are the same at every call.
    Shapes: one count per class in each array.
    """
    first_total, second_total = float(first.sum()), float(second.sum())
    if first_total <= 0 or second_total <= 0:
        return None
    distance = float(np.abs(first / first_total - second / second_total).sum()) / 2
    return DistributionDifference(distance, _homogeneity_p(_largest_classes(first, second)))


def _largest_classes(first: Floats, second: Floats) -> Floats:
    """Return the counts as two rows, with all but the largest classes added up; empty columns are left out."""
    counts = np.stack([first, second]).astype(np.float64)
    total = counts.sum(axis=0)
    if len(total) > CLASSES_MAX:
        order = np.argsort(-total, kind="stable")
        rest = counts[:, order[CLASSES_MAX:]].sum(axis=1)
        counts = np.column_stack([counts[:, order[:CLASSES_MAX]], rest])
    return counts[:, counts.sum(axis=0) > 0]


def _homogeneity_p(counts: Floats) -> float | None:
    """Return the p value of the test on a table of two rows; None with fewer than two columns."""
    from scipy.special import chdtrc

    classes, total = counts.sum(axis=0), counts.sum()
    if len(classes) < 2:
        return None
    expected = classes * (counts[0].sum() / total)
    variance = expected * (1 - counts[0].sum() / total)
    statistic = float(((counts[0] - expected) ** 2 / variance).sum())
    if min(expected.min(), (classes - expected).min()) >= EXPECTED_MIN:
        return float(chdtrc(len(classes) - 1, statistic))
    random = np.random.default_rng(_SEED)
    drawn = random.multivariate_hypergeometric(
        classes.astype(np.int64), int(counts[0].sum()), size=PERMUTATIONS, method="marginals"
    )
    statistics = ((drawn - expected) ** 2 / variance).sum(axis=1)
    return float(1 + (statistics >= statistic - 1e-9).sum()) / (PERMUTATIONS + 1)
