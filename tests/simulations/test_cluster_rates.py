"""Figures of agents whose decisions name clusters of 20: how often they are wrong. Fixed seeds.

An agent is calibrated: its confidence is the true probability. Outcomes of a cluster are all alike, or have a latent
correlation of .3; in the first case a cluster has one confidence, in the second each decision its own.
"""

import numpy as np
import pytest

from projections.calibration.category_recalibration import fit_category_maps
from projections.calibration.confidence_bins import ConfidenceBins
from projections.calibration.confidence_use import rank_outcomes
from projections.calibration.gap_evidence import ReviewEvidence
from projections.calibration.recalibration import fit_map
from projections.calibration.scores import compute_scores
from tallystick.shapes.calibration import ZTest
from tests.projections.calibration.simulated_agents import (
    STATING,
    ClusteredReviews,
    clustered_reviews,
    history,
    named_reviews,
)

pytestmark = pytest.mark.slow

SIZE, HISTORIES = 20, 400


def reviews_of(name: str, clusters: int, correlation: float, rng: np.random.Generator) -> ClusteredReviews:
    alike = correlation == 1
    stated = STATING[name](rng, clusters if alike else clusters * SIZE)
    return clustered_reviews(np.repeat(stated, SIZE) if alike else stated, clusters, correlation, rng)


def truth(name: str) -> tuple[float, float]:
    """The skill and the AUC of so many decisions that chance does not matter."""
    stated = STATING[name](np.random.default_rng(1), 300_000)
    bins: ConfidenceBins = history(stated, stated, np.random.default_rng(2))
    ranked, rate = rank_outcomes(bins), bins.outcome_total / bins.reviewed
    assert ranked is not None
    return 1 - float((stated * (1 - stated)).mean()) / (rate * (1 - rate)), ranked.auc


@pytest.mark.parametrize("correlation", [1.0, 0.3])
@pytest.mark.parametrize("clusters", [15, 40])
@pytest.mark.parametrize("name", ["all .8", "heaped", "beta(8,2)", "beta(2,2)", "uniform", "mixture"])
def test_figures_of_clusters_are_as_sure_as_they_say(name: str, clusters: int, correlation: float) -> None:
    """Measured: tests reject in 1.2 to 5.8%, AUC is covered in 96 to 100%, and 0 to 0.8% are offered a map.

    Skill is covered in 95 to 99% where there are enough reviews, and else in 93 to 100%: with 15 clusters that are all
    alike at .8 to .95 in 88%. Taken as independent, 38 to 86% were offered a map where they are all alike.
    """
    rng = np.random.default_rng([clusters, round(10 * correlation)])
    skill, auc = truth(name)
    rejected = {"in_the_large": 0, "spiegelhalter": 0}
    inside: dict[str, list[bool]] = {"skill": [], "skill with few reviews": [], "auc": []}
    maps = 0
    for _ in range(HISTORIES):
        bins, named = reviews_of(name, clusters, correlation, rng)
        counts = np.concatenate([np.zeros((len(bins.n), 1), np.int64), bins.outcomes], axis=1)
        found = compute_scores(bins.confidence, counts, evidence=ReviewEvidence(named))
        ranked = rank_outcomes(bins, named)
        assert found is not None
        for test in rejected:
            figure: ZTest | None = getattr(found, test)
            rejected[test] += figure is not None and figure.p < 0.05
        if found.skill_interval is not None:
            kind = "skill with few reviews" if "skill" in found.too_few_for else "skill"
            inside[kind].append(found.skill_interval.low <= skill <= found.skill_interval.high)
        if ranked is not None and ranked.interval is not None:
            inside["auc"].append(ranked.interval.low <= auc <= ranked.interval.high)
        maps += fit_map(bins, named=named) is not None
    print(
        name, clusters, correlation, rejected, {k: (sum(v) / max(1, len(v)), len(v)) for k, v in inside.items()}, maps
    )
    assert maps / HISTORIES <= 0.02
    assert max(rejected.values()) / HISTORIES <= 0.06
    for kind, least in {"skill": 0.92, "skill with few reviews": 0.84, "auc": 0.92}.items():
        assert sum(inside[kind]) >= least * len(inside[kind])


@pytest.mark.parametrize("clusters", [15, 40])
def test_calibrated_categories_with_clusters_get_no_maps(clusters: int) -> None:
    """Five categories of clusters that are all alike: measured, none of 100 agents is offered a map of any."""
    rng = np.random.default_rng(clusters)
    offered = 0
    for _ in range(100):
        parts = {f"c{place}": reviews_of("heaped", clusters, 1.0, rng) for place in range(5)}
        categories, named = ({name: one[part] for name, one in parts.items()} for part in (0, 1))
        offered += any(fit_category_maps(categories, None, clusters=named))  # type: ignore[arg-type]
    assert offered <= 5


def test_reviews_beside_named_clusters_do_not_hide_them() -> None:
    """Near certainty, where often no cluster fails: 800 reviews in 40 clusters that are all alike, 800 without one.

    Measured: z rejects in 4%; with the observed excess of the clusters it would in 13%. Skill is covered in 96%.
    """
    rng = np.random.default_rng(40)
    levels = np.array([0.9, 0.95, 0.97, 0.99])
    rate = levels.mean()
    skill = 1 - float((levels * (1 - levels)).mean()) / (rate * (1 - rate))
    cluster = np.concatenate([np.repeat(np.arange(40), SIZE), np.full(800, -1)])
    rejected = covered = 0
    for _ in range(HISTORIES):
        drawn = rng.choice(levels, 840), rng.random(840)
        c, rank = (np.concatenate([np.repeat(one[:40], SIZE), one[40:]]) for one in drawn)
        bins, named = named_reviews(c, (rank < c).astype(float), cluster)
        counts = np.concatenate([np.zeros((len(bins.n), 1), np.int64), bins.outcomes], axis=1)
        found = compute_scores(bins.confidence, counts, evidence=ReviewEvidence(named))
        assert found is not None
        assert found.in_the_large is not None
        assert found.skill_interval is not None
        rejected += found.in_the_large.p < 0.05
        covered += found.skill_interval.low <= skill <= found.skill_interval.high
    assert rejected / HISTORIES <= 0.06
    assert covered / HISTORIES >= 0.92
