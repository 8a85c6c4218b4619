"""Evidence that holds at any time: how often it is wrong, how soon it is found, in simulated histories.

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
    BETS,
    CLUSTER_REVIEWS,
    E_VALUE_SURE,
    LOG_SUPPORTED,
    LOSS_MAX,
    ROUNDED,
    cluster_factors,
    log_e_above_zero,
    log_e_values,
    log_mean_exp,
    wagers,
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
    logs = running_log_e_values(confidence, outcome)
    shown = np.flatnonzero(
        ((logs.over >= LOG_SUPPORTED) & (gap <= -0.05)) | ((logs.under >= LOG_SUPPORTED) & (gap >= 0.05))
    )
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
def test_a_gap_of_a_tenth_is_found_in_130_reviews(name: str) -> None:
    """In the median history, although one may look after each review."""
    rng = np.random.default_rng([110, len(name)])
    found = []
    for _ in range(HISTORIES):
        confidence = STATING[name](rng, 600)
        found.append(ever_supported(confidence, draw(np.maximum(confidence - 0.1, 0), rng)) or 601)
    assert np.median(found) <= 130


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
    """For each bet: the expected factor is at most 1 if the chance of success is on the other side."""
    wager = wagers(np.array([stated, stated]), np.array([0.0, 1.0]))
    assert wager.shape == (BETS, 2)
    assert (wager >= -LOSS_MAX - 1e-9).all(), "so that no stake is lost whole"
    gap, fair = np.split(wager, [BETS * 3 // 5])
    higher, lower = stated + better * (1 - stated), stated * better
    for rows in (gap, fair):
        on_lower, on_higher = np.split(rows, 2)
        assert (on_lower @ np.array([1 - higher, higher]) <= 1e-9).all()
        assert (on_higher @ np.array([1 - lower, lower]) <= 1e-9).all()


@pytest.mark.defect(1)
@pytest.mark.parametrize(("levels", "truths"), [((0.99, 0.6), (0.89, 0.7)), ((0.9, 0.5), (0.8, 0.6))])
def test_gaps_that_cancel_are_no_gap_and_not_well_calibrated(levels: list[float], truths: list[float]) -> None:
    """A mean gap of 0 is called off in at most 5% of histories; that its confidences are not true is found."""
    rng = np.random.default_rng(6)
    off = found = 0
    for _ in range(400):
        kind = rng.integers(0, 2, LOOKS)
        confidence = np.array(levels)[kind]
        logs = running_log_e_values(confidence, draw(np.array(truths)[kind], rng))
        off += bool((np.maximum(logs.over, logs.under) >= LOG_SUPPORTED).any())
        found += bool(logs.calibrated[-1] >= np.log(E_VALUE_SURE))
    assert off / 400 <= 0.05
    assert found / 400 >= 0.9


@pytest.mark.parametrize("ends_with", [1.0, 0.0])
def test_clusters_whose_size_depends_on_outcomes_are_hardly_ever_called_off(ends_with: float) -> None:
    """A task that is tried until it succeeds, and a session that ends at the first failure."""
    rng = np.random.default_rng(3)
    off = 0
    for _ in range(400):
        confidence = rng.choice([0.5, 0.7, 0.9], 400)
        tries = np.minimum(rng.geometric(confidence if ends_with else 1 - confidence), 40)
        c, last = np.repeat(confidence, tries), np.cumsum(tries) - 1
        o = np.full(len(c), 1 - ends_with)
        o[last[tries < 40]] = ends_with
        starts = last - tries + 1
        factors = cluster_factors(wagers(c, o), np.arange(len(c)), starts, tries)
        assert factors.shape == (BETS, len(CLUSTER_REVIEWS), 400)
        logs = log_e_values(np.cumsum(factors, axis=2))
        off += bool((np.maximum(logs.over, logs.under) >= LOG_SUPPORTED).any())
    assert off / 400 <= 0.05


def test_a_cluster_of_one_review_is_bet_on_as_one_of_several() -> None:
    """Of J reviews that were set before: so its stake is the share 1/J of that of a review without a cluster."""
    wager = wagers(np.array([0.8]), np.array([0.0]))
    factors = np.exp(cluster_factors(wager, np.zeros(1, np.intp), np.zeros(1, np.intp), np.ones(1, np.intp)))
    for place, reviews in enumerate(CLUSTER_REVIEWS):
        assert factors[:, place] - 1 == pytest.approx(wager / reviews)


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
    last = [logs[-1] for logs in running_log_e_values(confidence, outcome)]
    assert last == pytest.approx([logs[-1] for logs in running_log_e_values(confidence[::-1], outcome[::-1])])


def test_certainty_that_fails_once_is_evidence_and_never_infinite() -> None:
    """A stated 1.00 is treated as .995."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sure, rounded = (running_log_e_values(c, np.zeros(1)).calibrated for c in (np.ones(1), np.full(1, ROUNDED)))
    assert sure == pytest.approx(rounded)
    assert judge_gap(-1.0) == "overconfident"
    assert np.isfinite(log_mean_exp(np.array([[700.0], [-700.0]]))).all()


def test_the_e_value_of_a_mean_above_zero_is_the_weighted_mean_of_the_stakes() -> None:
    values, alone = np.array([0.5, -0.25, 1.0, -1.0]), np.full(4, -1)
    bets = {0.02: 0.02, 0.1: 0.08, 0.25: 0.22, 0.5: 0.45, 0.9: 0.23}
    by_hand = sum(weight * np.prod(1 + bet * values) for bet, weight in bets.items())
    assert log_e_above_zero(values, alone) == pytest.approx(np.log(by_hand))
    named = sum(
        weight / 3 * (1 + bet * 0.5) * (1 + bet * first) * (1 - bet / size)
        for bet, weight in bets.items()
        for size, first in ((1, -0.25), (3, 0.75 / 3), (9, 0.75 / 9))
    )
    assert log_e_above_zero(values, np.array([-1, 7, 7, 2])) == pytest.approx(np.log(named))


def test_the_e_value_of_clusters_that_end_at_a_success_is_at_most_one_on_average() -> None:
    """Each cluster ends at its first value above 0, or has five values."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(400):
        values = rng.choice([-0.5, 0.5], (12, 5))
        tried = np.cumsum(values > 0, axis=1) <= (values > 0)
        found.append(log_e_above_zero(values[tried], np.nonzero(tried)[0]))
    assert np.exp(found).mean() < 1.1
