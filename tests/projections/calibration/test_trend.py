"""Windows that roll over time: what is in each, against a plain count; and how many there may be."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.clock import microseconds
from projections.calibration.trend import WINDOWS_MAX, compute_trend
from projections.stats.intervals import gap_interval
from tallystick.shapes.history import Trend, Window

DAWN = datetime(2026, 1, 1, tzinfo=UTC)

Decision = tuple[float, float, datetime]
"""Stated confidence, outcome, and when it was made."""

decisions = st.lists(
    st.tuples(
        st.integers(0, 100).map(lambda hundredths: hundredths / 100),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.integers(0, 400 * 24).map(lambda hours: DAWN + timedelta(hours=hours)),
    ),
    max_size=60,
)


def trend_of(reported: list[Decision], days: int = 30) -> Trend:
    reported = sorted(reported, key=lambda one: one[2])
    return compute_trend(
        np.array([c for c, _, _ in reported], dtype=np.float64),
        np.array([o for _, o, _ in reported], dtype=np.float64),
        np.array([microseconds(at) for _, _, at in reported], dtype=np.int64),
        days,
    )


def check(window: Window, reported: list[Decision]) -> None:
    inside = [one for one in reported if window.since <= one[2] < window.until]
    n = len(inside)
    assert window.reviewed == n
    if n == 0:
        assert window == Window(since=window.since, until=window.until, reviewed=0)
        return
    worth, stated = sum(o for _, o, _ in inside), sum(c for c, _, _ in inside)
    assert window.brier_score == pytest.approx(sum((c - o) ** 2 for c, o, _ in inside) / n, abs=1e-12)
    assert window.accuracy == worth / n
    assert window.mean_confidence == pytest.approx(stated / n, abs=1e-12)
    assert window.gap == pytest.approx((worth - stated) / n, abs=1e-12)
    assert window.gap is not None
    assert window.gap_interval is not None
    expected = gap_interval(worth, n, stated / n)
    assert (window.gap_interval.low, window.gap_interval.high) == pytest.approx((expected.low, expected.high))
    assert window.gap_interval.low - 1e-12 <= window.gap <= window.gap_interval.high + 1e-12


@given(decisions, st.integers(1, 500))
def test_every_decision_is_counted_where_it_belongs(reported: list[Decision], days: int) -> None:
    found = trend_of(reported, days)
    assert (found.windows == ()) is (reported == [])
    for window in found.windows:
        assert window.until - window.since == timedelta(days=days)
        check(window, reported)
    if reported:
        first, last = min(at for _, _, at in reported), max(at for _, _, at in reported)
        assert found.windows[0].since == first
        assert found.windows[-1].since <= last < found.windows[-1].until
        assert all(window.until <= last for window in found.windows[:-1])
        assert len(found.windows) <= WINDOWS_MAX


def test_windows_step_by_a_third_of_their_length() -> None:
    found = trend_of([(0.9, 1.0, DAWN + timedelta(days=day)) for day in range(100)])
    assert (found.days, found.step_days) == (30, 10)
    assert [window.since for window in found.windows] == [DAWN + timedelta(days=10 * step) for step in range(8)]
    assert [window.reviewed for window in found.windows] == [30] * 8


def test_a_window_ends_before_the_next_one_in_line_begins() -> None:
    edge = [(0.9, 1.0, DAWN), (0.9, 0.0, DAWN + timedelta(days=30))]
    assert [window.reviewed for window in trend_of(edge).windows] == [1, 1]
    assert trend_of(edge).windows[1].accuracy == 0.0


def test_a_long_history_is_shown_in_larger_steps() -> None:
    found = trend_of([(0.5, 1.0, DAWN + timedelta(days=day)) for day in range(0, 4_000, 7)])
    assert len(found.windows) == WINDOWS_MAX
    assert found.step_days > 10
    assert found.windows[-1].until > DAWN + timedelta(days=3_997)


def test_times_from_the_first_to_the_last_there_can_be() -> None:
    ends = [datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    found = trend_of([(0.5, 1.0, at) for at in ends])
    assert len(found.windows) == WINDOWS_MAX
    assert (found.windows[0].since, found.windows[-1].until) == tuple(ends)
    assert sum(window.reviewed for window in found.windows) >= 1
