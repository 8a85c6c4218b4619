"""Calibration scores (CSTP's getCalibration, known as F009), computed from counts of outcomes by stated confidence.

o is 1 for success, 0.5 for partial, 0 for failure and abandoned; c is the stated confidence. Only reviewed decisions
with a stated confidence are used. Nothing is rounded here; interfaces that promise rounded values round them.
"""

from collections.abc import Callable, Iterator
from math import ceil, isfinite, sqrt
from typing import TypedDict

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, structs

from projections.arrays import Floats
from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins, bin_counts, bin_reviews
from projections.calibration.corp import decompose_brier
from projections.calibration.count_table import Counts
from projections.calibration.counted_columns import OPEN, WAITING
from projections.calibration.gap_evidence import (
    NO_ORDER,
    GapEvidence,
    MissingOutcomes,
    ReviewEvidence,
    evidence_of_counts,
)
from projections.calibration.named_clusters import ClusterPart
from projections.outcome_codes import OUTCOMES_COUNT, UNREVIEWED
from projections.stats.clustered_mean import INDEPENDENT
from projections.stats.intervals import CONFIDENCE_LEVEL, gap_interval, mean_outcome_interval, supports, wilson_interval
from projections.stats.verdict_power import Record, reviews_for_verdict
from tallystick.shapes.calibration import (
    BrierRating,
    Bucket,
    CalibrationScores,
    ConfidenceSpread,
    Coverage,
    GapSide,
    UnsureBecause,
    Verdict,
    ZTest,
)
from tallystick.shapes.dependence import Clusters
from tallystick.shapes.parts import Interval

TOLERANCE = 1e-9
"""A float this close to a limit is treated as equal to it, so that equal gaps always get the same verdict."""

WELL_CALIBRATED_BELOW = 0.05
SLIGHT_GAP_MAX = 0.10
BUCKET_GAP_MAX = 0.10
"""Limits of the absolute gap for its verdict."""

BRIER_LIMITS: tuple[tuple[float, BrierRating], ...] = ((0.10, "excellent"), (0.20, "good"), (0.30, "fair"))
"""The Brier score that each rating requires a lower score than."""

BUCKET_REVIEWS_MIN = 3
"""Buckets with fewer reviews are left out."""

BUCKETS = (("0.9-1.0", 0.9, 0.95), ("0.7-0.9", 0.7, 0.80), ("0.5-0.7", 0.5, 0.60), ("0.0-0.5", 0.0, 0.25))
"""Name, lower bound (included) and expected rate of each bucket, from the top. 1.0 belongs to the first."""

REVIEWS_MIN = {"in_the_large": 10, "spiegelhalter": 20, "corp": 50, "skill": 50}
"""With fewer reviews a score is too uncertain to interpret. Reviews in clusters count as their effective number."""

_TOLERANCE = 1e-12


def compute_scores(
    confidence: Floats, counts: Counts, *, curves: bool = False, evidence: ReviewEvidence = NO_ORDER
) -> CalibrationScores | None:
    """Compute the scores of cells; return None without a reviewed decision that has a confidence."""
    bins = bin_counts(confidence, counts)
    if bins.reviewed == 0:
        return None
    c, n, outcome_sum, mean = bins.confidence, bins.reviewed, bins.outcome_total, bins.mean_confidence
    brier, gap = brier_score(bins), _without_rounding(outcome_sum / n - mean)
    log_score = _log_score(bins)
    corp = decompose_brier(bins, curves=curves)
    success, partial, failure, abandoned = bins.outcomes.sum(axis=0).tolist()
    missing = missing_outcomes(confidence, counts)
    verdict, found = judge_gap(gap), evidence_of_counts(*bins.weighted_reviews(), evidence.clusters, missing)
    interval, rates = one_look_intervals(bins, found)
    independent = n if found.clusters is None else found.clusters.effective_reviews
    return CalibrationScores(
        brier_score=brier,
        accuracy=outcome_sum / n,
        mean_confidence=mean,
        gap=gap,
        **_judge(bins, verdict, found),
        surely_off=found.supports("over") or found.supports("under"),
        brier_reading=rate_brier(brier),
        **structs.asdict(count_coverage(confidence, counts)),
        success=success,
        partial=partial,
        failure=failure,
        abandoned=abandoned,
        success_interval=wilson_interval(success, n),
        gap_interval=interval,
        log_score=log_score if isfinite(log_score) else None,
        log_score_infinite=not isfinite(log_score),
        skill=1 - brier / corp.uncertainty if corp.uncertainty > 0 else None,
        sharpness=float((bins.n * (c - mean) ** 2).sum()) / n,
        corp=corp,
        in_the_large=_test(bins, 0, evidence.clusters),
        spiegelhalter=_test(bins, 2, evidence.clusters) if partial == 0 else None,
        too_few_for=tuple(name for name, needed in REVIEWS_MIN.items() if independent < needed),
        accuracy_interval=rates,
        skill_interval=skill_interval(bins, evidence.clusters),
        **_count_certain(bins),
        e_value=found.e_value,
        gap_e_values=found.gap_e_values,
        gap_sequence=found.gap_sequence,
        dependence=evidence.dependence,
        clusters=found.clusters or UNSET,
    )


