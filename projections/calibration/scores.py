"""The arithmetic of calibration (CSTP's getCalibration, known as F009), on counts of outcomes by stated confidence.

o is 1 for success, 0.5 for partial, 0 for failure and abandoned; c is the stated confidence. Only reviewed decisions
with a stated confidence count. Nothing is rounded here; doors that promise rounding round.
"""

from collections.abc import Iterator
from math import erfc, isfinite, sqrt
from typing import Literal, TypedDict

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from projections.arrays import Floats
from projections.calibration.confidence_bins import REVIEWED_VALUES, ConfidenceBins, bin_counts, bin_reviews
from projections.calibration.corp import Corp, decompose_brier
from projections.calibration.counts import Counts
from projections.outcomes import UNREVIEWED
from projections.stats.intervals import GapSide, Interval, gap_interval, reviews_needed, supports, wilson_interval

Verdict = Literal[
    "well_calibrated", "overconfident", "slightly_overconfident", "underconfident", "slightly_underconfident"
]
BrierRating = Literal["excellent", "good", "fair", "poor"]

TOLERANCE = 1e-9
"""Floats this close to a cut-off stand on it, so that the same gap reads the same wherever it occurs."""

BUCKET_REVIEWS_MIN = 3
"""A bucket with fewer reviews is left out."""

BUCKETS = (("0.9-1.0", 0.9, 0.95), ("0.7-0.9", 0.7, 0.80), ("0.5-0.7", 0.5, 0.60), ("0.0-0.5", 0.0, 0.25))
"""Name, lower bound (included) and expected rate of each bucket, from the top; 1.0 is in the first."""

REVIEWS_MIN = {"in_the_large": 10, "spiegelhalter": 20, "corp": 50, "skill": 50}
"""Reviews below which a figure says too little to be read."""


class ZTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test of the hypothesis that the stated confidences are the chances: standard normal z, two-sided p."""

    z: float
    p: float


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Of `total` decisions, how many are `reviewed` and have a stated confidence, which is what figures are made of.

    The others are `unreviewed`, or `without_confidence`, or both.
    """

    reviewed: int
    total: int
    unreviewed: int
    without_confidence: int


class CalibrationScores(Coverage, frozen=True, kw_only=True):
    """The figures of a set of decisions, of those that are reviewed and have a stated confidence.

    `interpretation` is a verdict on the gap as it is; `supported` says whether the gap's interval carries
    it, and `reviews_needed` how many more reviews would if they went on alike (0: it does; None: no number would).
    `log_score` is in nats, and None where it is infinite. `sharpness` is the variance of the stated confidences. A test
    or a skill that is not defined is None. `too_few_for` names the figures for which there are too few reviews to read.
    """

    brier_score: float
    accuracy: float
    mean_confidence: float
    gap: float
    interpretation: Verdict
    brier_reading: BrierRating
    success: int
    partial: int
    failure: int
    abandoned: int
    success_interval: Interval
    gap_interval: Interval
    supported: bool
    reviews_needed: int | None
    log_score: float | None
    log_score_infinite: bool
    skill: float | None
    sharpness: float
    corp: Corp
    in_the_large: ZTest | None
    spiegelhalter: ZTest | None
    too_few_for: list[str]


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a range of stated confidence; `gap` is success rate less expected rate.

    The expected rate is the same for every agent, wherever in the range its confidences lie. So what supports the
    verdict is the interval of `stated_gap`, success rate less the mean confidence that was stated.
    """

    bucket: str
    decisions: int
    success_rate: float
    expected_rate: float
    mean_confidence: float
    gap: float
    interpretation: Verdict
    success_interval: Interval
    stated_gap: float
    stated_gap_interval: Interval
    supported: bool
    reviews_needed: int | None


class ConfidenceSpread(msgspec.Struct, frozen=True, kw_only=True):
    """How the stated confidences spread, those of unreviewed decisions included; `tenths` counts them by tenth."""

    mean: float
    std_dev: float
    min: float
    max: float
    count: int
    tenths: dict[str, int]


def compute_scores(confidence: Floats, counts: Counts, *, curves: bool = False) -> CalibrationScores | None:
    """The figures of some cells; None where no decision is reviewed and has a confidence."""
    found = bin_counts(confidence, counts)
    if found.reviewed == 0:
        return None
    c, n, worth, mean = found.confidence, found.reviewed, found.total_worth, found.mean_confidence
    brier, gap = brier_score(found), _zero(worth / n - mean)
    log_score, interval = _log_score(found), gap_interval(worth, n, mean)
    parts = decompose_brier(found, curves=curves)
    success, partial, failure, abandoned = found.outcomes.sum(axis=0).tolist()
    return CalibrationScores(
        brier_score=brier,
        accuracy=worth / n,
        mean_confidence=mean,
        gap=gap,
        **_judged(found, judge_gap(gap), interval),
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
        skill=1 - brier / parts.uncertainty if parts.uncertainty > 0 else None,
        sharpness=float((found.n * (c - mean) ** 2).sum()) / n,
        corp=parts,
        in_the_large=_test(found, np.ones_like(c)),
        spiegelhalter=_test(found, 1 - 2 * c) if partial == 0 else None,
        too_few_for=[name for name, least in REVIEWS_MIN.items() if n < least],
    )


class _Judged(TypedDict):
    interpretation: Verdict
    supported: bool
    reviews_needed: int | None


def _judged(found: ConfidenceBins, verdict: Verdict, interval: Interval) -> _Judged:
    """A verdict with its evidence, given the interval of the gap to what was stated."""
    side = gap_side(verdict)
    supported = supports(side, interval)
    needed = 0 if supported else reviews_needed(side, found.total_worth, found.reviewed, found.mean_confidence)
    return {"interpretation": verdict, "supported": supported, "reviews_needed": needed}


def count_coverage(confidence: Floats, counts: Counts) -> Coverage:
    """How many decisions some cells hold, and how many of them figures leave out."""
    everything, stated = counts.sum(axis=0).tolist(), counts[~np.isnan(confidence)].sum(axis=0).tolist()
    return Coverage(
        reviewed=sum(stated) - stated[UNREVIEWED],
        total=sum(everything),
        unreviewed=everything[UNREVIEWED],
        without_confidence=sum(everything) - sum(stated),
    )


def brier_score(found: ConfidenceBins, forecast: Floats | None = None) -> float:
    """Mean squared distance of outcome and confidence, or of outcome and another forecast, one a confidence."""
    c = found.confidence if forecast is None else forecast
    return float((found.outcomes * (c[:, np.newaxis] - REVIEWED_VALUES) ** 2).sum()) / found.reviewed


def _log_score(found: ConfidenceBins) -> float:
    """Mean of -(o ln c + (1 - o) ln(1 - c)), in nats; infinite where certainty was wrong."""
    from scipy.special import xlog1py, xlogy  # where nothing was won or lost, 0 ln 0 is 0

    c, won, lost = found.confidence, found.worth, found.n - found.worth
    return -float((xlogy(won, c) + xlog1py(lost, -c)).sum()) / found.reviewed + 0.0  # which turns -0.0 into 0.0


def _test(found: ConfidenceBins, weight: Floats) -> ZTest | None:
    """The weighted sum of o - c, standardised as if o were drawn as stated; None where nothing was left to chance."""
    c = found.confidence
    variance = float((weight**2 * found.n * c * (1 - c)).sum())
    if variance <= 0:
        return None
    z = float((weight * (found.worth - found.n * c)).sum()) / sqrt(variance)
    return ZTest(z=z, p=erfc(abs(z) / sqrt(2)))


def gap_side(verdict: Verdict) -> GapSide:
    """The side that a verdict names."""
    if verdict == "well_calibrated":
        return "well"
    return "over" if verdict in {"overconfident", "slightly_overconfident"} else "under"


def judge_gap(gap: float) -> Verdict:
    """The verdict on accuracy less mean confidence."""
    size = abs(gap)
    if size < 0.05 - TOLERANCE:
        return "well_calibrated"
    if gap < 0:
        return "overconfident" if size > 0.10 + TOLERANCE else "slightly_overconfident"
    return "underconfident" if size > 0.10 + TOLERANCE else "slightly_underconfident"


def judge_bucket_gap(gap: float) -> Verdict:
    """The verdict on a bucket. A gap of .10 is none: stated .70 and achieved .70 stands .10 off its bucket's middle."""
    if abs(gap) <= 0.10 + TOLERANCE:
        return "well_calibrated"
    return "overconfident" if gap < 0 else "underconfident"


