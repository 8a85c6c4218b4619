"""Gaps of small groups, drawn towards the whole: laws, and less error than the bare ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.calibration.calibration_view import shrink_gaps

groups = st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.integers(1, 10_000)), min_size=2, max_size=20)


@given(groups)
def test_a_shrunk_gap_lies_between_its_own_and_that_of_all(rows: list[tuple[float, float, int]]) -> None:
    gap, variance, n = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    found = shrink_gaps(gap, variance * n, n)
    assert found is not None
    overall = (n * gap).sum() / n.sum()
    assert ((found.weight >= 0) & (found.weight <= 1)).all()
    low, high = np.minimum(gap, overall), np.maximum(gap, overall)
    assert ((found.gap >= low - 1e-12) & (found.gap <= high + 1e-12)).all()
    order = np.argsort(n, kind="stable")
    assert (np.diff(found.weight[order]) >= -1e-12).all(), "the more reviews, the more weight"


def test_the_weight_is_the_one_of_the_formula() -> None:
    gap, n = np.array([0.0, -0.2, 0.1]), np.array([100.0, 50.0, 10.0])
    found = shrink_gaps(gap, 0.16 * (n - 1), n)
    assert found is not None
    sigma2 = 0.16 * (n - 1).sum() / (n.sum() - 3)
    overall, w = (n * gap).sum() / n.sum(), n / sigma2
    tau2 = ((w * (gap - overall) ** 2).sum() - 2) / (w.sum() - (w**2).sum() / w.sum())
    assert tau2 > 0
    assert found.weight == pytest.approx(tau2 / (tau2 + sigma2 / n), abs=1e-12)
    assert found.gap == pytest.approx(found.weight * gap + (1 - found.weight) * overall, abs=1e-12)


def test_one_group_has_nothing_to_be_drawn_towards() -> None:
    assert shrink_gaps(np.array([0.1]), np.array([1.0]), np.array([9.0])) is None


def test_groups_of_one_review_each_are_the_whole() -> None:
    found = shrink_gaps(np.array([0.5, -0.5]), np.zeros(2), np.ones(2))
    assert found is not None
    assert found.gap.tolist() == [0, 0]


def test_groups_without_any_chance_in_them_keep_their_gaps() -> None:
    found = shrink_gaps(np.array([0.5, -0.5]), np.zeros(2), np.full(2, 7.0))
    assert found is not None
    assert (found.gap.tolist(), found.weight.tolist()) == ([0.5, -0.5], [1, 1])


@pytest.mark.parametrize("differ", [0.0, 0.05, 0.2])
def test_shrunk_gaps_are_nearer_to_the_truth(differ: float) -> None:
    """Than the bare ones, over twelve categories of 5 to 200 reviews, however much the categories differ."""
    rng = np.random.default_rng(8)
    bare = shrunken = 0.0
    for _ in range(200):
        n = rng.integers(5, 200, 12).astype(np.float64)
        truth = rng.normal(-0.05, differ, 12)
        seen = truth + rng.normal(0, 0.4 / np.sqrt(n))
        found = shrink_gaps(seen, 0.16 * (n - 1), n)
        assert found is not None
        bare += ((seen - truth) ** 2).sum()
        shrunken += ((found.gap - truth) ** 2).sum()
    assert shrunken < bare
