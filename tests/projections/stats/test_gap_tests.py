"""Tests of gaps say what the intervals of gaps say."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from projections.stats.gap_tests import gap_p_values, margin_p_values, reviews_at_level
from projections.stats.intervals import gap_interval, supports


@given(st.integers(1, 400), st.floats(0, 1), st.floats(0, 1))
@example(100, 0.1, 0.9)
@example(20, 1.0, 1.0)
@example(20, 0.95, 1.0)
@example(20, 0.0, 0.0)
def test_p_is_at_most_5_percent_where_the_interval_supports_the_verdict(n: int, rate: float, stated: float) -> None:
    outcome_sum = round(2 * rate * n) / 2
    interval = gap_interval(outcome_sum, n, stated)
    columns = np.array([outcome_sum]), np.array([float(n)]), np.array([stated])
    (off,), (within,) = gap_p_values(*columns), margin_p_values(*columns)
    if abs(off - 0.05) > 1e-9:
        assert (off < 0.05) == (supports("over", interval) or supports("under", interval))
    if abs(within - 0.05) > 1e-9:
        assert (within < 0.05) == supports("well", interval)


def test_calibrated_rows_have_p_below_5_percent_in_at_most_a_twentieth() -> None:
    """Exact below 100 reviews; about 5% on average from there on. Confidences differ within a row."""
    rng = np.random.default_rng(16)
    for n, most in ((10, 0.05), (50, 0.05), (99, 0.05), (100, 0.055), (400, 0.055)):
        c = rng.choice([0.6, 0.8, 0.9, 0.95, 0.99], (8_000, n))
        o = rng.random(c.shape) < c
        p = gap_p_values(o.sum(axis=1).astype(float), np.full(8_000, float(n)), c.mean(axis=1))
        assert (p <= 0.05).mean() <= most


def test_the_reviews_that_reach_a_level() -> None:
    enough = reviews_at_level(gap_p_values, 0.7, 40, 0.8, 0.01)
    assert enough is not None
    for more, reached in ((enough, True), (int(enough * 0.9), False)):
        n = 40.0 + more
        assert (gap_p_values(np.array([0.7 * n]), np.array([n]), np.array([0.8]))[0] <= 0.01) == reached
    assert reviews_at_level(gap_p_values, 0.8, 40, 0.8, 0.05) is None
    assert reviews_at_level(margin_p_values, 0.8, 40, 0.8, 0.05) == pytest.approx(50, abs=10)
