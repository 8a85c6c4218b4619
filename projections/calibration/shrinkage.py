"""Shrinkage of the gaps of small groups towards the overall gap (empirical Bayes).

The variances are estimated by moments, after DerSimonian and Laird (1986). A gap of .30 in a group of five reviews is
more likely chance than a real difference. The shrunk gap is w gap + (1 - w) overall, with w = tau² / (tau² + sigma²/n):
tau² is the variance between groups beyond chance, sigma² the variance of single decisions within groups.
"""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats


class ShrunkGaps(NamedTuple):
    """For each group, the shrunk gap and the weight of its own gap."""

    gap: Floats
    weight: Floats


def shrink_gaps(gap: Floats, spread: Floats, n: Floats) -> ShrunkGaps | None:
    """Shrink the gap of each group towards the overall gap; return None for fewer than two groups.

    `spread` is the sum of squares of o - c about the group's mean, `n` its number of reviews, at least 1. If groups
    differ no more than by chance, or if each has a single review, all weights are 0.
    """
    if len(n) < 2:
        return None
    overall = float((n * gap).sum() / n.sum())
    free = float(n.sum()) - len(n)
    if free <= 0:
        return ShrunkGaps(np.full_like(gap, overall), np.zeros_like(gap))
    variance = float(spread.sum()) / free
    excess = float((n * (gap - overall) ** 2).sum()) - (len(n) - 1) * variance
    between = max(0.0, excess / float(n.sum() - (n**2).sum() / n.sum()))
    total = between + variance / n
    weight = np.divide(between, total, out=np.ones_like(gap), where=total > 0)
    return ShrunkGaps(weight * gap + (1 - weight) * overall, weight)
