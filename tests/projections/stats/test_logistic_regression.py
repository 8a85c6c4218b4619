"""The regression against a general optimiser, on cells that overshoot a plain Newton step."""

import numpy as np
import pytest
from scipy.optimize import minimize

from projections.arrays import Floats
from projections.stats.logistic_regression import fit_logistic, inverse_logit, logit


def likeliest(features: Floats, offset: Floats, successes: Floats, failures: Floats) -> Floats:
    def loss(beta: Floats) -> float:
        predicted = features @ beta + offset
        return float((successes * np.logaddexp(0, -predicted) + failures * np.logaddexp(0, predicted)).sum())

    return np.asarray(minimize(loss, np.zeros(features.shape[1]), method="BFGS", options={"gtol": 1e-9}).x)


def test_it_agrees_with_a_general_optimiser() -> None:
    rng = np.random.default_rng(16)
    cells = np.sort(rng.random(40)) * 0.98 + 0.01
    features = np.stack([np.log(cells), -np.log1p(-cells), np.ones_like(cells)], axis=1)
    successes, failures = rng.gamma(2, 3, (5, 40)), rng.gamma(2, 3, (5, 40))
    found = fit_logistic(
        features, np.array([1.0, 1.0, 0.0]), np.zeros(40), successes, failures, np.ones((5, 3), dtype=bool)
    )
    for sample in range(5):
        expected = likeliest(features, np.zeros(40), successes[sample], failures[sample])
        assert found[sample] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("stated", "successes", "failures"), [(0.99, 1.0, 9_999.0), (0.01, 1e6, 0.5), (0.5, 3.0, 7.0)])
def test_one_cell_gets_its_mean_outcome(stated: float, successes: float, failures: float) -> None:
    offset = logit(np.array([stated]))
    found = fit_logistic(
        np.ones((1, 1)), np.zeros(1), offset, np.array([[successes]]), np.array([[failures]]), np.ones((1, 1), bool)
    )
    assert inverse_logit(offset + found)[0, 0] == pytest.approx(successes / (successes + failures), rel=1e-9)


def test_a_fixed_coefficient_stays() -> None:
    rng = np.random.default_rng(17)
    features = np.stack([rng.normal(size=30), np.ones(30)], axis=1)
    successes, failures = rng.gamma(2, 3, (2, 30)), rng.gamma(2, 3, (2, 30))
    free = np.array([[True, True], [False, True]])
    found = fit_logistic(features, np.zeros(2), np.zeros(30), successes, failures, free)
    assert found[1, 0] == 0
    total = successes[1].sum() + failures[1].sum()
    assert inverse_logit(found[1, 1:])[0] == pytest.approx(successes[1].sum() / total)
    assert found[0] == pytest.approx(likeliest(features, np.zeros(30), successes[0], failures[0]), abs=1e-4)
