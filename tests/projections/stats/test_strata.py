"""Strata and their weights, distances of distributions, and random samples: laws and known values."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2_contingency, chisquare, fisher_exact

from projections.stats.distribution_difference import compare_distributions
from projections.stats.random_sample import draw_sample
from projections.stats.strata import (
    NO_STRATUM,
    Observations,
    make_strata,
    quantile_bins,
    weigh_strata,
    weighted_rate_interval,
)

cells = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=60)


@given(cells, st.integers(1, 5), st.floats(0.05, 1))
def test_a_stratum_has_enough_observed_units_of_one_kind(
    rows: list[tuple[int, int, int]], observed_min: int, span: float
) -> None:
    unit, bin_number, observed = (np.array(column) for column in zip(*rows, strict=True))
    value = np.linspace(0, 1, 10)
    strata = make_strata(Observations(unit, bin_number, observed.astype(np.float64), value), observed_min, span)
    for stratum in set(strata.tolist()) - {NO_STRATUM}:
        inside = strata == stratum
        assert len(set(unit[inside].tolist())) == 1
        assert observed[inside].sum() >= observed_min
        bins = value[bin_number[inside]]
        assert bins.max() - bins.min() <= 3 * span + 1e-9
    for place in np.flatnonzero(strata == NO_STRATUM):
        near = (unit == unit[place]) & (bin_number == bin_number[place])
        assert observed[near].sum() < observed_min, "a bin with enough of its own is a stratum"


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 50)), min_size=1, max_size=80), st.integers(1, 20))
def test_bins_ascend_and_equal_values_share_one(rows: list[tuple[float, int]], bins: int) -> None:
    values, counts = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    number = quantile_bins(values, counts, bins)
    order = np.argsort(values, kind="stable")
    steps = np.diff(number[order])
    assert number.min() == 0
    assert number.max() < bins
    assert set(steps.tolist()) <= {0, 1}
    assert (steps[np.diff(values[order]) == 0] == 0).all()


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=20))
def test_weights_sum_to_one(rows: list[tuple[int, int]]) -> None:
    observed = np.array([each for each, _ in rows], dtype=np.float64)
    total = observed + np.array([rest for _, rest in rows])
    weights = weigh_strata(total, observed)
    assert weights is not None
    assert (weights.weight * observed).sum() == pytest.approx(1)
    assert weights.effective_n <= observed.sum() + 1e-9
    assert weights.represented == total.sum()


def test_weights_without_strata() -> None:
    assert weigh_strata(np.zeros(0), np.zeros(0)) is None


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 10), (10, 10), (57, 80), (90, 150)])
def test_the_interval_at_a_whole_number_is_that_of_clopper_and_pearson(count: int, n: int) -> None:
    found = weighted_rate_interval(count / n, n)
    exact = binomtest(count, n).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_the_test_is_pearsons() -> None:
    first, second = np.array([30.0, 50.0, 20.0]), np.array([60.0, 40.0, 50.0])
    found = compare_distributions(first, second)
    assert found is not None
    assert found.p == pytest.approx(chi2_contingency(np.stack([first, second]), correction=False).pvalue)
    assert found.distance == pytest.approx(0.5 - 40 / 150)


def test_rare_classes_are_tested_by_permutation() -> None:
    """A rare class that is in one sample alone gets a small p value, which is near that of Fisher's exact test."""
    apart = compare_distributions(np.array([8.0, 0.0]), np.array([0.0, 192.0]))
    assert apart is not None
    assert apart.p == pytest.approx(1 / 1001)
    first, second = np.array([3.0, 7.0]), np.array([20.0, 180.0])
    found = compare_distributions(first, second)
    assert found is not None
    assert found.p == pytest.approx(fisher_exact([first, second]).pvalue, abs=0.03)


@pytest.mark.slow
def test_many_rare_classes_differ_seldom_by_chance() -> None:
    rng = np.random.default_rng(1)
    p = []
    for _ in range(400):
        classes = rng.multinomial(300, np.full(60, 1 / 60))
        first = rng.multivariate_hypergeometric(classes, 30)
        found = compare_distributions(first.astype(np.float64), (classes - first).astype(np.float64))
        assert found is not None
        assert found.p is not None
        p.append(found.p)
    assert np.mean(np.array(p) < 0.05) <= 0.075
    assert np.mean(np.array(p) < 0.005) <= 0.0125


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30).filter(
        lambda rows: all(sum(column) for column in zip(*rows, strict=True))
    )
)
def test_a_distance_and_a_p_value_are_between_0_and_1(rows: list[tuple[int, int]]) -> None:
    first, second = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    found = compare_distributions(first, second)
    assert found is not None
    assert 0 <= found.distance <= 1 + 1e-9
    assert found.p is None or 0 <= found.p <= 1
    assert compare_distributions(first, np.zeros(len(first))) is None


@given(st.integers(0, 200), st.integers(0, 60), st.integers(0, 2**53 - 1))
def test_a_sample_has_different_members_and_grows(population: int, size: int, seed: int) -> None:
    drawn = draw_sample(population, size, seed)
    assert len(set(drawn)) == len(drawn) == min(population, size)
    assert all(0 <= number < population for number in drawn)
    assert draw_sample(population, size + 5, seed)[: len(drawn)] == drawn


def test_every_member_is_drawn_equally_often() -> None:
    counts = Counter(number for seed in range(4000) for number in draw_sample(40, 5, seed))
    assert chisquare([counts[number] for number in range(40)]).pvalue > 0.001
    pairs = Counter(tuple(sorted(draw_sample(8, 2, seed))) for seed in range(4000))
    assert chisquare([pairs[i, j] for i in range(8) for j in range(i + 1, 8)]).pvalue > 0.001


def test_a_sample_stays_the_same() -> None:
    """Published: a seed names the same decisions in every version."""
    assert draw_sample(1000, 5, 7) == [427, 741, 578, 56, 659]
    assert draw_sample(3, 3, 0) == [1, 2, 0]
