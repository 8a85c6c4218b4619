"""Benjamini and Hochberg's procedure and e-BH: laws, and the false discovery rate that they bound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from projections.stats.false_discovery import FALSE_DISCOVERY_RATE, benjamini_hochberg, e_bh

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)
E_VALUES = st.lists(st.floats(0, 1e6) | st.just(np.inf), min_size=1, max_size=40).map(np.array)


@given(P_VALUES)
def test_adjusted_p_values_are_those_of_scipy(p: np.ndarray) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p), abs=1e-12)


@given(P_VALUES)
def test_an_adjusted_p_value_is_between_p_and_bonferronis(p: np.ndarray) -> None:
    adjusted = benjamini_hochberg(p)
    assert (adjusted >= p - 1e-15).all()
    assert (adjusted <= np.minimum(1, p * len(p)) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all(), "a lower p value is never rejected later"


@given(P_VALUES, st.randoms(use_true_random=False))
def test_the_order_of_hypotheses_does_not_matter(p: np.ndarray, random: object) -> None:
    order = np.arange(len(p))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert (benjamini_hochberg(p[order]) == benjamini_hochberg(p)[order]).all()


@given(P_VALUES, st.integers(1, 5))
def test_a_missing_value_is_no_hypothesis(p: np.ndarray, missing: int) -> None:
    with_missing = np.concatenate([p, np.full(missing, np.nan)])
    adjusted = benjamini_hochberg(with_missing)
    assert (adjusted[: len(p)] == benjamini_hochberg(p)).all()
    assert np.isnan(adjusted[len(p) :]).all()


@given(st.floats(0, 1))
def test_one_hypothesis_is_not_corrected(p: float) -> None:
    assert benjamini_hochberg(np.array([p])).tolist() == [p]


def test_none_is_none() -> None:
    assert len(benjamini_hochberg(np.zeros(0))) == len(e_bh(np.zeros(0))) == 0


@given(E_VALUES, st.sampled_from([0.01, 0.05, 0.2]))
def test_e_bh_rejects_as_wang_and_ramdas_define_it(e: np.ndarray, level: float) -> None:
    m, largest = len(e), np.sort(e)[::-1]
    enough = [k for k in range(1, m + 1) if k * largest[k - 1] / m >= 1 / level]
    rejected = e_bh(e) <= level
    limit = largest[max(enough) - 1] if enough else np.inf
    close = np.isclose(e, limit, rtol=1e-9)
    assert (rejected == (e >= limit))[~close].all()
    assert not rejected.any() or enough


@given(E_VALUES, st.integers(0, 39), st.floats(1, 100))
def test_more_evidence_for_one_withdraws_no_other(e: np.ndarray, place: int, factor: float) -> None:
    more = e.copy()
    more[place % len(e)] *= factor
    assert (e_bh(more) <= e_bh(e) + 1e-12).all()


def test_the_false_discovery_rate_holds() -> None:
    """Of 20 hypotheses, five are false: at most 5% of the rejections are of true ones, on average."""
    rng = np.random.default_rng(1995)
    z = rng.normal(size=(4_000, 20)) + np.where(np.arange(20) < 5, 3.0, 0.0)
    share = [np.zeros(0)] * 2
    for number, values in enumerate((2 * stats.norm.sf(np.abs(z)), np.exp(3 * np.abs(z) - 4.5) / 2)):
        adjust = (benjamini_hochberg, e_bh)[number]
        rejected = np.array([adjust(row) for row in values]) <= FALSE_DISCOVERY_RATE
        share[number] = rejected[:, 5:].sum(axis=1) / np.maximum(1, rejected.sum(axis=1))
    assert 0.025 < share[0].mean() <= 0.05
    assert share[1].mean() <= 0.05
