"""Verdicts on simulated agents: how often they are surely wrong, and how soon they are surely right. Fixed seeds."""

import numpy as np
import pytest

from api.reports.calibration_text import describe_verdict
from projections.arrays import Floats, Ints
from projections.calibration.calibration_view import build_calibration_view
from projections.calibration.count_table import CountTable
from projections.calibration.counted_columns import COLUMNS_COUNT
from projections.calibration.gap_evidence import GapEvidence, evidence_of_counts
from projections.calibration.named_clusters import OrderedReviews
from projections.calibration.sampled_gap import ReviewPopulation, estimate_gap
from projections.outcome_codes import OUTCOME_NUMBERS, UNREVIEWED
from projections.stats.intervals import mean_outcome_interval
from tests.simulations.late_reviews import LEVELS, Agent, decide, evidence_at, failure_first

pytestmark = pytest.mark.slow

AGENTS = 300
REVIEWS, LOOK = 1_000, 20


def evidence_of(confidence: Floats, outcome: Floats, cluster: Ints | None = None) -> GapEvidence:
    pairs, kind = np.unique(np.stack([confidence, outcome]), axis=1, return_inverse=True)
    named = None
    if cluster is not None:
        cell = np.zeros(len(cluster), dtype=np.intp)
        named = OrderedReviews(cell, confidence, outcome, cluster).named().by_group(np.zeros(1, np.intp)).get(0)
    return evidence_of_counts(pairs[0], pairs[1], np.bincount(kind).astype(np.float64), named)


def is_off(found: GapEvidence) -> bool:
    return found.supports("over") or found.supports("under")


def upper_end(hits: int, agents: int = AGENTS) -> float:
    """The upper end of the 95% interval of a share."""
    return mean_outcome_interval(hits, agents).high


def attempts(rng: np.random.Generator, rate: float, longest: int, *, until: float) -> tuple[Floats, Ints]:
    """Return outcomes and tasks: each task has attempts until one has this outcome, at most `longest`."""
    outcome = (rng.random(2 * REVIEWS * longest) < rate).astype(np.float64).reshape(-1, longest)
    ends = outcome == until
    tried = np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, longest)
    used = np.arange(longest) < tried[:, np.newaxis]
    task = np.repeat(np.arange(len(outcome)), tried)
    return outcome[used][:REVIEWS], task[:REVIEWS]


@pytest.mark.parametrize(
    ("rate", "longest", "until"),
    [(0.5, 10, 1.0), (0.9, 3, 1.0), (0.8, 20, 0.0), (0.9, 50, 0.0)],
    ids=["retried, .5", "retried, .9", "sessions, .8", "sessions, .9"],
)
def test_clusters_whose_size_depends_on_outcomes(rate: float, longest: int, until: float) -> None:
    """A task is retried until it succeeds, or a session ends at the first failure."""
    rng, hits, agents = np.random.default_rng(3), 0, 200
    for _ in range(agents):
        outcome, task = attempts(rng, rate, longest, until=until)
        stated = np.full(REVIEWS, rate)
        hits += any(is_off(evidence_of(stated[:n], outcome[:n], task[:n])) for n in range(100, REVIEWS + 1, 100))
    assert upper_end(hits, agents) < 0.05, hits


def test_opposite_errors_are_not_a_gap() -> None:
    """Half of the decisions are stated at .99 and right in .89, half at .60 and right in .70."""
    rng, hits, well = np.random.default_rng(4), 0, 0
    for _ in range(AGENTS):
        high = rng.random(REVIEWS) < 0.5
        stated = np.where(high, 0.99, 0.6)
        outcome = (rng.random(REVIEWS) < np.where(high, 0.89, 0.7)).astype(np.float64)
        hits += any(is_off(evidence_of(stated[:n], outcome[:n])) for n in range(LOOK, REVIEWS + 1, LOOK))
        well += evidence_of(stated, outcome).supports("well")
    assert upper_end(hits) < 0.05, hits
    assert well == 0, "right on average, but not at each confidence"


def test_a_gap_is_found_soon_after_reviews_are_due() -> None:
    """A gap of -.10, due after 14 days, at ten decisions a day: sure at a median of at most 130 due reviews."""
    rng, needed = np.random.default_rng(5), []
    for _ in range(100):
        confidence, good, made = decide(rng, 120, gap=-0.1)
        agent = Agent(confidence, good, made, made + failure_first(rng, good, 14), made + 14)
        day = next(
            (day for day in range(15, 120) if (found := evidence_at(agent, day)) and found.supports("over")), 120
        )
        needed.append(float((made + 14 <= day).sum()))
    assert np.median(needed) <= 130


def test_corrected_reviews_are_the_reviews() -> None:
    """Half of the failures were first reviewed as success. By 500 reviews a gap of -.10 is found as without that."""
    rng, before, found = np.random.default_rng(6), 0, 0
    for _ in range(AGENTS):
        confidence = rng.choice(LEVELS, 500)
        first = (rng.random(500) < confidence - 0.1).astype(np.float64)
        corrected = (first == 0) & (rng.random(500) < 0.5)
        before += evidence_of(confidence, np.where(corrected, 1.0, first)).supports("over")
        found += evidence_of(confidence, first).supports("over")
    assert before / AGENTS < 0.5
    assert found / AGENTS >= 0.95


def test_reviewing_that_depends_on_outcomes_has_its_tipping_point() -> None:
    """All failures are reviewed and 60% of successes; what has no review is overdue, or has no date."""
    rng, sure, said = np.random.default_rng(7), 0, 0
    for history in range(200):
        confidence = rng.choice(LEVELS, REVIEWS)
        good = rng.random(REVIEWS) < confidence
        seen = ~good | (rng.random(REVIEWS) < 0.6)
        code = np.where(seen, np.where(good, OUTCOME_NUMBERS["success"], OUTCOME_NUMBERS["failure"]), UNREVIEWED)
        code[~seen & (history % 2 == 1)] = COLUMNS_COUNT - 1
        number = np.searchsorted(LEVELS, confidence) * COLUMNS_COUNT + code
        counts = np.bincount(number, minlength=len(LEVELS) * COLUMNS_COUNT).reshape(-1, COLUMNS_COUNT)
        table = CountTable([], np.zeros(len(LEVELS), np.uint32), LEVELS, counts)
        view = build_calibration_view(table, "confidence_bucket", 5, curves=False, warned=())
        assert view.overall is not None
        sure += view.overall.supported
        said += view.overall.supported and "The evidence would not be enough if more than" in describe_verdict(
            view, view.overall
        )
    assert said == sure
    assert sure <= 100, "without a date nothing is sure"


@pytest.mark.parametrize("size", [20, 50, 200])
def test_a_sample_that_is_the_whole(size: int) -> None:
    """The verdict is about the agent, at one look: surely wrong in at most 5% of calibrated agents."""
    rng, hits, agents = np.random.default_rng(8), 0, 2_000
    for _ in range(agents):
        confidence = rng.choice(LEVELS, size)
        outcome = (rng.random(size) < confidence).astype(np.float64)
        found = estimate_gap(ReviewPopulation(size, size, 0.0, float(confidence.mean())), outcome.tolist())
        assert found is not None
        assert found.interval.low <= found.gap <= found.interval.high
        hits += found.supported and found.interpretation != "well_calibrated"
    assert hits / agents <= 0.05 + 0.01, "two standard errors of 2,000 samples"
