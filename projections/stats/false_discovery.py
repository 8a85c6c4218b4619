"""Corrections for many hypotheses at once, which bound the false discovery rate.

The false discovery rate is the expected share of true hypotheses among the rejected ones. If every hypothesis is true,
it is the probability that any is rejected.

- `benjamini_hochberg` takes p values (Benjamini and Hochberg, JRSSB 1995): valid if they are independent, or positively
  dependent.
- `e_bh` takes e values (Wang and Ramdas, JRSSB 2022): valid for any dependence, and at any time if they are from
  e processes.

Both return adjusted values: reject where one is at most the level. NaN means that a value is missing: it is not a
hypothesis, and remains NaN.
"""

import numpy as np

from projections.arrays import Floats

FALSE_DISCOVERY_RATE = 0.05
"""The level at which verdicts on several rows or pairs are supported."""


def benjamini_hochberg(p: Floats) -> Floats:
    """Return the adjusted p value of each p value in 0..1: the lowest level at which its hypothesis is rejected."""
    stated = ~np.isnan(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[stated] = _step_up(p[stated])
    return adjusted


def e_bh(e: Floats) -> Floats:
    """Return the lowest level at which the hypothesis of each e value is rejected. E values are 0 to infinity.

    The hypotheses of the k largest of m e values are rejected at a level if the k-th is at least m / (k level).
    """
    with np.errstate(divide="ignore", over="ignore"):
        return benjamini_hochberg(np.minimum(1.0, 1 / e))


def _step_up(p: Floats) -> Floats:
    m = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * (m / np.arange(1, m + 1))
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
