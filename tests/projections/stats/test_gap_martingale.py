"""Evidence that holds at every look: how often it is wrong, how soon it is found, in simulated histories.

Seeds are fixed. Each number that the documents state is measured here.
"""

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter
from scipy.special import ndtri

from projections.arrays import Floats
from projections.calibration.scores import judge_gap
from projections.stats.autocorrelation import REVIEWS_MIN, estimate_autocorrelation
from projections.stats.gap_martingale import (
    FRACTIONS,
    LOG_SUPPORTED,
    ROUNDED,
    log_e_values,
    log_factors_over,
    log_factors_under,
    log_mean_exp,
)
from projections.stats.gap_sequence import gap_sequence, log_factors_above
from projections.stats.intervals import GAP_MARGIN
from tests.projections.stats.evidence import running_log_e_values

LOOKS = 1_000
HISTORIES = 1_000

Stating = Callable[[np.random.Generator, int], Floats]

STATING: dict[str, Stating] = {
    "heaped": lambda rng, n: rng.choice([0.8, 0.9, 0.95], n),
    "all .8": lambda _, n: np.full(n, 0.8),
    "all .99": lambda _, n: np.full(n, 0.99),
    "beta(8,2)": lambda rng, n: rng.beta(8, 2, n),
    "beta(2,2)": lambda rng, n: rng.beta(2, 2, n),
    "uniform": lambda rng, n: rng.random(n),
    "beta and heaps": lambda rng, n: np.where(rng.random(n) < 0.5, rng.beta(8, 2, n), rng.choice([0.5, 0.99], n)),
    "sure or not": lambda rng, n: rng.choice([0.02, 0.6, 0.98], n),
}


def ever_supported(confidence: Floats, outcome: Floats) -> int | None:
    """The look at which a verdict of over- or underconfidence is first shown as supported; None if never."""
    gap = np.cumsum(outcome - confidence) / np.arange(1, len(confidence) + 1)
    over, under = (np.maximum.accumulate(logs) >= LOG_SUPPORTED for logs in running_log_e_values(confidence, outcome))
    shown = np.flatnonzero((over & (gap <= -0.05)) | (under & (gap >= 0.05)))
    return int(shown[0]) + 1 if len(shown) else None


def draw(chance: Floats, rng: np.random.Generator) -> Floats:
    return (rng.random(chance.shape) < chance).astype(float)


