"""Recommendations derived from calibration scores, with the messages of CSTP's getCalibration."""

from collections.abc import Iterator, Sequence

import msgspec

from projections.calibration.figure_text import format_percent, format_rate
from projections.calibration.scores import TOLERANCE
from projections.stats.intervals import GAP_MARGIN
from tallystick.shapes.calibration import Bucket, CalibrationScores, ConfidenceSpread, Recommendation, Severity

HABIT_CONFIDENCES_MIN = 10
"""With fewer stated confidences no recommendation about habits is given."""

WARNED_CATEGORIES_MAX = 3
"""The largest number of categories that are warned about."""

BRIER_EXCELLENT = 0.10
"""A lower Brier score is compared with that of always stating the success rate."""

BRIER_CONSTANT = 0.25
"""The Brier score of always stating 50%."""

BUCKET_GAP_WARNED = -0.15
"""A bucket with a lower gap to its own mean stated confidence is warned about."""

LOW_VARIANCE_STD_DEV = 0.05
LOW_VARIANCE_SHARE = (7, 10)
"""Confidences vary too little if their deviation is lower, and more than 7 of 10 are in the same tenth."""

HIGH_MEAN, HIGH_MIN = 0.85, 0.75
"""An agent whose mean and minimum confidence are higher has a habit of overconfidence."""

LOW_MEAN, LOW_MAX = 0.65, 0.75
"""An agent whose mean and maximum confidence are lower has a habit of underconfidence."""


class CategoryScores(msgspec.Struct, frozen=True, kw_only=True):
    """The mean scores of a category with at least one reviewed decision.

    `surely_off` says whether its gap is surely not 0, with a false discovery rate of 5% over all categories.
    """

    category: str
    reviewed: int
    total: int
    accuracy: float
    mean_confidence: float
    brier_score: float
    surely_off: bool = False

    @property
    def gap(self) -> float:
        """The success rate minus the mean stated confidence."""
        return self.accuracy - self.mean_confidence


def recommend_more_reviews(reviewed: int, needed: int) -> Recommendation:
    """Return the recommendation for too few reviewed decisions."""
    message = f"Only {reviewed} reviewed decisions found. Need at least {needed} for calibration."
    return Recommendation(type="insufficient_data", message=message, severity="info")


def recommend_from_scores(
    overall: CalibrationScores,
    buckets: Sequence[Bucket],
    spread: ConfidenceSpread | None,
    categories: Sequence[CategoryScores] = (),
) -> Iterator[Recommendation]:
    """Yield the recommendations: on the overall scores first, then on buckets, then on habits.

    `categories` are named if they contradict the recommendation on the whole.
    """
    yield from _adjust(overall, categories)
    if overall.interpretation == "well_calibrated" and overall.surely_off:
        yield _info("small_gap", describe_small_gap(overall))
    if overall.certain_wrong:
        yield Recommendation(type="certainty", message=_describe_certainty(overall), severity="warning")
    yield from _warn(buckets)
    yield from _compare_with_base_rate(overall)
    calibrated = [bucket for bucket in buckets if bucket.interpretation == "well_calibrated"]
    if calibrated:
        names = ", ".join(bucket.bucket + ("" if bucket.supported else "?") for bucket in calibrated)
        supported = all(bucket.supported for bucket in calibrated)
        message = f"Well calibrated at {names} confidence."
        yield Recommendation(type="strength", message=message, severity="info", supported=supported)
    if spread is not None and spread.count >= HABIT_CONFIDENCES_MIN:
        yield from _habits(spread)


def warn_about_categories(categories: Sequence[CategoryScores]) -> Iterator[Recommendation]:
    """Warn about the worst categories, over- or underconfident: gaps beyond GAP_MARGIN that are surely not 0.

    Good overall scores may hide such categories. The false discovery rate over all categories is at most 5%. A single
    category is the whole, so it is left out.
    """
    if len(categories) < 2:
        return
    far = [scores for scores in categories if scores.surely_off and abs(scores.gap) > GAP_MARGIN + TOLERANCE]
    for scores in sorted(far, key=lambda scores: -abs(scores.gap))[:WARNED_CATEGORIES_MAX]:
        message = (
            f"In {scores.category}, actual success is {format_percent(scores.accuracy)} where "
            f"{format_percent(scores.mean_confidence)} was stated (n={scores.reviewed:,})."
        )
        yield Recommendation(type="category_warning", message=message, severity="warning", supported=True)


def describe_small_gap(overall: CalibrationScores) -> str:
    """Describe a gap that is small but sure, by the rate of failures: near certainty a small gap is many failures."""
    failed, stated = format_percent(1 - overall.accuracy, 1), format_percent(1 - overall.mean_confidence, 1)
    verdict = "overconfident" if overall.gap < 0 else "underconfident"
    return f"It is surely {verdict}, though by little: {failed} failed where {stated} was stated."