def missing_outcomes(confidence: Floats, counts: Counts) -> MissingOutcomes:
    """Return the decisions with a stated confidence that are due and have no review."""
    stated = ~np.isnan(confidence)
    overdue, may_come = counts[stated, UNREVIEWED], counts[stated, OPEN:].sum(axis=1)
    return MissingOutcomes(confidence[stated], overdue.astype(np.float64), may_come.astype(np.float64))


class _CertainFields(TypedDict):
    certain: int
    certain_wrong: int


def _count_certain(bins: ConfidenceBins) -> _CertainFields:
    """Count the reviewed decisions with a confidence of 0 or 1, and those of them with another outcome."""
    sure = (bins.confidence == 0) | (bins.confidence == 1)
    wrong = bins.outcomes[sure] * (bins.confidence[sure, np.newaxis] != REVIEWED_VALUES)
    return {"certain": int(bins.n[sure].sum()), "certain_wrong": int(wrong.sum())}


class _VerdictFields(TypedDict):
    interpretation: Verdict
    supported: bool
    reviews_needed: int | None
    reviews_needed_gap: float | None
    unsure_because: UnsureBecause | None


def one_look_intervals(bins: ConfidenceBins, evidence: GapEvidence) -> tuple[Interval, Interval]:
    """Return the intervals of the gap and of the mean outcome at one look, which allow for clusters."""
    mean = bins.mean_confidence
    if evidence.interval is None:
        outcomes = bins.outcome_total, bins.reviewed
        return gap_interval(*outcomes, mean), mean_outcome_interval(*outcomes)
    gap = evidence.interval
    return gap, Interval(max(0.0, gap.low + mean), min(1.0, gap.high + mean))


def _judge(bins: ConfidenceBins, verdict: Verdict, evidence: GapEvidence) -> _VerdictFields:
    """Return a verdict, and whether the evidence about the gap to the stated confidences supports it.

    Reviews in clusters count as their effective number, so more of them are needed.
    """
    side = gap_side(verdict)
    unsure = _unsure_because(side, evidence)
    gap = _without_rounding(bins.outcome_total / bins.reviewed - bins.mean_confidence)
    # more reviews do not help where outcomes are missing or gaps cancel: no number is stated then
    needed = reviews_needed(bins, side, gap, evidence.clusters) if unsure == "evidence" else None if unsure else 0
    return {
        "interpretation": verdict,
        "supported": unsure is None,
        "reviews_needed": needed,
        "reviews_needed_gap": gap if needed else None,
        "unsure_because": unsure,
    }


def _unsure_because(side: GapSide, evidence: GapEvidence) -> UnsureBecause | None:
    if evidence.supports(side):
        return None
    if evidence.supports_reviewed(side):
        return "missing_reviews"
    return "each_confidence" if side == "well" and supports("well", evidence.gap_sequence) else "evidence"


def reviews_needed(bins: ConfidenceBins, side: GapSide, gap: float, clusters: Clusters | None) -> int | None:
    """Return after how many further reviews 80% of agents with a true gap have a verdict confirmed; None: no number."""
    # the number is computed for independent reviews; one in a cluster counts as a share of these
    share = 1.0 if clusters is None else clusters.effective_reviews / bins.reviewed
    needed = reviews_for_verdict(side, Record(bins.confidence, share * bins.value_counts), gap)
    return None if needed is None else ceil(needed / share)


def count_coverage(confidence: Floats, counts: Counts) -> Coverage:
    """Count the decisions of cells, and those that the scores leave out."""
    by_outcome, stated = counts.sum(axis=0).tolist(), counts[~np.isnan(confidence)].sum(axis=0).tolist()
    return Coverage(
        reviewed=sum(stated[UNREVIEWED + 1 : OUTCOMES_COUNT]),
        total=sum(by_outcome),
        unreviewed=sum(by_outcome[UNREVIEWED::OUTCOMES_COUNT]),  # due, waiting and open
        without_confidence=sum(by_outcome) - sum(stated),
        early=sum(by_outcome[WAITING + 1 : OPEN]),
        pending=sum(by_outcome[WAITING : WAITING + 1]),
        overdue=by_outcome[UNREVIEWED],
    )


