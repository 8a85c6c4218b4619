"""Shares with clusters, and Spearman's correlation against scipy."""

import numpy as np
import pytest
from scipy import stats

from projections.stats.clustered_share import effective_number, share_interval
from projections.stats.intervals import wilson_interval
from projections.stats.rank_correlation import rank_correlation


def test_independent_answers_have_wilsons_interval() -> None:
    values = np.array([1.0] * 13 + [0.0] * 7)
    found, expected = share_interval(values, np.arange(20)), wilson_interval(13, 20)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_copies_count_once() -> None:
    values = np.repeat([1.0] * 13 + [0.0] * 7, 5)
    found, expected = share_interval(values, np.repeat(np.arange(20), 5)), wilson_interval(13, 20)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.005)
    assert effective_number(values, np.zeros(100, dtype=np.int64)) == 1


def test_without_answers_nothing_is_known() -> None:
    assert share_interval(np.zeros(0), np.zeros(0, dtype=np.int64)) is None
    assert effective_number(np.zeros(0), np.zeros(0, dtype=np.int64)) == 0


def test_the_correlation_of_ranks_is_scipys_also_with_ties() -> None:
    rng = np.random.default_rng(3)
    for n in (5, 40, 400):
        first, second = rng.integers(0, 9, n).astype(float), rng.integers(0, 2, n).astype(float)
        found = rank_correlation(first, second)
        assert found is not None
        assert found.rho == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)


def test_the_correlation_of_a_constant_is_unknown() -> None:
    assert rank_correlation(np.ones(9), np.arange(9.0)) is None
    assert rank_correlation(np.ones(1), np.ones(1)) is None


def test_its_interval_covers_no_correlation_in_95_of_100_samples() -> None:
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(2_000):
        found = rank_correlation(rng.random(60), (rng.random(60) < 0.4).astype(float))
        assert found is not None
        assert found.interval is not None
        covered += found.interval.low <= 0 <= found.interval.high
    assert 0.94 <= covered / 2_000 <= 0.96
