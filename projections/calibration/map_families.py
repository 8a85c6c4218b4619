"""Families of maps from a forecast to a better one, each fitted to counts of outcomes.

- `logit_shift` adds one number to the logit of each forecast (Platt 1999, with the slope fixed at 1).
- `beta` is beta calibration: logit(mapped) = a ln(c) - b ln(1 - c) + d, with a and b at least 0 (Kull, Silva Filho and
  Flach, AISTATS 2017). It can correct an agent that is overconfident at one end and underconfident at the other.
- `isotonic` is any map that never falls (Zadrozny and Elkan, KDD 2002).

The more numbers a family has, the more reviews it needs.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from projections.arrays import Floats
from projections.stats.isotonic_fit import fit_isotonic
from projections.stats.logistic_regression import fit_logistic, inverse_logit, logit
from tallystick.shapes.recalibration import MapFamily

REVIEWS_MIN: Mapping[MapFamily, int] = {"logit_shift": 20, "beta": 100, "isotonic": 1_000}
"""With fewer reviews a family is not tried. The simplest family is first."""

_BETA_AS_STATED = np.array([1.0, 1.0, 0.0])
"""The coefficients of the beta map that changes nothing."""

EXTREME = 0.01
"""In the families that use logits, a forecast closer to 0 or 1 is treated as this far from it."""


class Fit(NamedTuple):
    """The mapped forecasts of each sample: one row for each sample, one column for each cell.

    `coefficients` has a row for each sample; no column for a family without coefficients.
    """

    mapped: Floats
    coefficients: Floats


def fit_family(
    family: MapFamily, forecast: Floats, successes: Floats, failures: Floats, near: Fit | None = None
) -> Fit:
    """Fit a family to each of some samples.

    `forecast` ascends. `successes` and `failures` have a row for each sample and a column for each cell; they need not
    be whole numbers, each cell needs some of either, and each sample some of both. `near` is a fit to a single, similar
    sample: from there the search is shorter.
    """
    return _fits[family](forecast, successes, failures, None if near is None else near.coefficients[0])


def _fit_shift(forecast: Floats, successes: Floats, failures: Floats, near: Floats | None) -> Fit:
    stated = logit(np.clip(forecast, EXTREME, 1 - EXTREME))
    free = np.ones((len(successes), 1), dtype=bool)
    start = np.zeros(1) if near is None else near
    shift = fit_logistic(np.ones((len(stated), 1)), start, stated, successes, failures, free)
    return Fit(inverse_logit(stated + shift), shift)


def _fit_beta(forecast: Floats, successes: Floats, failures: Floats, near: Floats | None) -> Fit:
    """Fit all three numbers; where a slope is below 0, set it to 0 and fit the others again, as Kull et al. do."""
    stated = np.clip(forecast, EXTREME, 1 - EXTREME)
    features = np.stack([np.log(stated), -np.log1p(-stated), np.ones_like(stated)], axis=1)
    zero = np.zeros_like(stated)
    free = np.ones((len(successes), 3), dtype=bool)
    start = _BETA_AS_STATED if near is None else near
    found = fit_logistic(features, start, zero, successes, failures, free)
    for _ in range(2):
        falling = (found[:, :2] < 0).any(axis=1)
        if not falling.any():
            break
        free[falling, :2] &= found[falling, :2] >= 0
        start = np.where(free[falling], _BETA_AS_STATED, 0.0)
        found[falling] = fit_logistic(features, start, zero, successes[falling], failures[falling], free[falling])
    return Fit(inverse_logit(found @ features.T), found)


def _fit_isotonic(forecast: Floats, successes: Floats, failures: Floats, near: Floats | None) -> Fit:
    """Fit all samples in one pass: each is 2 above the last, so that none is merged with another."""
    n = successes + failures
    above = 2.0 * np.arange(len(n))[:, None]
    mapped = fit_isotonic((successes / n + above).ravel(), n.ravel()).reshape(n.shape) - above
    return Fit(mapped, np.zeros((len(n), 0)))


_fits: Mapping[MapFamily, Callable[[Floats, Floats, Floats, Floats | None], Fit]] = {
    "logit_shift": _fit_shift,
    "beta": _fit_beta,
    "isotonic": _fit_isotonic,
}
