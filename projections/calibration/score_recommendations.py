"""Recommendations derived from calibration scores, with the messages of CSTP's getCalibration."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np

from projections.calibration.scores import TOLERANCE, Bucket, CalibrationScores, ConfidenceSpread
from projections.stats.false_discovery import FALSE_DISCOVERY_RATE, benjamini_hochberg
from projections.stats.gap_tests import gap_p_values
from projections.stats.intervals import GAP_MARGIN

HABIT_CONFIDENCES_MIN = 10
"""With fewer stated confidences no recommendation about habits is given."""

WARNED_CATEGORIES_MAX = 3
"""The largest number of categories that are warned about."""

BRIER_EXCELLENT = 0.10
"""A lower Brier score is excellent."""

BRIER_CONSTANT = 0.25
"""The Brier score of always stating 50%."""

BUCKET_GAP_WARNED = -0.15
"""A bucket with a lower gap is warned about."""

LOW_VARIANCE_STD_DEV = 0.05
LOW_VARIANCE_SHARE = (7, 10)
"""Confidences vary too little if their deviation is lower, and more than 7 of 10 are in the same tenth."""

HIGH_MEAN, HIGH_MIN = 0.85, 0.75
"""An agent whose mean and minimum confidence are higher has a habit of overconfidence."""

LOW_MEAN, LOW_MAX = 0.65, 0.75
"""An agent whose mean and maximum confidence are lower has a habit of underconfidence."""

Severity = Literal["info", "warning"]


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recommendation: its type, message and severity.

    `supported` tells whether the data confirms the verdict behind it; None if it does not follow from a verdict.
    """

    type: str
    message: str
    severity: Severity
    supported: bool | None = None


class CategoryScores(msgspec.Struct, frozen=True, kw_only=True):
    """The mean scores of a category with at least one reviewed decision."""

    category: str
    reviewed: int
    total: int
    accuracy: float
    mean_confidence: float
    brier_score: float


def recommend_more_reviews(reviewed: int, needed: int) -> Recommendation:
    """Return the recommendation for too few reviewed decisions."""
    message = f"Only {reviewed} reviewed decisions found. Need at least {needed} for calibration."
    return Recommendation(type="insufficient_data", message=message, severity="info")


def recommend_from_scores(
    overall: CalibrationScores, buckets: Sequence[Bucket], spread: ConfidenceSpread | None
) -> Iterator[Recommendation]:
    """Yield the recommendations: on the overall scores first, then on buckets, then on habits."""
    yield from _adjust(overall)
    yield from _warn(buckets)
    if overall.brier_score < BRIER_EXCELLENT - TOLERANCE:
        yield _info("brier_score", f"Brier score {overall.brier_score:.3f} is excellent.")
    elif overall.brier_score > BRIER_CONSTANT + TOLERANCE:
        message = f"Brier score {overall.brier_score:.3f} is worse than always stating 50%."
        yield Recommendation(type="brier_score", message=message, severity="warning")
    calibrated = [bucket.bucket for bucket in buckets if bucket.interpretation == "well_calibrated"]
    if calibrated and len(calibrated) < len(buckets):
        yield _info("strength", f"Well calibrated at {', '.join(calibrated)} confidence.")
    if spread is not None and spread.count >= HABIT_CONFIDENCES_MIN:
        yield from _habits(spread)


def warn_about_categories(categories: Sequence[CategoryScores]) -> Iterator[Recommendation]:
    """Warn about the worst categories, over- or underconfident: gaps beyond GAP_MARGIN that are surely not 0.

    Good overall scores may hide such categories. The false discovery rate over all categories is at most 5%. A single
    category is the whole, so it is left out.
    """
    if len(categories) < 2:
        return
    columns = [
        np.array([getattr(scores, name) for scores in categories], dtype=np.float64)
        for name in ("accuracy", "reviewed", "mean_confidence")
    ]
    accuracy, n, stated = columns
    adjusted = benjamini_hochberg(gap_p_values(accuracy * n, n, stated))
    off = np.abs(accuracy - stated)
    surely_off = np.flatnonzero((adjusted <= FALSE_DISCOVERY_RATE) & (off > GAP_MARGIN + TOLERANCE))
    for place in surely_off[np.argsort(-off[surely_off], kind="stable")][:WARNED_CATEGORIES_MAX].tolist():
        scores = categories[place]
        message = (
            f"In {scores.category}, actual success is {scores.accuracy * 100:.0f}% where "
            f"{scores.mean_confidence * 100:.0f}% was stated (n={scores.reviewed:,})."
        )
        yield Recommendation(type="category_warning", message=message, severity="warning", supported=True)


def _adjust(overall: CalibrationScores) -> Iterator[Recommendation]:
    if overall.interpretation == "well_calibrated":
        return
    points = abs(overall.gap) * 100
    if overall.gap < 0:
        message = f"Stated confidence runs {points:.0f} points above the success rate. Consider stating less."
    else:
        message = f"Stated confidence runs {points:.0f} points below the success rate. Consider stating more."
    severity: Severity = "warning" if overall.interpretation == "overconfident" else "info"
    yield Recommendation(type="confidence_adjustment", message=message, severity=severity, supported=overall.supported)


def _warn(buckets: Sequence[Bucket]) -> Iterator[Recommendation]:
    for bucket in buckets:
        if bucket.gap < BUCKET_GAP_WARNED - TOLERANCE:
            rate = f"{bucket.success_rate * 100:.0f}%"
            message = f"At {bucket.bucket} confidence, actual success is {rate}. Consider using ~{rate} instead."
            yield Recommendation(type="bucket_warning", message=message, severity="warning", supported=bucket.supported)


def _habits(spread: ConfidenceSpread) -> Iterator[Recommendation]:
    tenth, count = max(spread.tenths.items(), key=lambda item: item[1])
    share, whole = LOW_VARIANCE_SHARE
    if spread.std_dev < LOW_VARIANCE_STD_DEV - TOLERANCE and whole * count > share * spread.count:
        percent = f"{count / spread.count * 100:.0f}%"
        yield _info("low_variance", f"{percent} of stated confidences lie in {tenth}. Consider telling them apart.")
    if spread.mean > HIGH_MEAN + TOLERANCE and spread.min > HIGH_MIN + TOLERANCE:
        message = f"No stated confidence is below {spread.min:.2f}, and the mean is {spread.mean:.2f}."
        yield _info("overconfident_habit", message)
    if spread.mean < LOW_MEAN - TOLERANCE and spread.max < LOW_MAX - TOLERANCE:
        message = f"No stated confidence is above {spread.max:.2f}, and the mean is {spread.mean:.2f}."
        yield _info("underconfident_habit", message)


def _info(kind: str, message: str) -> Recommendation:
    return Recommendation(type=kind, message=message, severity="info")
