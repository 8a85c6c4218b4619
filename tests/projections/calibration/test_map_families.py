"""Each family of maps: it never falls, it finds what it can express, and few reviews change little."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.calibration.map_families import REVIEWS_MIN, fit_family
from projections.stats.logistic_regression import inverse_logit, logit

counts = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=12)


@given(counts)
@settings(max_examples=100)
def test_no_map_falls(given: list[tuple[int, int]]) -> None:
    forecast = np.linspace(0, 1, len(given))
    successes, failures = (np.array([column], dtype=float) + 0.5 for column in zip(*given, strict=True))
    for family in REVIEWS_MIN:
        mapped = fit_family(family, forecast, successes, failures).mapped
        assert mapped.shape == successes.shape
        assert (np.diff(mapped[0]) >= -1e-9).all()
        assert ((mapped >= 0) & (mapped <= 1)).all()


def test_each_family_finds_its_own_kind_of_error() -> None:
    forecast = np.linspace(0.05, 0.95, 19)
    shifted = inverse_logit(logit(forecast) - 0.7)
    bent = inverse_logit(0.6 * np.log(forecast) - 1.5 * np.log1p(-forecast) - 0.4)
    stepped = np.where(forecast < 0.5, 0.3, 0.8)
    for family, truth in (("logit_shift", shifted), ("beta", shifted), ("beta", bent), ("isotonic", stepped)):
        mapped = fit_family(family, forecast, 1e4 * truth[None], 1e4 * (1 - truth)[None]).mapped  # type: ignore[arg-type]
        assert mapped[0] == pytest.approx(truth, abs=1e-6)


def test_samples_are_fitted_as_if_alone() -> None:
    rng = np.random.default_rng(16)
    forecast = np.linspace(0.02, 0.98, 25)
    successes, failures = rng.gamma(1, 4, (6, 25)) + 0.1, rng.gamma(1, 4, (6, 25)) + 0.1
    for family in REVIEWS_MIN:
        together = fit_family(family, forecast, successes, failures).mapped
        for sample in range(6):
            alone = fit_family(family, forecast, successes[sample : sample + 1], failures[sample : sample + 1]).mapped
            assert together[sample] == pytest.approx(alone[0], abs=1e-6)
