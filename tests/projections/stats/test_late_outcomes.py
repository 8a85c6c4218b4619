"""Shares by a time, where some are too young to tell: answers worked out by hand, of which lifelines gives the same."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from projections.stats.intervals import wilson_interval
from projections.stats.late_outcomes import CENSORED, ShareByTime, incidence, kaplan_meier
from tallystick.shapes.parts import Interval

REVERTED, FIXED = 1, 2


class Change(NamedTuple):
    """A change: the day on which it landed, and the day and the cause of its failure."""

    landed: int
    failed: int = 0
    cause: int = CENSORED


A = [
    Change(0, 2, REVERTED), Change(1, 6, FIXED), Change(12, 20, FIXED),
    *map(Change, (3, 4, 5, 6, 6, 14, 17)),
]  # fmt: skip
B = np.array([1, 1, 2, 2, 3, 4, 7, 9, 14, 14, 14, 14]), np.array([1, 0, 2, 2, 0, 1, 0, 2, 0, 0, 0, 0])


def seen(changes: list[Change], today: int) -> tuple[np.ndarray, np.ndarray]:
    """The days from landing to failure, or to a day; and the causes."""
    rows = [
        (failed - landed, cause) if cause and failed <= today else (today - landed, CENSORED)
        for landed, failed, cause in changes
        if landed <= today
    ]
    time, cause = np.array(rows).T
    return time, cause


def close(found: float, exact: Fraction) -> bool:
    return found == pytest.approx(float(exact), abs=1e-12)


def ends(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    return found.low, found.high


def test_ten_changes_at_day_20() -> None:
    changes = seen(A, 20)
    for day, rate in ((2, Fraction(9, 10)), (5, Fraction(63, 80)), (8, Fraction(21, 32)), (14, Fraction(21, 32))):
        assert close(kaplan_meier(*changes, day).rate, rate)
    found = kaplan_meier(*changes, 14)
    assert close(found.variance, Fraction(1099, 40960))
    assert found.effective_n == pytest.approx(8.407643, abs=1e-6)
    assert ends(found.interval) == pytest.approx((0.336790, 0.877706), abs=1e-6)
    assert close(incidence(*changes, REVERTED, 14).rate, Fraction(1, 10))
    assert close(incidence(*changes, FIXED, 14).rate, Fraction(39, 160))


def test_the_matured_ones_of_them_are_a_plain_share() -> None:
    """Those that landed 14 days ago or longer: five of seven were kept."""
    changes = [change for change in A if change.landed + 14 <= 20]
    kept = [change for change in changes if not change.cause or change.failed > change.landed + 14]
    assert (len(kept), len(changes)) == (5, 7)
    assert ends(wilson_interval(5, 7)) == pytest.approx((0.358934, 0.917781), abs=1e-6)
    time, cause = (column[np.array([change in changes for change in A])] for column in seen(A, 20))
    assert close(kaplan_meier(time, cause, 14).rate, Fraction(5, 7)), "nothing is censored before"


def test_with_few_at_risk_there_is_no_interval() -> None:
    early = seen(A, 6)
    assert close(kaplan_meier(*early, 2).rate, Fraction(3, 4))
    assert kaplan_meier(*early, 2).interval is None
    assert kaplan_meier(*early, 5)[::2] == (0.0, 1)
    assert kaplan_meier(np.full(4, 3), np.zeros(4, dtype=np.int64), 3).interval is None


def test_events_come_before_censorings_at_the_same_time() -> None:
    survival = [(1, Fraction(11, 12)), (2, Fraction(11, 15)), (4, Fraction(22, 35)), (9, Fraction(88, 175))]
    for day, rate in survival:
        assert close(kaplan_meier(*B, day).rate, rate)
    assert close(incidence(*B, REVERTED, 14).rate, Fraction(79, 420))
    assert close(incidence(*B, FIXED, 14).rate, Fraction(649, 2100))
    found = kaplan_meier(*B, 9)
    assert close(found.variance, Fraction(86504, 3215625))
    assert found.effective_n == pytest.approx(9.292981, abs=1e-6)
    assert ends(found.interval) == pytest.approx((0.231621, 0.772422), abs=1e-6)
    assert kaplan_meier(*B, 14)[:2] == found[:2]


def test_without_an_event_those_at_risk_count() -> None:
    found = kaplan_meier(np.full(20, 14), np.zeros(20, dtype=np.int64), 14)
    assert (found, found.effective_n) == (ShareByTime(1.0, 0.0, 20), 20)
    assert ends(found.interval) == pytest.approx((0.838875, 1), abs=1e-6)


def test_an_event_on_a_day_counts_by_it() -> None:
    """The textbook's interval, exp(-exp(log(-log S) ± 1.96 se)), is .057847 to .844861 there."""
    found = kaplan_meier(np.array([5, 14, 14, 20]), np.array([FIXED, FIXED, CENSORED, CENSORED]), 14)
    assert close(found.rate, Fraction(1, 2))
    log_rate = np.log(found.rate)
    half = 1.959964 * np.sqrt(found.variance) / (found.rate * abs(log_rate))
    textbook = np.exp(-np.exp(np.log(-log_rate) + np.array([half, -half])))
    assert tuple(textbook) == pytest.approx((0.057847, 0.844861), abs=1e-6)


def test_the_variance_of_an_incidence_is_that_of_resamples() -> None:
    """300 with two causes and ages of 5 to 60 days: the standard deviation over 2,000 resamples."""
    rng = np.random.default_rng(4)
    age, delay, cause = rng.integers(5, 60, 300), rng.integers(1, 90, 300), rng.integers(1, 3, 300)
    time, cause = np.minimum(age, delay), np.where(delay <= age, cause, CENSORED)
    found = incidence(time, cause, FIXED, 30)
    samples = rng.integers(0, 300, (2_000, 300))
    spread = np.std([incidence(time[rows], cause[rows], FIXED, 30).rate for rows in samples])
    assert np.sqrt(found.variance) == pytest.approx(spread, rel=0.05)


def test_a_share_that_is_1_but_for_rounding_has_the_interval_of_those_at_risk() -> None:
    """Events at seven times of 30, and every one has had its event."""
    time = np.repeat(np.arange(1, 8), [3, 3, 3, 3, 3, 3, 12])
    for share in (incidence(time, np.ones(30, np.int64), 1, 7), kaplan_meier(time, np.ones(30, np.int64), 7)):
        assert share.effective_n == 12
        assert share.interval is not None
        assert share.interval.low <= share.rate <= share.interval.high
