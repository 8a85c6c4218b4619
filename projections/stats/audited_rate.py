"""The success rate of decisions that a rule resolved, corrected by a random sample that people resolved too."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.stats.intervals import Interval, Z


class AuditedRate(NamedTuple):
    """A corrected rate with its standard error, and its 95% interval at one look."""

    rate: float
    error: float
    interval: Interval


def audited_rate(passed: int, resolved: int, differences: Floats) -> AuditedRate:
    """Return the rate of the rule plus the mean difference of people's outcomes from the rule's (difference estimator).

    `differences` are of decisions drawn at random from the `resolved` ones, at least two; nothing is assumed about
    where the rule errs.
    Source: Cochran, Sampling Techniques, 3rd edition 1977, section 7.
    """
    by_rule, n = passed / resolved, len(differences)
    rate = by_rule + float(differences.mean())
    error = sqrt(by_rule * (1 - by_rule) / (resolved - 1) + float(np.var(differences, ddof=1)) / n)
    return AuditedRate(rate, error, Interval(max(0.0, rate - Z * error), min(1.0, rate + Z * error)))
