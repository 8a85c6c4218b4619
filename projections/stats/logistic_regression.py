"""Logistic regression on counts, fitted to many samples of the same cells at once (Newton's method)."""

import numpy as np
import numpy.typing as npt

from projections.arrays import Floats

ITERATIONS_MAX = 60

STEP_MAX = 2.0
"""Largest change of a predicted logit in one iteration. It keeps Newton's method from overshooting."""

_TOLERANCE = 1e-6
"""Newton's method squares the error: after a step of this size it is far below 1e-9."""

_RIDGE = 1e-10


def fit_logistic(
    features: Floats, start: Floats, offset: Floats, successes: Floats, failures: Floats, free: npt.NDArray[np.bool_]
) -> Floats:
    """Return the coefficients with the highest likelihood, one row for each sample.

    `features` has a row for each cell and a column for each coefficient; `offset` is added to the predicted logit of
    each cell. `successes` and `failures` have a row for each sample and a column for each cell; they need not be whole
    numbers. Each sample needs some of both, or the likelihood has no maximum. `free`, a row for each sample, marks the
    coefficients that are fitted; the others stay as in `start`.
    """
    coefficients = np.tile(start, (len(successes), 1)) if start.ndim == 1 else start.copy()
    total = successes + failures
    fixed = np.einsum("sp,pq->spq", ~free, np.eye(features.shape[1])) + _RIDGE * np.eye(features.shape[1])
    both = free[:, :, None] & free[:, None, :]
    transposed = np.ascontiguousarray(features.T)
    products = (features[:, :, None] * features[:, None, :]).reshape(len(features), -1)
    for _ in range(ITERATIONS_MAX):
        p = inverse_logit(coefficients @ transposed + offset)
        slope = ((successes - total * p) @ features) * free
        curvature = ((total * p * (1 - p)) @ products).reshape(both.shape) * both + fixed
        step = (
            slope / curvature[:, 0] if len(transposed) == 1 else np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        )
        largest = np.abs(step @ transposed).max(axis=1)
        coefficients = coefficients + step * np.minimum(1.0, STEP_MAX / np.maximum(largest, STEP_MAX))[:, None]
        if largest.max() < _TOLERANCE:
            break
    return coefficients


def logit(p: Floats) -> Floats:
    """Return ln(p / (1 - p)); p is above 0 and below 1."""
    return np.asarray(np.log(p) - np.log1p(-p))


def inverse_logit(x: Floats) -> Floats:
    """Return the probability with a logit."""
    return np.asarray(1 / (1 + np.exp(np.minimum(np.maximum(-x, -500), 500))))  # np.clip takes three times as long
