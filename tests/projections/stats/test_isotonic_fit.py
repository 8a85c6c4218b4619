"""Isotonic regression: the loop for few values gives the bits that scipy gives for many."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from projections.stats import isotonic_fit
from projections.stats.isotonic_fit import fit_isotonic

rates = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
weighted = st.lists(st.tuples(rates, st.floats(0.01, 1000) | st.integers(1, 50).map(float)), min_size=1, max_size=60)


@given(weighted)
@example([(0.5, 1.0)])
@example([(0.9, 3.0), (0.6, 1.0), (0.6, 2.0), (0.1, 7.0), (0.2, 1.0), (0.95, 1.0)])
def test_it_is_scipys_to_the_last_bit(rows: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*rows, strict=True))
    fitted = fit_isotonic(values, weights)
    assert fitted.tobytes() == isotonic_regression(values, weights=weights).x.tobytes()
    assert (np.diff(fitted) >= 0).all()


def test_many_values_are_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values, weights = rng.random(500), rng.integers(1, 9, 500).astype(float)
    here = fit_isotonic(values, weights)
    monkeypatch.setattr(isotonic_fit, "POOLED_HERE_MAX", 499)
    assert fit_isotonic(values, weights).tobytes() == here.tobytes()
