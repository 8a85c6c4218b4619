"""Advice to simulated agents: how often it is a false correction, and whether the curve's interval is right."""

from collections.abc import Callable

import numpy as np
import pytest

from projections.arrays import Floats
from projections.calibration.advice import PlannedDecision, predict_rate, summarize_past_decisions
from projections.calibration.calibration import Calibration
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.confidence_bins import bin_counts
from projections.calibration.gap_evidence import evidence_of_counts
from projections.calibration.named_clusters import OrderedReviews
from projections.stats.logistic_regression import inverse_logit, logit
from tests.projections.drafts import record, review
from tests.projections.random_histories import events_of

AGENTS, CLUSTERS, SIZE, STEP = 200, 15, 20, 5


def ever_corrected(rng: np.random.Generator, *, named: bool) -> bool:
    """Whether an agent of clusters whose decisions all turn out alike gets a correction at a look; each 5 reviews."""
    drafts = []
    for cluster in range(CLUSTERS):
        right = rng.random() < 0.8
        for number in range(SIZE):
            name = f"{cluster}-{number}"
            drafts.append(record(name, 0.8, cluster=f"task {cluster}" if named else None))
            drafts.append(review(name, "success" if right else "failure"))
    events = events_of(drafts)
    calibration, mine = Calibration(), CalibrationFilter(agent="ada")
    for start in range(0, len(events), 2 * STEP):
        calibration.fold(events[start : start + 2 * STEP])
        plan = PlannedDecision(agent="ada", confidence=0.8)
        if summarize_past_decisions(calibration.table(mine), plan, calibration.decisions(mine)).correction is not None:
            return True
    return False


@pytest.mark.slow
def test_calibrated_agents_in_named_clusters_are_rarely_corrected() -> None:
    """However often they ask: at most 5% ever, in 15 clusters of 20 alike."""
    rng = np.random.default_rng(20)
    assert np.mean([ever_corrected(rng, named=True) for _ in range(AGENTS)]) <= 0.05


TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "as stated": lambda c: c,
    "overconfident": lambda c: inverse_logit(0.5 * logit(c) - 0.5),
    "underconfident": lambda c: inverse_logit(logit(c) + 0.8),
    "always .4": lambda c: np.full_like(c, 0.4),
}
LEVELS = np.array([0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85])


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 32, 100, 400])
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_of_the_curve_contains_the_rate_at_a_confidence_that_was_never_stated(truth: str, n: int) -> None:
    """In at least 93% of 500 histories stated from .50 to .85, at .95."""
    rng, planned = np.random.default_rng([n, len(truth)]), 0.95
    (true,) = TRUTHS[truth](np.array([planned]))
    within = 0
    for _ in range(500):
        level = rng.integers(0, len(LEVELS), n)
        right = rng.random(n) < TRUTHS[truth](LEVELS[level])
        counts = np.zeros((len(LEVELS), 5), dtype=np.int64)
        np.add.at(counts, (level, np.where(right, 1, 3)), 1)
        interval = predict_rate(bin_counts(LEVELS, counts), planned).interval
        within += interval.low <= true <= interval.high
    assert within / 500 >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_interval_of_the_curve_allows_for_clusters(truth: str) -> None:
    """In 20 clusters of 10 that state one confidence and turn out alike; taken as independent, it is in about 45%."""
    rng, planned, size = np.random.default_rng(len(truth)), 0.95, 10
    (true,) = TRUTHS[truth](np.array([planned]))
    cluster = np.repeat(np.arange(20), size)
    within = 0
    for _ in range(300):
        level = rng.integers(0, len(LEVELS), 20)[cluster]
        right = rng.random(20)[cluster] < TRUTHS[truth](LEVELS[level])
        counts = np.zeros((len(LEVELS), 5), dtype=np.int64)
        np.add.at(counts, (level, np.where(right, 1, 3)), 1)
        bins, named = bin_counts(LEVELS, counts), OrderedReviews(level, LEVELS[level], right.astype(float), cluster)
        part = named.named().by_group(np.zeros(len(LEVELS), dtype=np.intp))[0]
        clusters = evidence_of_counts(*bins.weighted_reviews(), part).clusters
        assert clusters is not None
        interval = predict_rate(bins, planned, clusters.effective_reviews / bins.reviewed).interval
        within += interval.low <= true <= interval.high
    assert within / 300 >= 0.93
