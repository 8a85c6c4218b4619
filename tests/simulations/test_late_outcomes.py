"""Outcomes that become known at different times: how often calibrated agents are ever surely off, in a year of looks.

Ten decisions a day, a look every week. Fixed seeds. Taken in the order of reviews, 9 to 100% were.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from projections.arrays import Floats
from projections.stats.intervals import mean_outcome_interval
from tests.simulations.late_reviews import Agent, decide, drifts, failure_first, surely_off

pytestmark = pytest.mark.slow

AGENTS, DAYS = 300, 365
Delays = Callable[[np.random.Generator, npt.NDArray[np.bool_]], Floats]


def failures_early(due: float) -> Delays:
    return lambda rng, good: failure_first(rng, good, due)


def exponential(success: float, failure: float) -> Delays:
    """The delays of success and of failure have these means, in days."""
    return lambda rng, good: rng.exponential(np.where(good, success, failure))


def agent_of(rng: np.random.Generator, delays: Delays, due: float | None, gap: float = 0.0) -> Agent:
    confidence, good, made = decide(rng, DAYS, gap=gap)
    return Agent(confidence, good, made, made + delays(rng, good), None if due is None else made + due)


def share_at_most(hits: int, n: int) -> float:
    """The upper end of the 95% interval of a share."""
    return mean_outcome_interval(hits, n).high


@pytest.mark.parametrize(
    ("delays", "due"),
    [
        (failures_early(30), 30),
        (failures_early(14), 14),
        (exponential(30, 3), 140),
        (exponential(7, 1), 35),
        (exponential(3, 30), 140),
    ],
    ids=["30 d, failures after 5", "14 d, failures after 5", "30 and 3 d", "7 and 1 d", "3 and 30 d"],
)
def test_calibrated_agents_that_state_when_reviews_are_due(delays: Delays, due: float) -> None:
    rng = np.random.default_rng(1)
    hits = sum(any(surely_off(agent_of(rng, delays, due), range(7, DAYS, 7))) for _ in range(AGENTS))
    assert share_at_most(hits, AGENTS) < 0.05, hits


def test_calibrated_agents_whose_tests_resolve_their_decisions() -> None:
    """A change lands within days and is reviewed 14 days later, whatever it is; 1,000 decisions, a look every week."""

    def resolved(rng: np.random.Generator, good: npt.NDArray[np.bool_]) -> Floats:
        return 14 + rng.exponential(1.5, len(good))

    rng, days = np.random.default_rng(4), 100
    hits = 0
    for _ in range(AGENTS):
        confidence, good, made = decide(rng, days)
        hits += any(surely_off(Agent(confidence, good, made, made + resolved(rng, good), None), range(7, 365, 7)))
    assert share_at_most(hits, AGENTS) < 0.05, hits


@pytest.mark.parametrize("means", [(30, 3), (14, 1), (7, 1), (3, 30), (60, 3)], ids=str)
def test_calibrated_agents_that_do_not(means: tuple[float, float]) -> None:
    rng = np.random.default_rng(2)
    hits = sum(any(surely_off(agent_of(rng, exponential(*means), None), range(7, DAYS, 7))) for _ in range(AGENTS))
    assert share_at_most(hits, AGENTS) < 0.05, hits


@pytest.mark.parametrize(
    ("delays", "due"),
    [(exponential(30, 3), None), (exponential(60, 3), None), (exponential(3, 30), None), (exponential(30, 3), 140)],
    ids=["30 and 3 d", "60 and 3 d", "3 and 30 d", "with a date"],
)
def test_late_outcomes_are_not_drift(delays: Delays, due: float | None) -> None:
    """At three decisions a day, looked at every two weeks: without maturity 30 to 68% had a false alarm in the year."""
    rng, agents = np.random.default_rng(3), 120
    hits = 0
    for _ in range(agents):
        confidence, good, made = decide(rng, DAYS, a_day=3)
        dates = None if due is None else made + due
        hits += drifts(Agent(confidence, good, made, made + delays(rng, good), dates), range(14, DAYS, 14))
    assert hits / agents <= 0.06, hits
