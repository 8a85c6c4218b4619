"""Gaps of small groups shrunk towards the whole (empirical Bayes, moments after DerSimonian and Laird 1986).

A group of five reviews with a gap of .30 is more likely an accident than a fact. Its shrunk gap is
w gap + (1 - w) overall, with w = tau² / (tau² + sigma²/n): tau² is how much groups differ beyond chance, and sigma² how
much single decisions do within groups.
"""

from typing import NamedTuple

import numpy as np

from projections.arrays import Floats


class ShrunkGaps(NamedTuple):
    """For each group, the shrunk gap and the weight of its own."""

    gap: Floats
    weight: Floats


def shrink_gaps(gap: Floats, spread: Floats, n: Floats) -> ShrunkGaps | None:
    """Shrink gaps, given the sum of squares of o - c about each group's mean; None for fewer than two groups.

    Every group has at least one review. Where groups differ no more than chance would have it, or each has but one
    review, all weights are 0.
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
