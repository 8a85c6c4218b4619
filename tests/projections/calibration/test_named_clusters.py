"""Verdicts where decisions name clusters: how often they are wrong at any look, and what they say of the clusters."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from projections.calibration.evidence_trace import Grouping, follow_reviews
from projections.calibration.first_reviews import Block, ConfidenceLevels, ReviewOrder
from projections.calibration.stakes import Stakes, evidence_of
from scipy.signal import lfilter
from scipy.special import ndtri

from events import Draft
from events.decision import Outcome
from projections.arrays import Floats, Ints
from projections.calibration.calibration import Calibration, CalibrationFilter
from projections.query_check import no_check
from projections.stats.clustered_mean import clustered_mean
from projections.stats.gap_martingale import log_factors_over, log_mean_exp
from projections.time_range import TimeRange
from tests.projections.drafts import record, review
from tests.projections.random_histories import events_of

LOOKS, HISTORIES, SIZE = 1_000, 400, 10

STATING: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "heaped": lambda rng, shape: rng.choice([0.8, 0.9, 0.95], shape),
    "all .8": lambda _, shape: np.full(shape, 0.8),
    "all .99": lambda _, shape: np.full(shape, 0.99),
    "beta(8,2)": lambda rng, shape: np.round(rng.beta(8, 2, shape), 2),
    "beta(2,2)": lambda rng, shape: np.round(rng.beta(2, 2, shape), 2),
    "uniform": lambda rng, shape: np.round(rng.random(shape), 2),
    "beta and heaps": lambda rng, shape: np.where(
        rng.random(shape) < 0.5, np.round(rng.beta(8, 2, shape), 2), rng.choice([0.5, 0.99], shape)
    ),
    "sure or not": lambda rng, shape: rng.choice([0.02, 0.6, 0.98], shape),
}


class Histories(NamedTuple):
    """Reviews of agents (rows) in their order: stated confidence, outcome and number of the cluster."""

    confidence: Floats
    outcome: Floats
    cluster: Ints


def clustered(rng: np.random.Generator, shape: tuple[int, int], correlation: float = 0.3) -> Floats:
    shared = np.repeat(rng.normal(size=(shape[0], shape[1] // SIZE)), SIZE, axis=1)
    values: Floats = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=shape)
    return values


def autoregressive(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    noise = rng.normal(size=(shape[0], shape[1] + 50)) * np.sqrt(0.75)
    return np.asarray(lfilter([1], [1, -0.5], noise, axis=1)[:, 50:])


def alike(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return clustered(rng, shape, 1.0)


DEPENDENT = {"clusters": clustered, "alike": alike, "autoregression": autoregressive}


def histories(name: str, dependence: str, order: str, seed: int, gap: float = 0.0, looks: int = LOOKS) -> Histories:
    rng = np.random.default_rng([seed, len(name), len(dependence), len(order)])
    shape = HISTORIES, looks
    confidence = STATING[name](rng, shape)
    chance = np.clip(confidence + gap, 0, 1)
    outcome = (DEPENDENT[dependence](rng, shape) < ndtri(chance)).astype(float)
    cluster = np.broadcast_to(np.arange(looks) // SIZE, shape)
    if order == "interleaved":  # five clusters at once
        place = rng.permuted(np.arange(looks).reshape(-1, 5 * SIZE), axis=1).ravel()
        confidence, outcome, cluster = confidence[:, place], outcome[:, place], cluster[:, place]
    return Histories(confidence, outcome, cluster)


def stakes_of(reviews: Histories) -> Stakes:
    """Return the stakes of agents as groups, whose reviews came in turns."""
    agents, looks = reviews.confidence.shape
    levels, level = np.unique(reviews.confidence, return_inverse=True)
    agent = np.broadcast_to(np.arange(agents)[:, np.newaxis], (agents, looks))
    cell = (agent * len(levels) + level.reshape(agents, looks)).T.ravel().astype(np.uint32)
    code = np.where(reviews.outcome == 1, 0, 2).T.ravel().astype(np.uint8)
    block = Block(cell, code, np.zeros(len(cell), np.int64), reviews.cluster.T.ravel())
    order = ReviewOrder(block, len(cell), 0, ConfidenceLevels(np.tile(levels, agents)), clustered=True)
    grouping = Grouping(np.repeat(np.arange(agents), len(levels)), agents, -1, 1)
    return follow_reviews(Stakes.before(order), order, grouping, no_check)


def shares_supported(stakes: Stakes) -> tuple[float, float]:
    """Return the shares of agents that were ever called off, and that were ever called well calibrated."""
    at = stakes.supported_at
    return float((at[:2] > 0).any(axis=0).mean()), float((at[2] > 0).mean())


ORDERS = [
    *((dependence, order) for dependence in ("clusters", "alike") for order in ("in turn", "interleaved")),
    ("autoregression", "in turn"),
]


@pytest.mark.slow
@pytest.mark.defect(1)
@pytest.mark.parametrize(("dependence", "order"), ORDERS)
@pytest.mark.parametrize("name", ["heaped", "beta(8,2)"])
def test_named_clusters_are_hardly_ever_called_off(name: str, dependence: str, order: str) -> None:
    """At most 6% of 400 calibrated agents in 1,000 looks, one after every review, in clusters of ten."""
    off, _ = shares_supported(stakes_of(histories(name, dependence, order, 6)))
    assert off <= 0.06


@pytest.mark.slow
@pytest.mark.defect(1)
@pytest.mark.parametrize(("dependence", "order"), ORDERS)
@pytest.mark.parametrize("name", STATING)
def test_named_clusters_of_all_distributions_are_hardly_ever_called_off(name: str, dependence: str, order: str) -> None:
    off = [shares_supported(stakes_of(histories(name, dependence, order, seed)))[0] for seed in range(3)]
    assert np.mean(off) <= 0.06


@pytest.mark.defect(1)
def test_named_clusters_still_show_a_gap() -> None:
    """A gap of -.15 in clusters of ten with a correlation of .3: the median agent is called off within 250 reviews."""
    stakes = stakes_of(histories("heaped", "clusters", "in turn", 1, gap=-0.15))
    at = stakes.supported_at[0]
    assert np.median(np.where(at > 0, at, LOOKS + 1)) <= 250


@pytest.mark.slow
def test_a_gap_beyond_the_margin_in_clusters_is_hardly_ever_called_well_calibrated() -> None:
    """The confidence sequence over clusters misses a gap of just -.10 in at most 5% of histories of 5,000 reviews."""
    for dependence in DEPENDENT:
        reviews = histories("all .8", dependence, "interleaved", 2, gap=-0.1, looks=5_000)
        assert shares_supported(stakes_of(reviews))[1] <= 0.05


@pytest.mark.slow
def test_well_calibrated_is_supported_in_clusters_too() -> None:
    _, well = shares_supported(stakes_of(histories("heaped", "clusters", "in turn", 3, looks=5_000)))
    assert well >= 0.8


def test_the_stake_is_the_product_of_the_means_of_clusters() -> None:
    """Whatever the order, and whether an agent's reviews come in one block or several."""
    reviews = histories("heaped", "clusters", "interleaved", 4)
    stakes = stakes_of(reviews)
    for agent in (0, HISTORIES - 1):
        c, o, k = (column[agent] for column in reviews)
        factors = np.exp(log_factors_over(c, o))
        means = np.array([factors[:, k == cluster].mean(axis=1) for cluster in np.unique(k)]).T
        found = evidence_of(stakes, agent)
        assert found is not None
        assert found.clusters is not None
        assert found.log_over == pytest.approx(float(log_mean_exp(np.log(means).sum(axis=1))), abs=1e-8)
        expected = clustered_mean(o - c, k, -1, 1)
        assert (found.clusters.clusters, found.clusters.largest) == (LOOKS // SIZE, SIZE)
        assert found.clusters.effective_reviews == pytest.approx(expected.effective_n, rel=1e-4)
        assert found.interval is not None
        assert expected.interval is not None
        bounds = expected.interval.low, expected.interval.high
        assert (found.interval.low, found.interval.high) == pytest.approx(bounds, abs=1e-6)


def drafts(named: bool, clusters: int, seed: int, size: int = SIZE, category: str = "a") -> list[Draft]:
    """Decisions that all state .8; those of one cluster succeed or fail together, and three of eight fail."""
    found = []
    for cluster in range(clusters):
        outcome: Outcome = "failure" if cluster % 8 < 3 else "success"
        for number in range(size):
            name = f"{seed}-{cluster}-{number}"
            found.append(record(name, 0.8, category=category, cluster=f"task {seed}-{cluster}" if named else None))
            found.append(review(name, outcome))
    return found


def view_of(events: list[Draft]) -> Any:  # noqa: ANN401
    calibration = Calibration()
    calibration.fold(events_of(events))
    return calibration.view(CalibrationFilter(), "category")


@pytest.mark.defect(1)
def test_clusters_that_are_named_take_support_away_everywhere() -> None:
    """Eight tasks of 25 reviews, three of which failed: 75 of 200 reviews seem to refute .8, three of eight do not."""
    events, named = ([draft for seed in (5,) for draft in drafts(flag, 8, seed, 25)] for flag in (False, True))
    alone, together = view_of(events), view_of(named)
    assert alone.overall.gap < -0.1
    assert alone.overall.supported
    assert alone.overall.clusters is not together.overall.clusters
    assert not together.overall.supported
    assert (together.overall.clusters.clusters, together.overall.clusters.largest) == (8, 25)
    assert together.overall.clusters.effective_reviews == pytest.approx(8, abs=1.5)
    assert together.overall.gap_interval.high > 0 > together.overall.gap_interval.low
    assert together.overall.reviews_needed > 200
    assert [row.supported for row in alone.buckets] == [True]
    for row in (*together.groups, *together.buckets):
        assert not row.supported
    assert together.groups[0].clusters == together.overall.clusters
    assert together.buckets[0].stated_gap_interval == together.overall.gap_interval


def test_one_cluster_counts_as_one_review() -> None:
    (found,) = view_of(drafts(True, 1, 7, 40)).groups
    assert (found.clusters.clusters, found.clusters.effective_reviews) == (1, 1.0)
    assert found.gap_interval.high - found.gap_interval.low > 0.9
    assert not found.supported


def test_a_range_of_time_allows_for_clusters() -> None:
    calibration = Calibration()
    calibration.fold(events_of(drafts(True, 8, 5, 25)))
    whole, ranged = (
        calibration.view(CalibrationFilter(range=when))
        for when in (TimeRange(), TimeRange(since=datetime(1980, 1, 1, tzinfo=UTC)))
    )
    assert ranged.overall == whole.overall


def test_no_cluster_is_absent_from_the_answer() -> None:
    answer = msgspec.to_builtins(view_of(drafts(False, 8, 5, 25)))
    assert "clusters" not in answer["overall"]
    assert "clusters" not in answer["groups"][0]


def test_support_over_two_ranges_of_reviews_is_that_of_one() -> None:
    """Asked after each few reviews, or once at the end."""
    events = events_of([*drafts(True, 20, 3, 7), *drafts(False, 5, 4, 7)])
    asked, once = Calibration(), Calibration()
    for start in range(0, len(events), 17):
        asked.fold(events[start : start + 17])
        asked.view(CalibrationFilter(), "category")
    once.fold(events)
    assert asked.view(CalibrationFilter(), "category") == once.view(CalibrationFilter(), "category")