def _describe_certainty(overall: CalibrationScores) -> str:
    wrong, certain = overall.certain_wrong, overall.certain
    return f"Of {certain:,} decisions stated with certainty (0% or 100%), {wrong:,} turned out otherwise."


def _compare_with_base_rate(overall: CalibrationScores) -> Iterator[Recommendation]:
    """Say what the Brier score is worth beside that of always stating the success rate."""
    brier, rate = f"Brier score {overall.brier_score:.3f}", format_percent(overall.accuracy)
    few, interval = "skill" in overall.too_few_for, overall.skill_interval
    if overall.brier_score > BRIER_CONSTANT + TOLERANCE:
        message = f"{brier} is worse than always stating 50%."
        yield Recommendation(type="brier_score", message=message, severity="warning")
    elif overall.brier_score < BRIER_EXCELLENT - TOLERANCE:
        if overall.skill is None:
            message = f"{brier}; all outcomes are alike, so there is no skill to see."
        elif few:
            message = f"{brier}; {overall.reviewed} reviews are too few to compare it with always stating {rate}."
        elif interval is not None and interval.low > TOLERANCE:
            message = f"{brier} is at this one look better than always stating {rate}."
        else:
            message = f"{brier} is not surely better than always stating {rate}."
        yield _info("brier_score", message)
    if interval is not None and not few and interval.high < -TOLERANCE:
        message = (
            f"Stated confidence has a higher Brier score than always stating {rate} (skill {overall.skill:+.3f}), "
        )
        message += "at this one look."
        yield Recommendation(type="skill", message=message, severity="warning", supported=True)


def _name_exceptions(overall: CalibrationScores, categories: Sequence[CategoryScores]) -> str:
    """Return a sentence on the categories whose gap is surely on the other side than the overall one; "" without."""
    others = [scores for scores in categories if scores.surely_off and scores.gap * overall.gap < 0]
    others.sort(key=lambda scores: -abs(scores.gap))
    if not others:
        return ""
    named = ", ".join(
        f"{scores.category} ({format_percent(scores.mean_confidence)} stated, {format_percent(scores.accuracy)} right)"
        for scores in others[:WARNED_CATEGORIES_MAX]
    )
    rest = len(others) - WARNED_CATEGORIES_MAX
    more = f" and {rest} more categories" if rest > 0 else ""
    return f" Not in {named}{more}: there it is the other way round."


def _adjust(overall: CalibrationScores, categories: Sequence[CategoryScores]) -> Iterator[Recommendation]:
    if overall.interpretation == "well_calibrated":
        return
    points = abs(overall.gap) * 100
    if overall.gap < 0:
        message = f"Stated confidence runs {points:.0f} points above the success rate. Consider stating less."
    else:
        message = f"Stated confidence runs {points:.0f} points below the success rate. Consider stating more."
    severity: Severity = "warning" if overall.interpretation == "overconfident" else "info"
    message += _name_exceptions(overall, categories)
    yield Recommendation(type="confidence_adjustment", message=message, severity=severity, supported=overall.supported)


def _warn(buckets: Sequence[Bucket]) -> Iterator[Recommendation]:
    for bucket in buckets:
        if bucket.stated_gap < BUCKET_GAP_WARNED - TOLERANCE:
            rate = format_percent(bucket.success_rate)
            instead = f"Consider using ~{rate} instead." if bucket.success_rate > 0 else "Consider stating less."
            message = f"At {bucket.bucket} confidence, actual success is {rate}. {instead}"
            yield Recommendation(type="bucket_warning", message=message, severity="warning", supported=bucket.supported)


def _habits(spread: ConfidenceSpread) -> Iterator[Recommendation]:
    tenth, count = max(spread.tenths.items(), key=lambda item: item[1])
    share, whole = LOW_VARIANCE_SHARE
    if spread.std_dev < LOW_VARIANCE_STD_DEV - TOLERANCE and whole * count > share * spread.count:
        percent = f"{count / spread.count * 100:.0f}%"
        yield _info("low_variance", f"{percent} of stated confidences lie in {tenth}. Consider telling them apart.")
    if spread.mean > HIGH_MEAN + TOLERANCE and spread.min > HIGH_MIN + TOLERANCE:
        low, mean = format_rate(spread.min), format_rate(spread.mean)
        message = f"No stated confidence is below {low}, and the mean is {mean}."
        yield _info("overconfident_habit", message)
    if spread.mean < LOW_MEAN - TOLERANCE and spread.max < LOW_MAX - TOLERANCE:
        high, mean = format_rate(spread.max), format_rate(spread.mean)
        message = f"No stated confidence is above {high}, and the mean is {mean}."
        yield _info("underconfident_habit", message)


def _info(kind: str, message: str) -> Recommendation:
    return Recommendation(type=kind, message=message, severity="info")
