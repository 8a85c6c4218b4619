"""The interval of a weighted mean: by hand, in its limits, and as laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.stats.intervals import mean_score_interval, weighted_mean_interval
from tallystick.shapes.parts import Interval

points = st.lists(st.floats(0, 100), min_size=1, max_size=12)


def interval(values: list[float], weights: list[float]) -> tuple[float, Interval | None]:
    return weighted_mean_interval(np.array(values), np.array(weights), 0.0, 100.0)


def test_weights_make_values_worth_fewer_alike_ones() -> None:
    mean, found = interval([80, 60, 50, 50], [2, 1, 1, 1])
    # worth (2+1+1+1)^2 / (4+1+1+1) = 25/7; variance (2*16^2 + 4^2 + 2*14^2) / 5 = 184; t of 18/7 degrees: 3.5046
    half = 3.504604 * (184 / (25 / 7 - 1)) ** 0.5
    assert mean == pytest.approx(64)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([64 - half, 64 + half], rel=1e-5)


@pytest.mark.parametrize(
    ("values", "weights", "found"),
    [
        ([50.0], [1.0], None),
        ([50.0, 50.0, 50.0], [1.0, 2.0, 3.0], None),
        ([0.0, 100.0], [1.0, 1.0], Interval(0, 100)),
        ([40.0, 60.0], [1.0, 1e6], Interval(0, 100)),
        ([40.0, 60.0], [1e-300, 1.0], Interval(0, 100)),
    ],
)
def test_the_limits(values: list[float], weights: list[float], found: Interval | None) -> None:
    assert interval(values, weights)[1] == found


@given(values=points, weight=st.sampled_from((1e-9, 0.25, 1.0, 1e6)))
def test_like_weights_give_student_s_interval(values: list[float], weight: float) -> None:
    mean, found = interval(values, [weight] * len(values))
    assert mean == pytest.approx(np.mean(values))
    spread = float(np.std(values, ddof=1)) / 100 if len(values) > 1 else 0.0
    plain = mean_score_interval(float(np.mean(values)) / 100, spread, len(values))
    if found is not None and plain is not None:
        assert [found.low, found.high] == pytest.approx([100 * plain.low, 100 * plain.high])


@given(values=points, weights=st.lists(st.floats(1e-3, 1e3), min_size=12, max_size=12))
def test_an_interval_holds_its_mean_and_knows_no_order(values: list[float], weights: list[float]) -> None:
    weights = weights[: len(values)]
    mean, found = interval(values, weights)
    assert (mean, found) == interval(values[::-1], weights[::-1])
    if found is not None:
        assert 0 <= found.low <= mean + 1e-9
        assert mean - 1e-9 <= found.high <= 100