def clustered(rng: np.random.Generator, n: int) -> Floats:
    """Standard normal values in clusters of ten with a correlation of .3."""
    shared, own = np.repeat(rng.normal(size=n // 10), 10), rng.normal(size=n)
    values: Floats = np.sqrt(0.3) * shared + np.sqrt(0.7) * own
    return values


def autoregressive(rng: np.random.Generator, n: int) -> Floats:
    """Standard normal values, each with a correlation of .5 with the one before."""
    values: Floats = np.array(lfilter([1], [1, -0.5], rng.normal(size=n + 50) * np.sqrt(0.75))[50:])
    return values


DEPENDENT = {"clusters": clustered, "autoregression": autoregressive}


@pytest.mark.defect(1)
@pytest.mark.parametrize("name", STATING)
def test_a_calibrated_agent_is_hardly_ever_called_off_in_1000_looks(name: str) -> None:
    """At most 5% of histories have a false supported verdict at any of 1,000 looks. One-look intervals: up to 31%."""
    rng = np.random.default_rng([16, len(name)])
    false = 0
    for _ in range(HISTORIES):
        confidence = STATING[name](rng, LOOKS)
        false += ever_supported(confidence, draw(confidence, rng)) is not None
    assert false / HISTORIES <= 0.05


@pytest.mark.defect(1)
@pytest.mark.parametrize("name", ["heaped", "beta(8,2)"])
def test_a_gap_of_a_tenth_is_found_in_110_reviews(name: str) -> None:
    """In the median history, although one may look after each review."""
    rng = np.random.default_rng([110, len(name)])
    found = []
    for _ in range(HISTORIES):
        confidence = STATING[name](rng, 600)
        found.append(ever_supported(confidence, draw(np.maximum(confidence - 0.1, 0), rng)) or 601)
    assert np.median(found) <= 110


@pytest.mark.slow
@pytest.mark.parametrize("name", STATING)
def test_the_confidence_sequence_contains_the_gap_at_every_look(name: str) -> None:
    """In at least 95% of histories, also if the gap changes with the confidence and with time."""
    rng = np.random.default_rng([95, len(name)])
    missed = 0
    for history in range(200):
        confidence = STATING[name](rng, LOOKS)
        shift = (0.0, -0.1, 0.05)[history % 3] * np.where(np.arange(LOOKS) < 300, 1, 1 - confidence)
        chance = np.clip(confidence + shift, 0, 1)
        d = draw(chance, rng) - confidence
        sums, squares, n = np.cumsum(d), np.cumsum(d**2), np.arange(1, LOOKS + 1)
        truth = np.cumsum(chance - confidence) / n
        found = [gap_sequence(int(n[i]), sums[i], squares[i]) for i in range(0, LOOKS, 9)]
        missed += any(not one.low <= truth[9 * i] <= one.high for i, one in enumerate(found))
    assert missed / 200 <= 0.05


def test_a_calibrated_agent_is_called_so() -> None:
    """The interval is within the margin after 400 reviews stated around .9, and after 600 at .8."""
    rng = np.random.default_rng(600)
    for name, n in (("heaped", 400), ("all .8", 600)):
        within = 0
        for _ in range(200):
            confidence = STATING[name](rng, n)
            d = draw(confidence, rng) - confidence
            found = gap_sequence(n, d.sum(), (d**2).sum())
            within += -GAP_MARGIN <= found.low <= found.high <= GAP_MARGIN
        assert within / 200 >= 0.9


@pytest.mark.defect(1)
@pytest.mark.parametrize("dependence", [*DEPENDENT, "none"])
@pytest.mark.parametrize("name", ["heaped", "beta(8,2)"])
def test_dependence_that_is_not_named_raises_a_warning(name: str, dependence: str) -> None:
    """In at least 90% of histories of 500 reviews, and in about 5% of independent ones."""
    rng = np.random.default_rng([90, len(name), len(dependence)])
    warned = 0
    for _ in range(HISTORIES):
        confidence = STATING[name](rng, 500)
        if dependence == "none":
            outcome = draw(confidence, rng)
        else:
            outcome = (DEPENDENT[dependence](rng, 500) < ndtri(confidence)).astype(float)
        (found,) = estimate_autocorrelation(outcome - confidence, np.zeros(500, dtype=np.intp), 1)
        assert found is not None
        warned += found.material
    assert (warned / HISTORIES <= 0.07) if dependence == "none" else (warned / HISTORIES >= 0.9)


def test_dependence_of_groups_is_that_of_each() -> None:
    rng = np.random.default_rng(2)
    group = rng.integers(0, 3, 400)
    difference = rng.normal(size=400)
    together = estimate_autocorrelation(difference, group, 4)
    for number in range(3):
        (alone,) = estimate_autocorrelation(
            difference[group == number], np.zeros((group == number).sum(), dtype=np.intp), 1
        )
        assert alone is not None
        assert together[number] == pytest.approx(alone)
    assert together[3] is None
    few = np.zeros(REVIEWS_MIN - 1, dtype=np.intp)
    assert estimate_autocorrelation(rng.normal(size=REVIEWS_MIN - 1), few, 1) == [None]
    assert estimate_autocorrelation(np.full(50, 0.1), np.zeros(50, dtype=np.intp), 1) == [None]


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_bet_does_not_gain_from_a_calibrated_agent(stated: float, better: float) -> None:
    """For each fraction: the expected factor is at most 1 if the chance of success is on the other side."""
    c, o = np.array([stated, stated]), np.array([0.0, 1.0])
    for factors, chance in (
        (np.exp(log_factors_over(c, o)), stated + better * (1 - stated)),
        (np.exp(log_factors_under(c, o)), stated * better),
    ):
        assert np.isfinite(factors).all()
        assert factors.shape == (len(FRACTIONS), 2)
        assert (factors @ np.array([1 - chance, chance]) <= 1 + 1e-9).all()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_bet_on_the_margin_does_not_gain_below_it(stated: float, share: float, half: float) -> None:
    """If the mean of outcome minus confidence is at most minus the margin, for any three outcomes."""
    d = np.array([0.0, half, 1.0]) - stated
    if stated < GAP_MARGIN:
        return
    target = (stated - GAP_MARGIN) * share
    top = max(half, target, 1e-9)
    chance = np.array([1 - target / top, target / top, 0.0]) if half >= target else np.array([1 - target, 0.0, target])
    assert (np.exp(log_factors_above(d)) @ chance <= 1 + 1e-9).all()


def test_the_order_does_not_change_the_evidence_at_the_end() -> None:
    rng = np.random.default_rng(4)
    confidence = rng.random(200)
    outcome = rng.choice([0, 0.5, 1], 200)
    over, under = running_log_e_values(confidence, outcome)
    assert log_e_values(confidence, outcome) == pytest.approx((over[-1], under[-1]))
    assert log_e_values(confidence[::-1], outcome[::-1], np.ones(200)) == pytest.approx((over[-1], under[-1]))


def test_certainty_that_fails_once_is_evidence_and_never_infinite() -> None:
    """A stated 1.00 is treated as .995."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure, rounded = log_e_values(np.ones(1), np.zeros(1)), log_e_values(np.full(1, ROUNDED), np.zeros(1))
    assert sure[0] == pytest.approx(rounded[0])
    assert judge_gap(-1.0) == "overconfident"
    assert np.isfinite(log_mean_exp(np.array([[700.0], [-700.0]]))).all()