def rate_brier(score: float) -> BrierRating:
    """The score in a word."""
    if score < 0.10 - TOLERANCE:
        return "excellent"
    if score < 0.20 - TOLERANCE:
        return "good"
    return "fair" if score < 0.30 - TOLERANCE else "poor"


def bucket_numbers(confidence: Floats) -> npt.NDArray[np.intp]:
    """The number of each confidence's bucket in `BUCKETS`; -1 where none is stated. 3 * 0.3 stands on .9."""
    edges = np.array([low for _, low, _ in reversed(BUCKETS)])
    numbers = len(BUCKETS) - np.searchsorted(edges, confidence + TOLERANCE, side="right")
    return np.where(np.isnan(confidence), -1, numbers)


def score_buckets(confidence: Floats, counts: Counts) -> Iterator[Bucket]:
    """The buckets that hold at least BUCKET_REVIEWS_MIN reviews, from the top."""
    found = bin_counts(confidence, counts)
    numbers = bucket_numbers(found.confidence)
    for number, (name, _, expected) in enumerate(BUCKETS):
        inside = numbers == number
        part = bin_reviews(found.confidence[inside], found.outcomes[inside])
        n, worth = part.reviewed, part.total_worth
        if n < BUCKET_REVIEWS_MIN:
            continue
        gap, interval = _zero(worth / n - expected), gap_interval(worth, n, part.mean_confidence)
        yield Bucket(
            bucket=name,
            decisions=n,
            success_rate=worth / n,
            expected_rate=expected,
            mean_confidence=part.mean_confidence,
            gap=gap,
            **_judged(part, judge_bucket_gap(gap), interval),
            success_interval=wilson_interval(int(part.outcomes[:, 0].sum()), n),
            stated_gap=_zero(worth / n - part.mean_confidence),
            stated_gap_interval=interval,
        )


def measure_spread(confidence: Floats, counts: Counts) -> ConfidenceSpread | None:
    """The spread of all stated confidences; None where none is stated."""
    stated = ~np.isnan(confidence)
    c, n = confidence[stated] + 0.0, counts[stated].sum(axis=1)  # which turns -0.0 into 0.0
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


def _zero(value: float) -> float:
    """A difference that is rounding alone is none, and never -0.0."""
    return 0.0 if abs(value) < TOLERANCE * 1e-3 else value