def brier_score(bins: ConfidenceBins, forecast: Floats | None = None) -> float:
    """Return the mean squared difference of outcome and confidence, or of outcome and a forecast for each bin."""
    c = bins.confidence if forecast is None else forecast
    return float((bins.outcomes * (c[:, np.newaxis] - REVIEWED_VALUES) ** 2).sum()) / bins.reviewed


def _log_score(bins: ConfidenceBins) -> float:
    """Return the mean of -(o ln c + (1 - o) ln(1 - c)) in nats; infinite if a confidence of 0 or 1 was wrong."""
    from scipy.special import xlog1py, xlogy  # in which 0 ln 0 is 0

    c, successes, failures = bins.confidence, bins.outcome_sum, bins.n - bins.outcome_sum
    return -float((xlogy(successes, c) + xlog1py(failures, -c)).sum()) / bins.reviewed + 0.0  # turns -0.0 into 0.0


def _test(bins: ConfidenceBins, slope: int, named: ClusterPart | None) -> ZTest | None:
    """Test the sum of (1 - slope * c)(o - c), standardised as if o were drawn with probability c.

    Its variance is multiplied by the design effect of named clusters. That holds near certainty too, where adding the
    observed excess rejects in up to 63% of samples. None without variance, or if one cluster has most of them.
    """
    c, effect = bins.confidence, INDEPENDENT
    weight = 1 - slope * c
    variance = float((weight**2 * bins.n * c * (1 - c)).sum())
    if named is not None:
        each, expected = 1 - slope * named.confidence, named.confidence * (1 - named.confidence)
        effect = named.design_effect(each * named.difference, variance, bins.reviewed, each**2 * expected)
    if variance <= 0 or not effect.known:
        return None
    z = float((weight * (bins.outcome_sum - bins.n * c)).sum()) / sqrt(variance * effect.ratio)
    return ZTest(z=z, p=effect.p_value(z))


def gap_side(verdict: Verdict) -> GapSide:
    """Return the side of the gap that a verdict states."""
    if verdict == "well_calibrated":
        return "well"
    return "over" if verdict in {"overconfident", "slightly_overconfident"} else "under"


def stated_side(scores: CalibrationScores) -> GapSide:
    """Return the side of the gap that is stated of scores: of a small gap that is surely not 0, its sign."""
    if scores.surely_off:
        return "over" if scores.gap < 0 else "under"
    return gap_side(scores.interpretation)


def judge_gap(gap: float) -> Verdict:
    """Return the verdict on a gap, accuracy minus mean confidence."""
    size = abs(gap)
    if size < WELL_CALIBRATED_BELOW - TOLERANCE:
        return "well_calibrated"
    slight = size <= SLIGHT_GAP_MAX + TOLERANCE
    if gap < 0:
        return "slightly_overconfident" if slight else "overconfident"
    return "slightly_underconfident" if slight else "underconfident"


def judge_bucket_gap(gap: float) -> Verdict:
    """Return CSTP's verdict on a bucket, which compares with the bucket's expected rate.

    A gap of .10 is well calibrated: an agent that states .70 and achieves .70 differs by .10 from the bucket's middle.
    """
    if abs(gap) <= BUCKET_GAP_MAX + TOLERANCE:
        return "well_calibrated"
    return "overconfident" if gap < 0 else "underconfident"


def rate_brier(score: float) -> BrierRating:
    """Rate a Brier score in one word."""
    return next((rating for limit, rating in BRIER_LIMITS if score < limit - TOLERANCE), "poor")


def bucket_numbers(confidence: Floats) -> npt.NDArray[np.intp]:
    """Return the index in BUCKETS of each confidence; -1 for NaN. With TOLERANCE, 3 * 0.3 is in the bucket from .9."""
    edges = np.array([low for _, low, _ in reversed(BUCKETS)])
    numbers = len(BUCKETS) - np.searchsorted(edges, confidence + TOLERANCE, side="right")
    return np.where(np.isnan(confidence), -1, numbers)


EvidenceOf = Callable[[str], ReviewEvidence]
"""Returns the evidence of a bucket by its name."""


