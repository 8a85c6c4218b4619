"""Verdicts where decisions name clusters: how often they are wrong at any look, and what they say of the clusters."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtri

from events.envelope import Draft
from projections.arrays import Floats, Ints
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.gap_evidence import evidence_of_counts
from projections.calibration.named_clusters import OrderedReviews
from projections.stats.clustered_mean import clustered_mean
from projections.stats.gap_martingale import (
    BETS,
    CLUSTER_REVIEWS,
    LOG_SUPPORTED,
    cluster_factors,
    log_e_values,
    wagers,
)
from projections.time_range import TimeRange
from tallystick.shapes.decisions import Outcome
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


class Verdicts(NamedTuple):
    """Whether agents are ever called off after one of their clusters, and the numbers of reviews until the first."""

    off: Floats
    reviews: Floats


def ever_off(reviews: Histories) -> Verdicts:
    """Look at agents after every review: each cluster counts as far as it has come."""
    agents, looks = reviews.confidence.shape
    first = np.full(agents, np.inf)
    for agent in range(agents):
        c, o, k = (column[agent] for column in reviews)
        wager = wagers(c, o)
        order = np.argsort(k, kind="stable")
        starts = np.flatnonzero(np.diff(k[order], prepend=-1))
        place = np.empty(looks, dtype=np.intp)
        place[order] = np.arange(looks) - np.repeat(starts, np.diff(starts, append=looks))
        totals = np.zeros((BETS, len(CLUSTER_REVIEWS), looks))
        for number, size in enumerate(CLUSTER_REVIEWS):
            part = np.where(place < size, wager, 0.0) / size
            running = np.cumsum(part[:, order], axis=1)
            before = np.repeat(running[:, starts] - part[:, order][:, starts], np.diff(starts, append=looks), axis=1)
            after = running - before
            step = np.log1p(after) - np.log1p(after - part[:, order])
            steps = np.empty_like(step)
            steps[:, order] = step
            totals[:, number] = np.cumsum(steps, axis=1)
        logs = log_e_values(totals)
        found = np.flatnonzero(np.maximum(logs.over, logs.under) >= LOG_SUPPORTED)
        if len(found):
            first[agent] = found[0] + 1
    return Verdicts(np.isfinite(first).astype(float), first)


ORDERS = [
    *((dependence, order) for dependence in ("clusters", "alike") for order in ("in turn", "interleaved")),
    ("autoregression", "in turn"),
]


@pytest.mark.slow
@pytest.mark.defect(1)
@pytest.mark.parametrize(("dependence", "order"), ORDERS)
@pytest.mark.parametrize("name", STATING)
def test_named_clusters_are_hardly_ever_called_off(name: str, dependence: str, order: str) -> None:
    """At most 6% of 400 calibrated agents in 1,000 looks, one after every review, in clusters of ten."""
    assert ever_off(histories(name, dependence, order, 6)).off.mean() <= 0.06


@pytest.mark.slow
@pytest.mark.defect(1)
def test_named_clusters_still_show_a_gap() -> None:
    """A gap of -.15 in clusters of ten with a correlation of .3: the median agent is called off within 260 reviews."""
    assert np.median(ever_off(histories("heaped", "clusters", "in turn", 1, gap=-0.15)).reviews) <= 260


def test_the_evidence_is_that_of_each_cluster() -> None:
    """Whatever the order of reviews: the factors of clusters are multiplied, and intervals are cluster-robust."""
    reviews = histories("heaped", "clusters", "interleaved", 4)
    for agent in (0, HISTORIES - 1):
        c, o, k = (column[agent] for column in reviews)
        named = OrderedReviews(np.zeros(len(c), np.intp), c, o, k).named()
        (part,) = named.by_group(np.zeros(1, np.intp)).values()
        found = evidence_of_counts(c, o, np.ones(len(c)), part)
        starts, sizes = np.arange(0, len(c), SIZE), np.full(len(c) // SIZE, SIZE)
        order = np.argsort(k, kind="stable")
        factors = cluster_factors(wagers(c, o), order, starts, sizes)
        logs = log_e_values(factors.sum(axis=2, keepdims=True))
        expected = [float(log[0]) for log in logs]
        assert [found.log_over, found.log_under, found.log_calibrated] == pytest.approx(expected, abs=1e-8)
        mean = clustered_mean(o - c, k, -1, 1)
        assert found.clusters is not None
        assert (found.clusters.clusters, found.clusters.largest) == (LOOKS // SIZE, SIZE)
        assert found.clusters.effective_reviews == pytest.approx(mean.effective_n, rel=1e-4)
        assert found.interval is not None
        assert mean.interval is not None
        bounds = mean.interval.low, mean.interval.high
        assert (found.interval.low, found.interval.high) == pytest.approx(bounds, abs=1e-6)


def test_each_group_has_the_factors_of_its_part_of_each_cluster() -> None:
    """Clusters of one to twelve reviews, over three groups of cells of which one is left out: the sums by hand."""
    rng = np.random.default_rng(3)
    n, group = 400, np.array([0, 1, -1, 0])
    cell, c, o = rng.integers(0, 4, n), rng.choice([0.6, 0.9, 1.0], n), rng.integers(0, 3, n) / 2
    k = np.repeat(np.arange(n), rng.integers(1, 13, n))[:n][rng.permutation(n)] - 1
    found = OrderedReviews(cell, c, o, k).named().by_group(group)
    assert sorted(found) == [0, 1]
    for number, part in found.items():
        inside = (group[cell] == number) & (k >= 0)
        wager = wagers(c, o)
        expected = -np.log1p(wager[:, inside]).sum(axis=1)[:, np.newaxis].repeat(len(CLUSTER_REVIEWS), axis=1)
        for cluster in np.unique(k[inside]).tolist():
            rows = np.flatnonzero(inside & (k == cluster))
            for column, reviews in enumerate(CLUSTER_REVIEWS):
                expected[:, column] += np.log1p(wager[:, rows[:reviews]].sum(axis=1) / reviews)
        assert part.log_factors == pytest.approx(expected, abs=1e-10)
        assert sorted(part.sizes.tolist()) == sorted(np.unique(k[inside], return_counts=True)[1].tolist())
        assert part.square == pytest.approx(
            sum((o - c)[inside & (k == each)].sum() ** 2 for each in range(n)) - ((o - c)[inside] ** 2).sum()
        )


def test_reviews_without_a_cluster_are_each_one_of_their_own() -> None:
    """Beside named ones, few or many: as if each of them had a name of its own."""
    rng = np.random.default_rng(8)
    for n in (60, 900):
        c, o = rng.choice([0.6, 0.9], n), rng.integers(0, 3, n) / 2
        k = np.where(np.arange(n) % 3 == 0, -1, np.arange(n) // 6)
        named = OrderedReviews(np.zeros(n, np.intp), c, o, k).named()
        (part,) = named.by_group(np.zeros(1, np.intp)).values()
        found = evidence_of_counts(c, o, np.ones(n), part)
        mean = clustered_mean(o - c, np.where(k < 0, 10_000 + np.arange(n), k), -1, 1)
        assert found.clusters is not None
        assert found.clusters.clusters == mean.clusters
        assert found.interval is not None
        assert mean.interval is not None
        bounds = mean.interval.low, mean.interval.high
        assert (found.interval.low, found.interval.high) == pytest.approx(bounds, abs=0.01)


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
