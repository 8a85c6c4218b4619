"""Families of maps from a forecast to a better one, each fitted to counts of outcomes.

- `logit_shift` adds one number to the logit of each forecast (Platt 1999, with the slope fixed at 1).
- `beta` is beta calibration: logit(mapped) = a ln(c) - b ln(1 - c) + d, with a and b at least 0 (Kull, Silva Filho and
  Flach, AISTATS 2017). It can correct an agent that is overconfident at one end and underconfident at the other.
- `isotonic` is any map that never falls (Zadrozny and Elkan, KDD 2002).

The more numbers a family has, the more reviews it needs.
"""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

from projections.arrays import Floats
from projections.calibration.corp import fit_isotonic
from projections.stats.logistic_regression import fit_logistic, inverse_logit, logit

MapFamily = Literal["as_stated", "logit_shift", "beta", "isotonic"]
"""`as_stated` changes nothing: it is for a category that another map would make worse."""

REVIEWS_MIN: Mapping[MapFamily, int] = {"logit_shift": 20, "beta": 100, "isotonic": 1_000}
"""With fewer reviews a family is not tried. The simplest family is first."""

EXTREME = 0.01
"""In the families that use logits, a forecast closer to 0 or 1 is treated as this far from it."""


def fit_family(family: MapFamily, forecast: Floats, successes: Floats, failures: Floats) -> Floats:
    """Return the mapped forecasts of each sample: one row for each sample, one column for each cell.

    `forecast` ascends. `successes` and `failures` have a row for each sample and a column for each cell; they need not
    be whole numbers, each cell needs some of either, and each sample some of both.
    """
    return _fits[family](forecast, successes, failures)


def _fit_shift(forecast: Floats, successes: Floats, failures: Floats) -> Floats:
    stated = logit(np.clip(forecast, EXTREME, 1 - EXTREME))
    free = np.ones((len(successes), 1), dtype=bool)
    shift = fit_logistic(np.ones((len(stated), 1)), np.zeros(1), stated, successes, failures, free)
    return inverse_logit(stated + shift)


def _fit_beta(forecast: Floats, successes: Floats, failures: Floats) -> Floats:
    """Fit all three numbers; where a slope is below 0, set it to 0 and fit the others again, as Kull et al. do."""
    stated = np.clip(forecast, EXTREME, 1 - EXTREME)
    features = np.stack([np.log(stated), -np.log1p(-stated), np.ones_like(stated)], axis=1)
    zero = np.zeros_like(stated)
    free = np.ones((len(successes), 3), dtype=bool)
    found = fit_logistic(features, np.array([1.0, 1.0, 0.0]), zero, successes, failures, free)
    for _ in range(2):
        falling = (found[:, :2] < 0).any(axis=1)
        if not falling.any():
            break
        free[falling, :2] &= found[falling, :2] >= 0
        start = np.where(free[falling], np.array([1.0, 1.0, 0.0]), 0.0)
        found[falling] = fit_logistic(features, start, zero, successes[falling], failures[falling], free[falling])
    return inverse_logit(found @ features.T)


def _fit_isotonic(forecast: Floats, successes: Floats, failures: Floats) -> Floats:
    """Fit all samples in one pass: each is 2 above the last, so that none is merged with another."""
    n = successes + failures
    above = 2.0 * np.arange(len(n))[:, None]
    return fit_isotonic((successes / n + above).ravel(), n.ravel()).reshape(n.shape) - above


_fits: Mapping[MapFamily, Callable[[Floats, Floats, Floats], Floats]] = {
    "logit_shift": _fit_shift,
    "beta": _fit_beta,
    "isotonic": _fit_isotonic,
}
