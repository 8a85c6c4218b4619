"""Evidence in the order of first review: the same as review by review, whatever was asked before, and one-way."""

import numpy as np
import pytest
from projections.calibration.evidence_trace import Grouping, follow_reviews
from projections.calibration.first_reviews import CODE_VALUES, Block, ConfidenceLevels, ReviewOrder
from projections.calibration.stakes import Stakes, evidence_of

from events import Draft
from events.decision import DecisionRecordedV1, DecisionReviewed
from projections.calibration import cluster_sums, evidence_trace
from projections.calibration.calibration import Calibration, CalibrationFilter
from projections.calibration.gap_evidence import ReviewEvidence
from projections.query_check import no_check
from projections.stats.gap_martingale import LOG_SUPPORTED, log_factors_over, log_factors_under, log_mean_exp
from projections.stats.gap_sequence import log_e_within
from tests.projections.chunks import restored
from tests.projections.drafts import record, retract, review
from tests.projections.random_histories import events_of
from tests.projections.stats.evidence import running_log_e_values

OUTCOMES = ("success", "partial", "failure")
VALUES = {"success": 1.0, "partial": 0.5, "failure": 0.0}


def drafts_of(n: int, gap: float, seed: int, project: str | None = None) -> list[Draft]:
    """Decisions that are recorded in one order and first reviewed in another; some are reviewed twice."""
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.7, 0.8, 0.9], n).tolist()
    drafts = [
        record(f"d{seed}-{number}", c, category=str(rng.choice(["a", "b"])), project=project)
        for number, c in enumerate(stated)
    ]
    for number in rng.permutation(n).tolist():
        drafts.append(review(f"d{seed}-{number}", "success" if rng.random() < stated[number] + gap else "failure"))
        if rng.random() < 0.1:
            drafts.append(review(f"d{seed}-{number}", str(rng.choice(OUTCOMES))))  # type: ignore[arg-type]
    return drafts


def found_of(calibration: Calibration, group_by: str = "category", **chosen: str) -> dict[str | None, ReviewEvidence]:
    filters = CalibrationFilter(**chosen)  # type: ignore[arg-type]
    selection = calibration.selection(filters)
    found = calibration.evidence(filters, group_by, selection).compute(no_check)  # type: ignore[arg-type]
    groups = found.by(group_by)  # type: ignore[arg-type]
    return {"(all)": found.overall, **{name: groups.of(name) for name in groups.numbers}}


def expected(drafts: list[Draft], category: str | None) -> tuple[float, float, int | None, int]:
    """The logarithm of both e-values, the review at which "over" was supported, and the number of reviews."""
    stated: dict[str, tuple[float, str | None]] = {}
    first: dict[str, float] = {}
    for data in (draft.data for draft in drafts):
        if isinstance(data, DecisionRecordedV1):
            assert data.confidence is not None
            stated[str(data.decision_id)] = (data.confidence, data.category)
        elif isinstance(data, DecisionReviewed) and category in {None, stated[data.decision_id][1]}:
            first.setdefault(data.decision_id, VALUES[data.outcome])
    c, o = [stated[name][0] for name in first], list(first.values())
    over, under = running_log_e_values(np.array(c), np.array(o))
    hits = np.flatnonzero(over >= LOG_SUPPORTED)
    return float(over[-1]), float(under[-1]), int(hits[0]) + 1 if len(hits) else None, len(c)


@pytest.mark.parametrize("step", [1, 37, 5_000])
def test_the_trace_is_that_of_each_review(step: int) -> None:
    """However the events come in batches, and whether one asks in between."""
    drafts = drafts_of(150, -0.25, 3)
    events = events_of(drafts)
    calibration = Calibration()
    for start in range(0, len(events), step):
        calibration.fold(events[start : start + step])
        if start % 3 == 0:
            found_of(calibration)
    found = found_of(calibration)
    for name, category in (("(all)", None), ("a", "a"), ("b", "b")):
        over, under, at, _ = expected(drafts, category)
        gap = found[name].gap
        assert gap is not None
        assert (gap.log_over, gap.log_under) == pytest.approx((over, under), abs=1e-9)
        assert gap.supported_at.get("over") == at
    again = restored(calibration)
    assert again.digest() == calibration.digest()
    assert [one.gap and one.gap.supported_at for one in found_of(again).values()] == [
        one.gap and one.gap.supported_at for one in found.values()
    ]


@pytest.mark.slow
def test_many_blocks_are_the_same_as_few() -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    drafts: list[Draft] = []
    for number in range(n):
        drafts.append(record(f"d{number}", float(rng.choice([0.6, 0.8, 0.95])), category="a" if number % 3 else "b"))
        drafts.append(review(f"d{number}", "success" if rng.random() < 0.78 else "failure"))
    calibration = Calibration()
    calibration.fold(events_of(drafts))
    found = found_of(calibration)
    for name, category in (("(all)", None), ("a", "a"), ("b", "b")):
        over, under, at, _ = expected(drafts, category)
        gap = found[name].gap
        assert gap is not None
        assert (gap.log_over, gap.log_under) == pytest.approx((over, under), rel=1e-9)
        assert gap.supported_at.get("over") == at


