"""Skill, AUC, tests of perfect calibration and maps where decisions name clusters: known answers, and sentences."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from api.reports.calibration_text import describe_skill, describe_tests
from api.reports.use_text import describe_auc
from projections.arrays import Floats, Ints
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.confidence_use import rank_outcomes
from projections.calibration.gap_evidence import ReviewEvidence
from projections.calibration.recalibration import FOLDS, REPEATS, fit_map, merge_neighbours, split
from projections.calibration.scores import compute_scores, skill_interval
from tallystick.shapes.calibration import CalibrationScores
from tests.projections.calibration.offered_map import fit_recalibration
from tests.projections.calibration.simulated_agents import (
    STATING,
    ClusteredReviews,
    clustered_reviews,
    history,
    named_reviews,
)
from tests.projections.short_decisions import calibration_of, judged

T = float(stats.t.ppf(0.975, 39))
"""The quantile with 40 clusters of equal size."""


def scores_of(reviews: ClusteredReviews) -> CalibrationScores:
    counts = np.concatenate([np.zeros((len(reviews.bins.n), 1), np.int64), reviews.bins.outcomes], axis=1)
    found = compute_scores(reviews.bins.confidence, counts, evidence=ReviewEvidence(reviews.named))
    assert found is not None
    return found


def copied(clusters: int, size: int, seed: int = 3) -> tuple[ClusteredReviews, ClusteredReviews]:
    """Reviews that are each one of their own, and the same with each of them `size` times in a cluster."""
    rng = np.random.default_rng(seed)
    c = rng.choice([0.5, 0.7, 0.9], clusters)
    o = (rng.random(clusters) < c).astype(float)
    alone = named_reviews(c, o, np.arange(clusters))
    return alone, named_reviews(*(np.repeat(one, size) for one in (c, o, np.arange(clusters))))


def test_copies_of_reviews_add_no_evidence() -> None:
    alone, copies = (scores_of(one) for one in copied(60, 20))
    for name in ("in_the_large", "spiegelhalter"):
        expected, found = getattr(alone, name), getattr(copies, name)
        assert found.z == pytest.approx(expected.z, rel=1e-9)
        assert found.p == pytest.approx(2 * stats.t.sf(abs(found.z), 59), rel=1e-9)
    assert copies.skill_interval is not None
    assert alone.skill_interval is not None
    assert copies.skill_interval.low == pytest.approx(alone.skill_interval.low, rel=1e-9)
    assert copies.too_few_for == alone.too_few_for == ()


def test_the_test_in_the_large_by_hand() -> None:
    """Fifteen clusters of 20 alike at .8, of which six failed: z of 15 reviews, and p of Student's t."""
    o = np.repeat([0.0] * 6 + [1.0] * 9, 20)
    found = scores_of(named_reviews(np.full(300, 0.8), o, np.repeat(np.arange(15), 20)))
    assert found.in_the_large is not None
    z = (9 - 12) / np.sqrt(15 * 0.8 * 0.2)
    assert found.in_the_large.z == pytest.approx(z)
    assert found.in_the_large.p == pytest.approx(2 * stats.t.cdf(z, 14))
    assert found.too_few_for == ("spiegelhalter", "corp", "skill"), "as much evidence as 14 reviews"


def test_outcomes_that_are_all_alike_are_as_few_as_their_clusters() -> None:
    found = scores_of(named_reviews(np.full(300, 0.97), np.ones(300), np.repeat(np.arange(15), 20)))
    assert found.in_the_large is not None
    assert found.in_the_large.z == pytest.approx(0.45 / np.sqrt(15 * 0.97 * 0.03))


def obuchowski(c: Floats, o: Floats, k: Ints) -> tuple[float, float]:
    """Return the AUC and its standard error, from the sums of placement values by cluster (Obuchowski 1997)."""
    good, bad = o == 1, o == 0
    agree = (np.sign(c[good][:, np.newaxis] - c[bad]) + 1) / 2
    m, n, clusters, auc = good.sum(), bad.sum(), len(np.unique(k)), float(agree.mean())
    up = np.array([(agree.mean(axis=1)[k[good] == one] - auc).sum() for one in np.unique(k)])
    down = np.array([(agree.mean(axis=0)[k[bad] == one] - auc).sum() for one in np.unique(k)])
    variance = clusters / (clusters - 1) * ((up / m + down / n) ** 2).sum()
    return auc, float(np.sqrt(variance))


def test_the_interval_of_auc_is_obuchowskis() -> None:
    rng = np.random.default_rng(3)
    c, k = np.round(rng.beta(2, 2, 800), 2), np.repeat(np.arange(40), 20)
    o = (rng.random(800) < np.clip(c + rng.normal(0, 0.4, 40)[k], 0, 1)).astype(float)
    reviews = named_reviews(c, o, k)
    auc, error = obuchowski(c, o, k)
    found = rank_outcomes(*reviews)
    assert found is not None
    assert found.interval is not None
    assert found.auc == pytest.approx(auc)
    low, high = (np.log(end / (1 - end)) for end in (found.interval.low, found.interval.high))
    assert (high - low) / 2 == pytest.approx(T * error / (auc * (1 - auc)), rel=0.01)