def score_buckets(confidence: Floats, counts: Counts, evidence_of: EvidenceOf = lambda _: NO_ORDER) -> Iterator[Bucket]:
    """Yield the buckets with at least BUCKET_REVIEWS_MIN reviews, from the top."""
    bins = bin_counts(confidence, counts)
    numbers, cells = bucket_numbers(bins.confidence), bucket_numbers(confidence)
    for number, (name, _, expected) in enumerate(BUCKETS):
        inside = numbers == number
        part = bin_reviews(bins.confidence[inside], bins.outcomes[inside])
        n, outcome_sum = part.reviewed, part.outcome_total
        if n < BUCKET_REVIEWS_MIN:
            continue
        gap, stated_gap = (_without_rounding(outcome_sum / n - rate) for rate in (expected, part.mean_confidence))
        missing = missing_outcomes(confidence[cells == number], counts[cells == number])
        evidence = evidence_of_counts(*part.weighted_reviews(), evidence_of(name).clusters, missing)
        interval, rates = one_look_intervals(part, evidence)
        yield Bucket(
            bucket=name,
            decisions=n,
            success_rate=outcome_sum / n,
            expected_rate=expected,
            mean_confidence=part.mean_confidence,
            gap=gap,
            **_judge(part, judge_gap(stated_gap), evidence),
            success_interval=wilson_interval(int(part.outcomes[:, 0].sum()), n),
            stated_gap=stated_gap,
            stated_gap_interval=interval,
            expected_interpretation=judge_bucket_gap(gap),
            success_rate_interval=rates,
        )


def measure_spread(confidence: Floats, counts: Counts) -> ConfidenceSpread | None:
    """Measure the distribution of all stated confidences; return None without any."""
    stated = ~np.isnan(confidence)
    c, n = confidence[stated] + 0.0, counts[stated].sum(axis=1)  # turns -0.0 into 0.0
    total = int(n.sum())
    if total == 0:
        return None
    mean = float((c * n).sum()) / total
    tenth = np.minimum(np.floor((c + TOLERANCE) * 10), 9).astype(np.intp)
    by_tenth = np.bincount(tenth, weights=n, minlength=10)
    return ConfidenceSpread(
        mean=mean,
        std_dev=float(np.sqrt((n * (c - mean) ** 2).sum() / total)),
        min=float(c[n > 0].min()),
        max=float(c[n > 0].max()),
        count=total,
        tenths={f"{i / 10:.1f}-{(i + 1) / 10:.1f}": int(by_tenth[i]) for i in range(9, -1, -1) if by_tenth[i]},
    )


def _without_rounding(value: float) -> float:
    """Return the value, or 0.0 if it is only a rounding error; never -0.0."""
    return 0.0 if abs(value) < TOLERANCE * 1e-3 else value


def skill_interval(bins: ConfidenceBins, named: ClusterPart | None = None) -> Interval | None:
    """Return the 95% interval of the skill, which allows for named clusters.

    It is None if all outcomes are alike, because then the skill is undefined. It is also None if reviews do not show
    how much the skill varies: if it is the same at each of them, or if one cluster has most of them.

    Skill is 1 - B/U, with B the mean of (o - c)^2 and U the mean of (o - mean of o)^2. Its variance is that of the mean
    of (o - c)^2 - (B/U)(o - mean of o)^2, divided by U^2 (delta method; U does not change to first order with the mean
    of o). Between 50 and 1,000 reviews the interval contains the skill in 92 to 96% of samples.
    Source: Bradley, Schwartz and Hashino, Sampling uncertainty and confidence intervals for the Brier score and Brier
    skill score, Weather and Forecasting 2008.
    """
    rows, columns = np.nonzero(bins.outcomes)
    n, outcome = bins.outcomes[rows, columns], REVIEWED_VALUES[columns]
    if bins.reviewed == 0 or np.ptp(outcome) == 0:
        return None
    loss = (outcome - bins.confidence[rows]) ** 2
    baseline = (outcome - bins.outcome_total / bins.reviewed) ** 2
    brier, uncertainty = float(n @ loss) / bins.reviewed, float(n @ baseline) / bins.reviewed
    ratio = brier / uncertainty
    square = float(n @ (loss - ratio * baseline) ** 2)
    effect = INDEPENDENT
    if named is not None:
        terms = named.difference**2 - ratio * (named.outcome - bins.outcome_total / bins.reviewed) ** 2
        effect = named.design_effect(terms, square, bins.reviewed)
    variance = square / bins.reviewed * effect.ratio
    if variance < _TOLERANCE or not effect.known:
        return None
    half = effect.quantile((1 - CONFIDENCE_LEVEL) / 2) * sqrt(variance / bins.reviewed) / uncertainty
    return Interval(1 - ratio - half, min(1.0, 1 - ratio + half))
