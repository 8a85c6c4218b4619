"""Sign flips: the exact test against others' tests, and its interval against its own p values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from projections.stats.sign_flips import sign_flip_mean, sign_flip_p_value

SUMS = st.lists(st.integers(-5, 5), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("lost", "won", "p"),
    [
        (0, 5, 0.0625),
        (5, 0, 0.0625),
        (1, 8, 0.0390625),
        (0, 0, 1.0),
        (1, 1, 1.0),
        (2, 3, 1.0),
        (0, 1, 1.0),
        (10, 0, 2**-9),
    ],
)
def test_mcnemar_is_exact(lost: int, won: int, p: float) -> None:
    assert sign_flip_p_value(np.array([-1] * lost + [1] * won, dtype=np.int64)) == pytest.approx(p)


@given(lost=st.integers(0, 200), won=st.integers(0, 200), alike=st.integers(0, 9))
def test_with_single_observations_it_is_mcnemars_test(lost: int, won: int, alike: int) -> None:
    expected = stats.binomtest(lost, lost + won, 0.5).pvalue if lost + won else 1.0
    assert sign_flip_p_value(np.array([-1] * lost + [0] * alike + [1] * won)) == pytest.approx(expected)


@given(SUMS)
def test_every_flip_is_counted(sums: list[int]) -> None:
    totals = [
        sum(s * a for s, a in zip(signs, sums, strict=True)) for signs in itertools.product([-1, 1], repeat=len(sums))
    ]
    expected = np.mean([abs(total) >= abs(sum(sums)) for total in totals])
    assert sign_flip_p_value(np.array(sums)) == pytest.approx(expected)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.integers(0, 2**32 - 1))
def test_the_interval_excludes_0_where_p_is_at_most_5_percent(values: list[float], seed: int) -> None:
    sums = np.array(values)
    sizes = np.random.default_rng(seed).integers(1, 5, len(values)).astype(float)
    interval, p = sign_flip_mean(sums, sizes, -1.0, 1.0)
    if p > 0.05:
        assert interval.low <= 1e-12
        assert interval.high >= -1e-12
    else:
        assert interval.low > 0 or interval.high < 0


def test_fewer_than_six_units_show_nothing() -> None:
    for units in (2, 5):
        interval, p = sign_flip_mean(np.full(units, 0.3), np.ones(units), -1.0, 1.0)
        assert (interval.low, interval.high, p) == (-1, 1, 2 / 2**units)
    interval, p = sign_flip_mean(np.full(6, 0.3), np.ones(6), -1.0, 1.0)
    assert (interval.low, interval.high, p) == (0.3, 0.3, 2 / 64)


@pytest.mark.slow
@pytest.mark.parametrize("units", [8, 12, 14, 25])
def test_the_interval_covers_the_mean_of_symmetric_units(units: int) -> None:
    rng = np.random.default_rng(units)
    sizes = rng.integers(1, 6, units).astype(float)
    histories = 600
    covered = 0
    for _ in range(histories):
        interval, _ = sign_flip_mean(sizes * (0.2 + rng.normal(0, 0.1, units)), sizes, -1.0, 1.0)
        covered += interval.low <= 0.2 <= interval.high
    assert 0.93 * histories < covered < 0.98 * histories
