"""Missing reviews: a biased choice of reviews is corrected and named, and no gap is outside the bounds."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.arrays import Floats
from projections.calibration.confidence_bins import merge_cells
from projections.calibration.missing_reviews import (
    DIFFERENCE_P,
    ReviewCells,
    compare_ages,
    describe_missing_reviews,
    gap_bounds,
    review_strata,
    weigh_gap,
)
from projections.calibration.reviewed_decisions import DatedDecisions
from projections.calibration.scores import compute_scores
from projections.stats.strata import NO_STRATUM, Numbers
from tallystick.shapes.missing_reviews import MissingReviews

Flags = npt.NDArray[np.bool_]
Draw = Callable[[np.random.Generator, int], Floats]

CONFIDENCES: dict[str, Draw] = {
    "heaped": lambda rng, n: rng.choice([0.8, 0.9, 0.95], n),
    "all .8": lambda rng, n: np.full(n, 0.8),
    "all .99": lambda rng, n: np.full(n, 0.99),
    "beta(8,2)": lambda rng, n: rng.beta(8, 2, n),
    "beta(2,2)": lambda rng, n: rng.beta(2, 2, n),
    "uniform": lambda rng, n: rng.random(n),
    "two values": lambda rng, n: np.where(rng.random(n) < 0.5, 0.6, 0.95),
    "mixture": lambda rng, n: np.where(rng.random(n) < 0.3, rng.beta(2, 5, n), rng.choice([0.9, 0.99], n)),
}

TRUTHS: dict[str, Callable[[Floats, Numbers], Floats]] = {
    "calibrated": lambda c, k: c,
    "over in one category": lambda c, k: np.clip(c - 0.3 * (k == 0), 0, 1),
    "flat": lambda c, k: np.clip(0.5 + 0.5 * (c - 0.5) - 0.1 * (k == 1), 0, 1),
    "square": lambda c, k: c**2,
}

PROPENSITIES: dict[str, Callable[[Floats, Numbers], Floats]] = {
    "at random": lambda c, k: np.full(len(c), 0.3),
    "by category": lambda c, k: np.where(k == 0, 0.1, np.where(k == 1, 0.3, 0.8)),
    "by confidence": lambda c, k: np.clip(0.05 + 0.7 * (1 - c), 0.05, 0.9),
    "by both": lambda c, k: np.clip(0.05 + 0.8 * c**2 * np.where(k == 0, 0.3, 1), 0.05, 0.9),
}
"""The probability of a review, given confidence and category."""


def cells(confidence: Floats, category: Numbers, outcome: Floats, reviewed: Flags) -> ReviewCells:
    """One cell for each decision."""
    counts = np.zeros((len(confidence), 5), dtype=np.int64)
    kind = np.select([~reviewed, outcome == 1, outcome == 0.5], [0, 1, 2], 3)
    counts[np.arange(len(confidence)), kind] = 1
    names = [f"category {number}" for number in range(int(category.max(initial=0)) + 1)]
    return ReviewCells(names, category, confidence, counts)


def described(found: ReviewCells) -> MissingReviews:
    overall = compute_scores(*merge_cells(found.confidence, found.counts))
    assert overall is not None
    missing = describe_missing_reviews(found, overall)
    assert missing is not None
    return missing


class Errors(NamedTuple):
    """The mean error of the weighted gap and of the plain gap, and how often the interval has the true gap."""

    weighted: float
    represented: float
    plain: float
    covered: float
    bounded: bool


def simulate(confidences: str, truth: str, propensity: str, histories: int) -> Errors:
    """Histories of 1,000 decisions in three categories, reviewed by confidence and category whatever the outcome."""
    rng = np.random.default_rng(1616)
    rows, bounded = [], True
    for _ in range(histories):
        c, k = CONFIDENCES[confidences](rng, 1000), rng.choice(3, 1000, p=[0.5, 0.3, 0.2])
        outcome = (rng.random(1000) < TRUTHS[truth](c, k)).astype(np.float64)
        reviewed = rng.random(1000) < PROPENSITIES[propensity](c, k)
        found = cells(c, k, outcome, reviewed)
        gap, weighted, bounds = float((outcome - c).mean()), weigh_gap(found), gap_bounds(found)
        assert weighted is not None
        inside = review_strata(found)[0] != NO_STRATUM
        assert weighted.represented == pytest.approx(inside.mean())
        bounded &= bounds.low - 1e-12 <= gap <= bounds.high + 1e-12
        covered = weighted.interval.low <= (outcome - c)[inside].mean() <= weighted.interval.high
        like = weighted.gap - (outcome - c)[inside].mean()
        rows.append((weighted.gap - gap, like, (outcome - c)[reviewed].mean() - gap, covered))
    weighted_error, represented_error, plain_error, share = np.array(rows).mean(axis=0).tolist()
    return Errors(weighted_error, represented_error, plain_error, share, bounded)


@pytest.mark.slow
@pytest.mark.parametrize("propensity", PROPENSITIES)
@pytest.mark.parametrize("truth", TRUTHS)
@pytest.mark.parametrize("confidences", CONFIDENCES)
def test_the_weighted_gap_has_no_bias_if_reviews_depend_on_confidence_and_category(
    confidences: str, truth: str, propensity: str
) -> None:
    found = simulate(confidences, truth, propensity, 400)
    assert abs(found.represented) <= 0.01, "against the decisions that it represents"
    assert abs(found.weighted) <= 0.0125, "against all decisions, some of which are like no reviewed one"
    assert found.bounded
    assert found.covered >= 0.92


def test_the_weighted_gap_corrects_reviews_that_avoid_a_bad_category() -> None:
    found = simulate("heaped", "over in one category", "by category", 60)
    assert found.plain > 0.09
    assert abs(found.weighted) <= 0.01
    assert found.bounded
    assert found.covered >= 0.93


outcomes = st.sampled_from([0.0, 0.5, 1.0])
decisions = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 3), outcomes, st.booleans()), min_size=2, max_size=60
).filter(lambda rows: len({row[3] for row in rows}) == 2)


@given(decisions)
def test_the_bounds_always_have_the_gap_of_all(rows: list[tuple[float, int, float, bool]]) -> None:
    c, k, outcome, reviewed = (np.array(column) for column in zip(*rows, strict=True))
    missing = described(cells(c, k, outcome, reviewed))
    gap = (outcome - c).mean()
    assert missing.gap_bounds.low - 1e-12 <= gap <= missing.gap_bounds.high + 1e-12
    assert missing.gap_bounds.high - missing.gap_bounds.low == pytest.approx(1 - reviewed.mean())


def test_the_bounds_have_the_gap_if_only_failures_are_reviewed() -> None:
    rng = np.random.default_rng(5)
    c = rng.choice([0.8, 0.9], 500)
    outcome = (rng.random(500) < c).astype(np.float64)
    missing = described(cells(c, np.zeros(500, dtype=np.intp), outcome, outcome == 0))
    assert missing.gap_bounds.low <= (outcome - c).mean() <= missing.gap_bounds.high + 1e-12
    assert missing.qualified


@pytest.mark.defect(13)
def test_960_of_1000_unreviewed_are_a_reason() -> None:
    rng = np.random.default_rng(13)
    c = rng.choice([0.8, 0.9, 0.95], 1000)
    missing = described(
        cells(c, rng.integers(3, size=1000), (rng.random(1000) < c).astype(np.float64), np.arange(1000) < 40)
    )
    assert (missing.unreviewed, missing.total) == (960, 1000)
    assert missing.reasons == ("mostly_unreviewed",)
    assert missing.qualified
    assert missing.message is not None
    assert missing.message.startswith(
        "This verdict holds for the reviewed decisions only: 40 of 1,000 with a confidence. Weighted to represent all "
    )


@pytest.mark.defect(13)
def test_reviewed_ones_that_state_less_than_the_rest_are_a_reason() -> None:
    reviewed = np.arange(1000) < 600
    c = np.where(reviewed, 0.60, 0.95)
    outcome = (np.arange(1000) % 5 < 3).astype(np.float64)
    missing = described(cells(c, np.zeros(1000, dtype=np.intp), outcome, reviewed))
    assert missing.reasons == ("confidence",)
    assert missing.qualified
    assert (missing.mean_confidence_reviewed, missing.mean_confidence_unreviewed) == pytest.approx((0.60, 0.95))
    weighted = missing.weighted_gap
    assert weighted is not None
    assert weighted.represented == pytest.approx(0.6), "no review represents what is stated at .95"
    assert missing.message == (
        "This verdict holds for the reviewed decisions only: 600 of 1,000 with a confidence. The stated confidence "
        "differs: 60% on average if reviewed, 95% if not. Weighted to represent the 60.0% that are like them, the gap "
        "is 0.00 (-0.04 to +0.04); the others are like no reviewed decision. Depending on the missing outcomes, the "
        "gap of all is between -0.38 and +0.02."
    )


def test_another_mix_of_categories_is_a_reason_and_is_named() -> None:
    category = (np.arange(1000) % 10 < 7).astype(np.intp)
    reviewed = (category == 1) | (np.arange(1000) % 10 == 9)
    outcome = (np.arange(1000) % 10 < 8).astype(np.float64)
    missing = described(cells(np.full(1000, 0.8), category, outcome, reviewed))
    assert missing.reasons == ("category",)
    difference = missing.differences[1]
    assert (difference.by, difference.most) == ("category", "category 0")
    assert (difference.reviewed_share, difference.unreviewed_share) == (0.125, 1.0)
    assert "category 0 has 12% of the reviewed and 100% of the unreviewed" in (missing.message or "")


def test_a_verdict_that_no_outcome_can_change_is_not_qualified() -> None:
    reviewed = np.arange(1000) < 900
    c = np.where(reviewed, 0.9, 0.7)
    outcome = np.where(reviewed, np.arange(1000) % 2, 1).astype(np.float64)
    missing = described(cells(c, np.zeros(1000, dtype=np.intp), outcome, reviewed))
    assert missing.reasons == ("confidence",)
    assert missing.gap_bounds.high < 0
    assert not missing.qualified
    assert missing.message is None


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.04, 0.3, 0.96])
@pytest.mark.parametrize("confidences", ["heaped", "beta(8,2)", "mixture"])
def test_reviews_at_random_are_seldom_called_different(confidences: str, share: float) -> None:
    rng = np.random.default_rng(5)
    histories, differing, ages = 400, 0, 0
    for _ in range(histories):
        c, k, reviewed = CONFIDENCES[confidences](rng, 1000), rng.integers(12, size=1000), rng.random(1000) < share
        differing += bool({"confidence", "category"} & set(described(cells(c, k, np.ones(1000), reviewed)).reasons))
        by_age = compare_ages(dated(k % 2, c, np.ones(1000), reviewed, np.arange(1000))).difference
        ages += by_age is not None and by_age.differs
    assert differing / histories <= 6 * DIFFERENCE_P
    assert ages / histories <= 4 * DIFFERENCE_P


def test_without_missing_reviews_nothing_is_said() -> None:
    found = cells(np.full(9, 0.8), np.zeros(9, dtype=np.intp), np.ones(9), np.ones(9, dtype=bool))
    overall = compute_scores(*merge_cells(found.confidence, found.counts))
    assert overall is not None
    assert describe_missing_reviews(found, overall) is None


def dated(category: Numbers, confidence: Floats, outcome: Floats, reviewed: Flags, time: Numbers) -> DatedDecisions:
    keys, cell = np.unique(np.stack([category, confidence]), axis=1, return_inverse=True)
    return DatedDecisions(
        categories=["a", "b"],
        cell_category=keys[0].astype(np.uint32),
        cell_confidence=keys[1],
        cell=cell.astype(np.uint32),
        outcome=np.where(reviewed, np.where(outcome == 1, 1, 3), 0).astype(np.uint8),
        time_us=time.astype(np.int64),
    )


def test_age_is_compared_and_weighted() -> None:
    """The agent got worse with time, and mostly old decisions are reviewed: the gap is too good without the age."""
    rng = np.random.default_rng(4)
    plain, weighted = [], []
    for _ in range(100):
        time, category = np.arange(1000), rng.integers(2, size=1000)
        c = rng.choice([0.8, 0.9], 1000)
        outcome = (rng.random(1000) < c - 0.3 * time / 1000).astype(np.float64)
        reviewed = rng.random(1000) < 0.8 - 0.7 * time / 1000
        found = compare_ages(dated(category, c, outcome, reviewed, time))
        assert found.difference is not None
        assert found.difference.differs
        assert found.weighted_gap is not None
        assert "age" in found.weighted_gap.by
        plain.append((outcome - c)[reviewed].mean() - (outcome - c).mean())
        weighted.append(found.weighted_gap.gap - (outcome - c).mean())
    assert np.mean(plain) > 0.03
    assert abs(np.mean(weighted)) <= 0.015


def test_decisions_without_times_of_their_own_do_not_differ_in_age() -> None:
    c, reviewed = np.full(100, 0.8), np.arange(100) < 50
    found = compare_ages(dated(np.zeros(100, int), c, np.ones(100), reviewed, np.zeros(100, int)))
    assert found.difference is not None
    assert (found.difference.distance, found.difference.p, found.difference.differs) == (0.0, None, False)
