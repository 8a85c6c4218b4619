"""cstp.getCalibration: the calibration view in this protocol's words, rounded as it promises."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from api.access import Speaker
from api.answers import CalibrationAnswer, Question
from api.cstp.period import period_of
from api.cstp.shape import Shape, Wrong, refusal
from api.operations import House
from events.decision import Stakes
from projections import MIN_DECISIONS, Bucket, Figures, Filter, Group, GroupBy, Range, Spread

_GROUPINGS: Mapping[str, GroupBy] = {
    "confidenceBucket": "confidence_bucket",
    "confidence_bucket": "confidence_bucket",
    "category": "category",
    "stakes": "stakes",
    "agent": "agent",
    "project": "project",
    "feature": "feature",
}


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    project: str | None = None
    feature: str | None = None
    since: str | None = None
    until: str | None = None
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = MIN_DECISIONS
    window: Literal["30d", "60d", "90d", "all"] | None = None
    group_by: Literal["confidenceBucket", "confidence_bucket", "category", "stakes", "agent", "project", "feature"] = (
        "confidenceBucket"
    )


_asked: Shape[_Asked] = Shape(_Asked)


async def get_calibration(house: House, speaker: Speaker, params: dict[str, Any]) -> object:
    """The figures of some decisions.

    A filter may stand in `filters` or beside it; in `filters` it goes first. `groups` holds the figures for each value
    of `groupBy`, null below minDecisions; `by_category` those of every category with a reviewed decision.
    """
    filters = params.get("filters", {})
    if not isinstance(filters, dict):
        raise refusal([Wrong("filters", f"must be an object, got {type(filters).__name__}")])
    beside = {name: value for name, value in params.items() if name != "filters"}
    asked = _asked.decode({**filters, **_unless_given(beside, filters)})
    now = house.clock()
    when = period_of(asked.since or None, asked.until or None, now, window=asked.window)
    wanted = Filter(
        agent=asked.agent or None,
        category=asked.category or None,
        stakes=asked.stakes,
        project=asked.project or None,
        feature=asked.feature or None,
        range=when,
    )
    question = Question(filter=wanted, group_by=_GROUPINGS[asked.group_by], min_decisions=asked.min_decisions)
    by_category = Question(filter=wanted, group_by="category", min_decisions=1)
    found, categories = await house.calibrations([question, by_category])
    return _answer(found, categories.groups, _period(asked.window, when, now), now)


def _unless_given(beside: Mapping[str, Any], filters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that `filters` does not name, or leaves null."""
    return {name: value for name, value in beside.items() if filters.get(name) is None}


def _answer(
    found: CalibrationAnswer, categories: list[Group], period: Mapping[str, str], now: datetime
) -> dict[str, object]:
    answer: dict[str, object] = {
        "overall": None if found.overall is None else {**_overall(found.overall), **period},
        "byConfidenceBucket": [_bucket(bucket) for bucket in found.buckets],
        "recommendations": found.recommendations,
        "queryTime": now.isoformat(),
    }
    if found.confidence_stats is not None:
        answer["confidenceStats"] = _spread(found.confidence_stats)
    answer["by_category"] = [
        _category(group) for group in categories if group.group is not None and group.brier_score is not None
    ]
    answer["groups"] = [_group(group) for group in found.groups]
    return answer


def _period(window: str | None, when: Range, now: datetime) -> dict[str, str]:
    """What the answer says of the range asked for; where that has no end, it ends now."""
    period = {} if window is None else {"window": window}
    if when.since is not None:
        period["periodStart"] = when.since.isoformat()
    if when.bounded:
        period["periodEnd"] = (when.until or now).isoformat()
    return period


def _overall(figures: Figures) -> dict[str, object]:
    brier = rounded(figures.brier_score)
    return {
        "brierScore": brier,
        "accuracy": rounded(figures.accuracy),
        "totalDecisions": figures.total,
        "reviewedDecisions": figures.reviewed,
        "calibrationGap": rounded(figures.gap),
        "interpretation": figures.interpretation,
        "meanConfidence": rounded(figures.mean_confidence),
        "brierReading": figures.brier_reading,
        "total_decisions": figures.total,
        "reviewed_decisions": figures.reviewed,
        "brier_score": brier,
    }


def _bucket(bucket: Bucket) -> dict[str, object]:
    return {
        "bucket": bucket.bucket,
        "decisions": bucket.decisions,
        "successRate": rounded(bucket.success_rate, 2),
        "expectedRate": bucket.expected_rate,
        "gap": rounded(bucket.gap, 2),
        "interpretation": bucket.interpretation,
        "meanConfidence": rounded(bucket.mean_confidence),
    }


def _spread(spread: Spread) -> dict[str, object]:
    return {
        "mean": rounded(spread.mean),
        "stdDev": rounded(spread.std_dev),
        "min": rounded(spread.min),
        "max": rounded(spread.max),
        "count": spread.count,
        "bucketCounts": spread.tenths,
    }


def _category(group: Group) -> dict[str, object]:
    return {
        "category": group.group,
        "total_decisions": group.total,
        "reviewed_decisions": group.reviewed,
        "accuracy": _rounded_or_none(group.accuracy),
        "brier_score": _rounded_or_none(group.brier_score),
    }


def _group(group: Group) -> dict[str, object]:
    return {
        "group": group.group,
        "brierScore": _rounded_or_none(group.brier_score),
        "accuracy": _rounded_or_none(group.accuracy),
        "meanConfidence": _rounded_or_none(group.mean_confidence),
        "calibrationGap": _rounded_or_none(group.gap),
        "interpretation": group.interpretation,
        "totalDecisions": group.total,
        "reviewedDecisions": group.reviewed,
    }


def rounded(value: float, places: int = 3) -> float:
    """Rounded, and never -0.0."""
    return round(value, places) + 0.0


def _rounded_or_none(value: float | None) -> float | None:
    return None if value is None else rounded(value)
