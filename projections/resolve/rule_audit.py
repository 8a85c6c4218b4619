"""How often a rule is right, from decisions drawn at random that somebody reviewed without knowing its verdict.

The rule judged all decisions, people some of them. The success rate that people would find is that of the rule plus the
mean difference in the sample (difference estimator). Within each verdict of the rule a sample of its own is drawn, so
that rare failures are looked at, too; differences are weighted by the size of the verdict.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from typing import Final, NamedTuple

from projections.stats.intervals import Z, wilson_interval
from tallystick.shapes.parts import Interval
from tallystick.shapes.tests import CorrectedRate, RuleError

LABELS_MIN: Final = 20
"""With fewer labels of people a rule has not been checked."""


class Stratum(NamedTuple):
    """Some decisions: how many, their success rate by the rule, and people's value minus the rule's of those drawn."""

    size: int
    rate: float
    differences: Sequence[float]


def corrected_rate(strata: Sequence[Stratum]) -> CorrectedRate | None:
    """Return the success rate as people would find it; None unless each stratum has two labels, or all of its own.

    Source: Cochran, Sampling Techniques (1977), 5.4 and 7.3; the decisions are taken as a sample of the agent's.
    """
    used = [stratum for stratum in strata if stratum.size]
    total = sum(stratum.size for stratum in used)
    if total < 2 or any(len(stratum.differences) < min(2, stratum.size) for stratum in used):
        return None
    rate = fsum(stratum.size * stratum.rate for stratum in used) / total
    corrected = rate + fsum(stratum.size / total * _mean(stratum.differences) for stratum in used)
    se = sqrt(rate * (1 - rate) / (total - 1) + fsum(_variance(stratum, total) for stratum in used))
    interval = Interval(max(0.0, corrected - Z * se), min(1.0, corrected + Z * se))
    return CorrectedRate(by_rule=rate, rate=min(1.0, max(0.0, corrected)), se=se, interval=interval)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _variance(stratum: Stratum, total: int) -> float:
    """Return what a stratum adds to the variance of the mean difference; nothing if all of it was looked at."""
    n, weight, mean = len(stratum.differences), stratum.size / total, _mean(stratum.differences)
    if n == stratum.size:
        return 0.0
    return weight**2 * fsum((one - mean) ** 2 for one in stratum.differences) / (n - 1) / n


def error_of(labels: Sequence[float], *, passed: bool) -> RuleError | None:
    """Return how often people disagree with one verdict of a rule; None without a label. `partial` is no success."""
    if not labels:
        return None
    wrong = sum((label == 1) != passed for label in labels)
    return RuleError(wrong=wrong, n=len(labels), rate=wrong / len(labels), interval=wilson_interval(wrong, len(labels)))