def test_one_cluster_shows_nothing() -> None:
    rng = np.random.default_rng(1)
    c = rng.choice([0.6, 0.9], 200)
    reviews = named_reviews(c, (rng.random(200) < c).astype(float), np.zeros(200, np.int64))
    found, ranked = scores_of(reviews), rank_outcomes(*reviews)
    assert (found.in_the_large, found.spiegelhalter, found.skill_interval) == (None, None, None)
    assert ranked is not None
    assert ranked.interval is None
    assert describe_auc(ranked).startswith(f"AUC {ranked.auc:.3f}: of ")
    assert fit_map(reviews.bins, named=reviews.named) is None
    larger = named_reviews(c, (rng.random(200) < c).astype(float), np.where(np.arange(200) < 190, 0, -1))
    assert list(describe_tests(scores_of(larger)))[-1:] in (
        [], ["Tests of perfect calibration are not defined, because one cluster has most of the reviews."],
    )  # fmt: skip


def test_equal_confidences_rank_nothing() -> None:
    found = rank_outcomes(history(np.full(50, 0.8), np.full(50, 0.8), np.random.default_rng(4)))
    assert found is not None
    assert (found.auc, found.interval) == (0.5, None)
    assert describe_auc(found) == (
        f"AUC 0.500: of {found.pairs} pairs of decisions with different outcomes, the better one had the higher "
        "confidence in 50%; equal confidences count half."
    )


def test_a_skill_that_is_equal_everywhere_has_no_interval() -> None:
    sure = named_reviews(np.tile([0.0, 1.0], 30), np.tile([0.0, 1.0], 30), np.full(60, 1) * np.arange(60))
    found = scores_of(sure)
    assert (found.skill, found.skill_interval) == (1, None)
    assert skill_interval(sure.bins) is None
    assert describe_skill(found) == (
        "Skill +1.000 compared with always stating 50.0%; these reviews do not show how much it varies."
    )


def test_a_fold_has_whole_clusters() -> None:
    """Each cluster has a confidence of its own; reviews without a cluster are divided."""
    k = np.repeat(np.arange(12), 15)
    c, o = (k + 1) / 20, np.tile([0.0, 0.5, 1.0], 60)
    reviews = named_reviews(c, o, np.where(k == 11, -1, k))
    abandoned = reviews.bins._replace(outcomes=reviews.bins.outcomes[:, [0, 1, 3, 2]])
    bins, named = merge_neighbours(abandoned, reviews.named)
    folds = split(bins, named).test
    left_out = folds.sum(axis=2)
    assert set(np.unique(left_out[:, :11]).tolist()) == {0, 15}
    assert 0 < left_out[:, 11].max() < 15
    assert (folds.reshape(REPEATS, FOLDS, *bins.outcomes.shape).sum(axis=1) == bins.outcomes).all()


def test_neighbours_are_merged_with_their_clusters() -> None:
    rng = np.random.default_rng(6)
    c = rng.random(3_000)
    reviews = named_reviews(c, (rng.random(3_000) < c).astype(float), np.arange(3_000) // 3)
    bins, named = merge_neighbours(*reviews)
    assert named is not None
    assert len(bins.n) <= 1_000
    assert set(named.confidence) == set(bins.confidence)
    assert (split(bins, named).test.sum(axis=0) == REPEATS * bins.outcomes).all()


def test_maps_of_clusters() -> None:
    """Fifteen clusters of 20, six of which failed, get no map; 40 that are less alike, off by .3, get one."""
    o = np.repeat([0.0] * 6 + [1.0] * 9, 20)
    few = named_reviews(np.full(300, 0.8), o, np.repeat(np.arange(15), 20))
    assert fit_recalibration(few.bins) is not None
    assert fit_recalibration(*few) is None
    many = clustered_reviews(np.full(800, 0.8), 40, 0.1, np.random.default_rng(2), over=0.3)
    alone, found = fit_recalibration(many.bins), fit_recalibration(*many)
    assert alone is not None
    assert found is not None
    assert found.gain_lower_bound < alone.gain_lower_bound
    (wide,), (narrow,) = found.meanings, alone.meanings
    assert wide.interval.low < narrow.interval.low < wide.meant < narrow.interval.high < wide.interval.high


def test_rates_are_right_where_decisions_name_clusters() -> None:
    """In short what `tests/simulations/test_cluster_rates.py` shows: 60 calibrated agents, 15 clusters of 20 alike."""
    rng = np.random.default_rng(4)
    offered = rejected = 0
    for _ in range(60):
        reviews = clustered_reviews(np.repeat(STATING["beta(2,2)"](rng, 15), 20), 15, 1.0, rng)
        found = scores_of(reviews)
        assert found.in_the_large is not None
        rejected += found.in_the_large.p < 0.05
        offered += fit_map(reviews.bins, named=reviews.named) is not None
    assert (offered <= 3, rejected <= 5) == (True, True)


def test_the_view_allows_for_clusters_of_all_and_of_categories() -> None:
    def drafts(*, named: bool) -> list[Any]:
        return [
            draft
            for category, failed in (("a", 6), ("b", 0))
            for cluster in range(15)
            for draft in judged(
                (0.8, ("F" if cluster < failed else "S") * 20),
                prefix=f"{category}{cluster}-",
                category=category,
                cluster=f"{category}{cluster}" if named else None,
            )
        ]

    alone, found = (
        calibration_of(drafts(named=named)).view(CalibrationFilter(), "category", curves=True)
        for named in (False, True)
    )
    assert alone.recalibration_by_category
    assert not found.recalibration_by_category
    assert found.recalibration is None
    assert found.groups[0].in_the_large is not None
    assert found.groups[0].in_the_large.p > 0.05
