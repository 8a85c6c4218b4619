"""Verdicts on many rows at once: how often calibrated categories are called off, and how often bad ones are found."""

from collections.abc import Iterator

import numpy as np
import pytest

from projections.calibration.row_support import RowMeans, gap_sides, select_rows, support_rows
from projections.calibration.scores import gap_side, judge_gap
from projections.stats.false_discovery import e_bh

CATEGORIES = 20
DISTRIBUTIONS = {
    "heaped": [0.8, 0.9, 0.95],
    "all .8": [0.8],
    "all .99": [0.99],
    "uniform": np.linspace(0.5, 1, 51).tolist(),
    "low": [0.1, 0.3, 0.5],
}


def tables(levels: list[float], n: int, histories: int, off: float = 0.0, bad: int = 0) -> Iterator[RowMeans]:
    """Yield tables of 20 categories with n reviews each, of which the first `bad` have a true gap of `off`."""
    rng = np.random.default_rng(n)
    for _ in range(histories):
        c = rng.choice(levels, (CATEGORIES, n))
        truth = np.clip(c + np.where(np.arange(CATEGORIES) < bad, off, 0.0)[:, np.newaxis], 0, 1)
        o = rng.random(c.shape) < truth
        yield RowMeans(np.full(CATEGORIES, float(n)), o.mean(axis=1), c.mean(axis=1))


def surely_off(means: RowMeans) -> np.ndarray:
    """Return the rows that are printed as over- or underconfident without a question mark."""
    sides = gap_sides(means.gap)
    found: np.ndarray = support_rows(sides, means).supported & (sides != "well")
    return found


@pytest.mark.parametrize("levels", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500])
def test_twenty_calibrated_categories_have_a_sure_row_in_at_most_5_percent(levels: list[float], n: int) -> None:
    histories = 500
    called = sum(surely_off(means).any() for means in tables(levels, n, histories))
    assert called / histories <= 0.05 + 0.02, "two standard errors of 500 histories"


@pytest.mark.slow
@pytest.mark.parametrize("levels", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS.keys())
@pytest.mark.parametrize("n", [20, 50, 100, 200, 500])
def test_twenty_calibrated_categories_in_many_histories(levels: list[float], n: int) -> None:
    histories = 4_000
    called = sum(surely_off(means).any() for means in tables(levels, n, histories))
    assert called / histories <= 0.055, "5%, and a standard error and a half"


@pytest.mark.parametrize("off", [-0.15, 0.15])
@pytest.mark.parametrize("level", [0.65, 0.8])
def test_five_bad_categories_of_twenty_are_found(level: float, off: float) -> None:
    found = np.array([surely_off(means) for means in tables([level], 200, 800, off, bad=5)])
    share = found[:, 5:].sum(axis=1) / np.maximum(1, found.sum(axis=1))
    assert share.mean() <= 0.05
    assert found[:, :5].mean() >= 0.90


def test_sides_are_those_of_the_verdicts() -> None:
    gaps = np.concatenate([np.linspace(-1, 1, 401), [-0.05, 0.05, 0.0, 0.1, -0.1]])
    assert gap_sides(gaps).tolist() == [gap_side(judge_gap(gap)) for gap in gaps.tolist()]


def test_one_row_is_supported_by_its_own_interval() -> None:
    means = RowMeans(np.array([200.0]), np.array([0.7]), np.array([0.8]))
    assert support_rows(gap_sides(means.gap), means).supported.tolist() == [True]


def test_a_row_that_is_off_among_nineteen_needs_more() -> None:
    """Its own interval excludes 0 (p = .03); of twenty such rows one does by chance."""
    accuracy = np.array([0.74] + [0.8] * 19)
    means = RowMeans(np.full(20, 200.0), accuracy, np.full(20, 0.8))
    support = support_rows(gap_sides(means.gap), means)
    assert support.supported.tolist() == [False] + [True] * 19
    assert support.level[0] == pytest.approx(0.05 / 20)


def test_e_values_select_rows_too() -> None:
    gap = np.array([-0.2, -0.2, 0.2, 0.0])
    off, within = np.array([500.0, 20.0, 70.0, 1.0]), np.array([0.0, 0.0, 0.0, 90.0])
    found = select_rows(gap_sides(gap), gap, off, within, e_bh).supported
    assert found.tolist() == [True, False, True, True]
    assert not select_rows(np.array(["under"] * 4), -np.abs(gap), off, within, e_bh).supported.any()
