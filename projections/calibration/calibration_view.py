"""Calibration figures of cells of counts: overall, by group and by range of confidence."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, structs

from events.envelope import agent_of
from projections.arrays import Floats
from projections.calibration.category_recalibration import RecalibrationMaps, fit_recalibration_maps
from projections.calibration.cell_groups import EVERY_GROUP, GroupPage, Groups, make_groups, sum_cells
from projections.calibration.confidence_bins import bin_counts, merge_cells, merge_cells_by_group
from projections.calibration.confidence_use import UseFields, score_use
from projections.calibration.count_table import Counts, CountTable
from projections.calibration.gap_evidence import find_tipping_points
from projections.calibration.missing_reviews import describe_missing_reviews, review_cells
from projections.calibration.named_clusters import ClusterPart
from projections.calibration.row_evidence import evidence_of_rows
from projections.calibration.row_support import RowSupport, support_buckets, support_rows
from projections.calibration.score_recommendations import (
    CategoryScores,
    recommend_from_scores,
    recommend_more_reviews,
    warn_about_categories,
)
from projections.calibration.scores import (
    BUCKETS,
    compute_scores,
    count_coverage,
    gap_side,
    measure_spread,
    missing_outcomes,
    reviews_needed,
    score_buckets,
    stated_side,
)
from projections.calibration.view_evidence import COUNTS_ALONE, NO_EVIDENCE, GroupEvidence, ViewEvidence
from projections.calibration.words import GroupBy
from projections.query_check import Check, no_check
from tallystick.shapes.calibration import Bucket, CalibrationGroup, CalibrationScores, CalibrationView, ReviewsNeeded
from tallystick.shapes.missing_reviews import TippingPoints


class ShrunkGaps(NamedTuple):
    """For each group, the shrunk gap and the weight of its own gap."""

    gap: Floats
    weight: Floats


def shrink_gaps(gap: Floats, spread: Floats, n: Floats) -> ShrunkGaps | None:
    """Shrink the gap of each group towards the overall gap; return None for fewer than two groups.

    The shrunk gap is w gap + (1 - w) overall, with w = tau² / (tau² + sigma²/n): tau² is the variance between groups
    beyond chance, sigma² that of single decisions within groups (empirical Bayes; the variances are estimated by
    moments, after DerSimonian and Laird, 1986). A gap of .30 in a group of five reviews is more likely chance.

    `spread` is the sum of squares of o - c about the group's mean, `n` its number of reviews, at least 1. If groups
    differ no more than by chance, or if each has a single review, all weights are 0.
    """
    if len(n) < 2:
        return None
    overall = float((n * gap).sum() / n.sum())
    free = float(n.sum()) - len(n)
    if free <= 0:
        return ShrunkGaps(np.full_like(gap, overall), np.zeros_like(gap))
    variance = float(spread.sum()) / free
    excess = float((n * (gap - overall) ** 2).sum()) - (len(n) - 1) * variance
    between = max(0.0, excess / float(n.sum() - (n**2).sum() / n.sum()))
    total = between + variance / n
    weight = np.divide(between, total, out=np.ones_like(gap), where=total > 0)
    return ShrunkGaps(weight * gap + (1 - weight) * overall, weight)


def build_calibration_view(
    table: CountTable,
    group_by: GroupBy,
    min_decisions: int,
    *,
    curves: bool,
    threshold: float | None = None,
    warned: Sequence[CategoryScores] | None = None,
    page: GroupPage = EVERY_GROUP,
    evidence: ViewEvidence = NO_EVIDENCE,
    check: Check = no_check,
) -> CalibrationView:
    """Compute the scores of cells: overall, by group and by bucket.

    `overall` and the scores of a group are None below `min_decisions` reviewed decisions. With `curves`, each has its
    curve and band, and the view has a recalibration map, an AUC and a Murphy diagram. With a `threshold` it has what
    acting above it would have come to. `warned` are the scores of the table's categories if the caller has already
    computed them. `evidence` is what counts do not tell. `check` is called between parts of the work; it may
    pause, and raises to stop the computation.
    """
    cells = merge_cells(table.confidence, table.counts)
    check()
    overall = compute_scores(*cells, curves=curves, evidence=evidence.overall)
    by_bucket, spread = _score_buckets(*cells, evidence.by("confidence_bucket"), check), measure_spread(*cells)
    reviewed = overall.reviewed if overall is not None else 0
    if overall is None or reviewed < min_decisions:
        overall, recommendations = None, [recommend_more_reviews(reviewed, min_decisions)]
    else:
        categories = score_categories(table, evidence.by("category"), check) if warned is None else warned
        found = recommend_from_scores(overall, by_bucket, spread, categories)
        recommendations = [*found, *warn_about_categories(categories)]
    grouped = table if group_by != "confidence_bucket" else _without_groups(*cells)
    check()
    groups = make_groups(grouped, group_by, check)
    check()
    rows = list(_score_groups(groups, min_decisions, page, evidence, curves=curves, check=check))
    total, after = len(groups.nonempty), page.offset + len(rows)
    maps = fit_recalibration_maps(table, evidence, check) if curves and overall is not None else RecalibrationMaps()
    return CalibrationView(
        overall=overall,
        coverage=count_coverage(*cells),
        groups=tuple(rows),
        buckets=tuple(by_bucket),
        recommendations=tuple(recommendations),
        confidence_stats=spread,
        recalibration=maps.overall,
        recalibration_by_category=tuple(maps.by_category),
        retracted=table.retracted,
        groups_total=None if len(rows) == total else total,
        groups_next=UNSET if len(rows) == total else after if after < total else None,
        missing_reviews=None
        if overall is None
        else describe_missing_reviews(
            review_cells(table), overall, _tipping_points(cells, overall, evidence.overall.clusters), check
        ),
        reviews_needed_by_gap=() if overall is None else tuple(_needed_by_gap(cells, overall)),
        **({} if overall is None else _score_use(cells, overall, threshold, evidence.overall.clusters, curves=curves)),
    )


def _tipping_points(
    cells: tuple[Floats, Counts], overall: CalibrationScores, named: ClusterPart | None
) -> TippingPoints | None:
    """Return the tipping points of what is stated; None if there is not enough evidence for it."""
    if not overall.supported and not overall.surely_off and overall.unsure_because != "missing_reviews":
        return None
    reviews, missing = bin_counts(*cells).weighted_reviews(), missing_outcomes(*cells)
    return find_tipping_points(reviews, named, missing, stated_side(overall))


def _needed_by_gap(cells: tuple[Floats, Counts], overall: CalibrationScores) -> list[ReviewsNeeded]:
    if not overall.reviews_needed:
        return []
    bins, clusters = bin_counts(*cells), None if overall.clusters is UNSET else overall.clusters
    side, ends = gap_side(overall.interpretation), overall.gap_interval
    return [
        ReviewsNeeded(gap=gap, reviews=reviews_needed(bins, side, gap, clusters))
        for gap in (ends.low, overall.gap, ends.high)
    ]


def _score_use(
    cells: tuple[Floats, Counts],
    overall: CalibrationScores,
    threshold: float | None,
    named: ClusterPart | None,
    *,
    curves: bool,
) -> UseFields:
    effective = None if overall.clusters is UNSET else overall.clusters.effective_reviews
    return score_use(bin_counts(*cells), threshold, curves=curves, effective_reviews=effective, named=named)


def _score_buckets(confidence: Floats, counts: Counts, evidence: GroupEvidence, check: Check) -> list[Bucket]:
    """Return the buckets of merged cells."""
    buckets = list(score_buckets(confidence, counts, evidence.of))
    shown = [row.bucket for row in buckets]
    numbers = np.array([number for number, (name, _, _) in enumerate(BUCKETS) if name in shown], dtype=np.intp)
    groups = make_groups(_without_groups(confidence, counts), "confidence_bucket", check)
    return support_buckets(buckets, evidence_of_rows(groups, numbers, evidence, check))


def _without_groups(confidence: Floats, counts: Counts) -> CountTable:
    return CountTable([], np.zeros(0, dtype=np.uint32), confidence, counts)


def score_categories(
    table: CountTable, evidence: GroupEvidence = COUNTS_ALONE, check: Check = no_check
) -> list[CategoryScores]:
    """Compute the mean scores of each named category with a reviewed decision, sorted by name, all in one pass.

    `evidence` is what counts do not tell about the categories.
    """
    groups = make_groups(table, "category", check)
    sums = sum_cells(groups, check)
    numbers = np.flatnonzero(sums.n)
    gap = (sums.outcome[numbers] - sums.confidence[numbers]) / sums.n[numbers]
    surely_off = np.zeros(len(sums.n), dtype=bool)
    surely_off[numbers] = support_rows(gap, evidence_of_rows(groups, numbers, evidence, check)).surely_off
    return [
        CategoryScores(
            category=name,
            reviewed=int(n),
            total=int(total),
            accuracy=outcome_sum / n,
            mean_confidence=confidence_sum / n,
            brier_score=max(0.0, loss / n),
            surely_off=bool(surely_off[number]),
        )
        for number, (total, n, outcome_sum, loss, confidence_sum) in enumerate(
            zip(*(column.tolist() for column in sums), strict=True)
        )
        if n and (name := groups.names.of(number)) is not None
    ]


def _score_groups(
    groups: Groups, min_decisions: int, page: GroupPage, evidence: ViewEvidence, *, curves: bool, check: Check
) -> Iterator[CalibrationGroup]:
    """Yield a row for each group of a page. In the order of names, the group without one is last."""
    shown = page.choose(groups)
    place = np.full(len(groups.names.ranks) + 1, -1, dtype=np.intp)  # the last is that of cells without a group
    place[shown] = np.arange(len(shown))
    cells = place[groups.numbers] >= 0
    table = groups.table
    collapsed = merge_cells_by_group(
        table.confidence[cells], table.counts[cells], place[groups.numbers[cells]], len(shown)
    )
    scores = []
    by_group = evidence.by(groups.group_by)
    for number, group_cells in zip(shown.tolist(), collapsed, strict=True):
        check()
        scores.append(compute_scores(*group_cells, curves=curves, evidence=by_group.of(groups.names.of(number))))
    all_groups = _mean_scores(groups, shown, scores, check)
    shrunk = _shrink_groups(groups, all_groups)
    check()
    support = _support_groups(groups, all_groups, min_decisions, by_group, check)
    for number, group_cells, group_scores in zip(shown.tolist(), collapsed, scores, strict=True):
        name = groups.names.of(number)
        label = agent_of(name) if groups.group_by == "agent" and name is not None else name
        if group_scores is None or group_scores.reviewed < min_decisions:
            yield CalibrationGroup(group=label, **structs.asdict(count_coverage(*group_cells)))
        else:
            fields = {**structs.asdict(group_scores), **shrunk.of(number), **support.of(number, group_scores)}
            yield CalibrationGroup(group=label, **fields)


class _GroupMeans(NamedTuple):
    """The numbers of all groups with reviews, ascending; the number of reviews, the gap and the Brier score of each."""

    numbers: npt.NDArray[np.intp]
    n: Floats
    gap: Floats
    brier: Floats


class _ShrunkGroups(NamedTuple):
    """The shrunk gaps of groups, by number. They depend on all groups, whichever are shown."""

    numbers: npt.NDArray[np.intp]
    shrunk: ShrunkGaps | None

    def of(self, number: int) -> dict[str, float]:
        """Return the fields of a group."""
        if self.shrunk is None:
            return {}
        place = np.searchsorted(self.numbers, number)
        return {"shrunk_gap": float(self.shrunk.gap[place]), "shrunk_weight": float(self.shrunk.weight[place])}


class _SupportedGroups(NamedTuple):
    """The support of the verdicts on groups, by number. It depends on all groups, whichever are shown."""

    numbers: npt.NDArray[np.intp]
    support: RowSupport

    def of(self, number: int, scores: CalibrationScores) -> dict[str, object]:
        """Return the fields that differ from the scores of the group alone."""
        place = int(np.searchsorted(self.numbers, number))
        if not scores.supported or self.support.supported[place]:
            return {}
        needed = self.support.reviews_needed(place, scores.reviewed)
        return {"supported": False, "reviews_needed": needed, "unsure_because": "many_rows"}


def _shrink_groups(groups: Groups, all_groups: _GroupMeans) -> _ShrunkGroups:
    if groups.group_by == "confidence_bucket":
        return _ShrunkGroups(all_groups.numbers, None)
    gap, n = all_groups.gap, all_groups.n
    shrunk = shrink_gaps(gap, n * np.maximum(all_groups.brier - gap**2, 0), n)
    return _ShrunkGroups(all_groups.numbers, shrunk)


def _support_groups(
    groups: Groups, all_groups: _GroupMeans, min_decisions: int, by_group: GroupEvidence, check: Check
) -> _SupportedGroups:
    """Return the support of all groups that have a verdict."""
    judged = all_groups.n >= min_decisions
    numbers = all_groups.numbers[judged]
    evidence = evidence_of_rows(groups, numbers, by_group, check)
    return _SupportedGroups(numbers, support_rows(all_groups.gap[judged], evidence))


def _mean_scores(
    groups: Groups, shown: npt.NDArray[np.intp], scores: Sequence[CalibrationScores | None], check: Check
) -> _GroupMeans:
    """Return the means of all groups with reviews: of the scores if all are shown, or else in one pass."""
    if len(shown) == len(groups.nonempty):
        ascending = np.argsort(shown)
        shown, scores = shown[ascending], [scores[place] for place in ascending.tolist()]
        scored = np.array([found is not None for found in scores], dtype=bool)
        n, accuracy, confidence, brier = (
            np.array([float(getattr(found, name)) for found in scores if found is not None])
            for name in ("reviewed", "accuracy", "mean_confidence", "brier_score")
        )
        return _GroupMeans(shown[scored], n, accuracy - confidence, brier)
    sums = sum_cells(groups, check)
    numbers = np.flatnonzero(sums.n)
    n = sums.n[numbers]
    gap = sums.outcome[numbers] / n - sums.confidence[numbers] / n
    return _GroupMeans(numbers, n, gap, np.maximum(0.0, sums.loss[numbers] / n))