def test_a_supported_verdict_stays_until_a_retraction() -> None:
    """Twenty failures at .9, then a hundred successes: the stake falls, the support stays."""
    names = [f"d{number}" for number in range(120)]
    drafts = [record(name, 0.9) for name in names]
    drafts += [review(name, "failure" if number < 20 else "success") for number, name in enumerate(names)]
    calibration = Calibration()
    calibration.fold(events_of(drafts))
    before = found_of(calibration)["(all)"].gap
    assert before is not None
    at = before.supported_at["over"]
    assert 1 < at < 20
    assert before.log_over < LOG_SUPPORTED
    view = calibration.view(CalibrationFilter())
    assert view.overall is not None
    assert (view.overall.supported, view.overall.supported_at) == (True, at)
    calibration = Calibration()
    calibration.fold(events_of([*drafts, *(retract(name) for name in names[:20])]))
    after = found_of(calibration)["(all)"].gap
    assert after is not None
    assert "over" not in after.supported_at


def test_a_filter_selects_what_it_names() -> None:
    mine, other = drafts_of(120, -0.3, 5, project="x"), drafts_of(120, 0.0, 6, project="y")
    calibration = Calibration()
    calibration.fold(events_of([*mine, *other]))
    found = found_of(calibration, project="x")["(all)"].gap
    over, _, at, _ = expected(mine, None)
    assert found is not None
    assert found.log_over == pytest.approx(over, abs=1e-9)
    assert found.supported_at.get("over") == at
    assert found_of(calibration, project="z")["(all)"].gap is None


def stakes_review_by_review(order: ReviewOrder, group: np.ndarray, cluster: np.ndarray) -> dict[str, object]:
    """Follow one group by the definition: the factor of a cluster is the mean of its reviews' factors so far."""
    whole = order.reviews.take(slice(0, order.size))
    at: dict[str, int] = {}
    factors: dict[int, list[np.ndarray]] = {}
    sums: dict[int, list[float]] = {}
    alone = -1
    n = 0
    for number in np.flatnonzero(group & ~np.isnan(CODE_VALUES[whole.code])).tolist():
        c, o = order.levels.of_cell[whole.cell[number]], CODE_VALUES[whole.code[number]]
        key = int(cluster[number])
        if key < 0:
            alone -= 1
            key = alone
        both = np.concatenate([log_factors_over(c, o), log_factors_under(c, o)]).ravel()
        factors.setdefault(key, []).append(np.exp(both))
        sums.setdefault(key, []).append(o - c)
        n += 1
        logs = np.sum([np.log(np.mean(one, axis=0)) for one in factors.values()], axis=0)
        differences = [sum(one) for one in sums.values()]
        largest = max(map(len, sums.values()))
        within = log_e_within(
            *(np.array([float(x)]) for x in (n, sum(differences), np.square(differences).sum(), largest))
        )
        k = len(logs) // 2
        for side, log in (("over", log_mean_exp(logs[:k])), ("under", log_mean_exp(logs[k:])), ("well", within[0])):
            if log >= LOG_SUPPORTED:
                at.setdefault(side, n)
    return {"n": n, "at": at, "clusters": len(sums)}


@pytest.mark.parametrize("seed", range(24))
def test_the_trace_of_blocks_is_that_of_each_review(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without clusters, in turns or mixed, for agents that are off by much, by little and not at all.

    With few clusters kept, the sums of others are made again when they have a review.
    """
    monkeypatch.setattr(evidence_trace, "BLOCK_REVIEWS", 32)
    if seed % 4 > 1:
        monkeypatch.setattr(cluster_sums, "CLUSTERS_MIN", 20)
        monkeypatch.setattr(cluster_sums, "CLUSTERS_MAX", 40)
    rng = np.random.default_rng(seed)
    n, groups, levels = 400, 3, np.array([0.55, 0.8, 0.95])
    size = int(rng.choice([1, 3, 8, 60]))
    cluster = np.arange(n) // size
    if seed % 2:
        cluster = rng.permutation(cluster)
    cluster = np.where(rng.random(n) < (0.0, 0.3, 1.0)[seed % 3], -1, cluster)
    cell = rng.integers(0, groups * len(levels), n).astype(np.uint32)
    stated = np.tile(levels, groups)
    gap = (-0.3, 0.0, 0.04)[seed // 3 % 3]
    code = np.where(rng.random(n) < np.clip(stated[cell] + gap, 0, 1), 0, 2).astype(np.uint8)
    code[rng.random(n) < 0.1] = 1
    code[rng.random(n) < 0.02] = 3
    block = Block(cell, code, np.zeros(n, np.int64), cluster)
    order = ReviewOrder(block, n, 0, ConfidenceLevels(stated), clustered=True)
    grouping = Grouping(np.repeat(np.arange(groups), len(levels)), groups, -1, 1)
    stakes = Stakes.before(order)
    for stop in (*sorted(rng.integers(1, n, 3).tolist()), n):
        stakes = follow_reviews(stakes, order._replace(size=stop), grouping, no_check)
    for group in range(groups):
        found = evidence_of(stakes, group)
        assert found is not None
        expected = stakes_review_by_review(order, grouping.group[cell] == group, cluster)
        count = found.clusters.clusters if found.clusters else stakes.reviewed[group]
        assert {"n": stakes.reviewed[group], "at": found.supported_at, "clusters": count} == expected
