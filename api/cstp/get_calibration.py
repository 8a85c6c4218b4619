"""cstp.getCalibration: return the calibration view with CSTP's names, rounded as CSTP specifies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import structs

from api.cstp.params_schema import (
    ParamsSchema,
    merge_filters,
    parse_period,
    to_camel,
    to_camel_json,
)
from api.cstp.unknown_names import unknown_json
from api.principal import Principal
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.largest import keep_largest
from api.service.ledger import View
from events.decision import Stakes
from events.limits import PAGE_EVENTS_MAX
from ledger.threads import run_on_thread
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.words import (
    HISTORY_PARTS,
    MIN_DECISIONS,
    TREND_DAYS,
    TREND_DAYS_MAX,
    Detail,
    GroupBy,
    HistoryPart,
)
from projections.time_range import TimeRange
from tallystick.shapes.calibration import (
    Bucket,
    CalibrationAnswer,
    CalibrationGroup,
    CalibrationScores,
    ConfidenceSpread,
)

_GROUPINGS: Mapping[str, GroupBy] = {
    "confidenceBucket": "confidence_bucket",
    "confidence_bucket": "confidence_bucket",
    "category": "category",
    "stakes": "stakes",
    "agent": "agent",
    "project": "project",
    "feature": "feature",
}

QUICK_ROWS_MAX = 100
"""An answer with more groups and categories is made on a thread."""

_EVIDENCE = (
    "success", "partial", "failure", "abandoned", "unreviewed", "without_confidence", "success_interval",
    "gap_interval", "supported", "reviews_needed", "log_score", "log_score_infinite", "skill",
    "sharpness", "corp", "in_the_large", "spiegelhalter", "too_few_for",
)  # fmt: skip
_BUCKET_EVIDENCE = (
    "success_interval", "stated_gap", "stated_gap_interval", "supported", "reviews_needed", "reviews_needed_gap",
)  # fmt: skip


class FilterParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that select decisions for statistics."""

    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    project: str | None = None
    feature: str | None = None
    since: str | None = None
    until: str | None = None

    def to_filter(self, now: datetime, window: str | None = None) -> CalibrationFilter:
        """Return the filter. A window of days ends now and overrides `since` and `until`. Errors: RpcError."""
        return CalibrationFilter(
            agent=self.agent or None,
            category=self.category or None,
            stakes=self.stakes,
            project=self.project or None,
            feature=self.feature or None,
            range=parse_period(self.since or None, self.until or None, now, window=window),
        )


GROUPS_DEFAULT = 50
"""Groups of a page, if `limit` does not say another number."""

CATEGORIES_MAX = 50
"""Rows of `by_category`."""


class _CalibrationParams(FilterParams, frozen=True, kw_only=True):
    min_decisions: Annotated[int, msgspec.Meta(ge=1)] = MIN_DECISIONS
    window: Literal["30d", "60d", "90d", "all"] | None = None
    group_by: Literal["confidenceBucket", "confidence_bucket", "category", "stakes", "agent", "project", "feature"] = (
        "confidenceBucket"
    )
    detail: Detail = "figures"
    include: Annotated[tuple[HistoryPart, ...], msgspec.Meta(max_length=len(HISTORY_PARTS))] = ()
    trend_days: Annotated[int, msgspec.Meta(ge=1, le=TREND_DAYS_MAX)] = TREND_DAYS
    limit: Annotated[int, msgspec.Meta(ge=1, le=PAGE_EVENTS_MAX)] = GROUPS_DEFAULT
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


_schema: ParamsSchema[_CalibrationParams] = ParamsSchema(_CalibrationParams, ignores_words=True)


async def get_calibration(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return the calibration of some decisions.

    A filter may be in `filters` or beside it; `filters` takes precedence. `groups` has the figures for each value
    of `groupBy`; a group with fewer than minDecisions has null. `limit` and `offset` select groups; if there are
    others, `groupsTotal` has their number, and `groupsNext` the next offset. `by_category` has two scores of the
    categories with the most reviewed decisions; `cut` says how many others there are. Fields of the protocol are
    rounded as the protocol specifies; fields that we add (intervals, scores, parts) are not rounded. The
    `interpretation` of a range of confidence compares with its `expectedRate`; `statedInterpretation`, `supported`
    and `reviewsNeeded` compare with its `meanConfidence`. `detail` is `figures`, or `curves`, which adds the curve
    and its band, and the recalibration maps that surely improve the scores. `include` adds parts: `trend` (windows
    of `trendDays`), `drift`, `comparison` of agents.
    """
    request = _schema.decode(merge_filters(params))
    now = view.clock()
    selection = request.to_filter(now, request.window)
    query = CalibrationParams(
        agent=selection.agent,
        category=selection.category,
        stakes=request.stakes,
        project=selection.project,
        feature=selection.feature,
        since=selection.range.since,
        until=selection.range.until,
        group_by=_GROUPINGS[request.group_by],
        min_decisions=request.min_decisions,
        detail=request.detail,
        include=request.include,
        trend_days=request.trend_days,
        limit=request.limit,
        offset=request.offset,
    )
    result = await compute_calibration(view, query)
    period = _period(request.window, selection.range, now)
    if len(result.categories) + len(result.answer.groups) <= QUICK_ROWS_MAX:
        return _answer(result.answer, result.categories, period, now)
    return await run_on_thread(_answer, result.answer, result.categories, period, now)


def _answer(
    calibration: CalibrationAnswer, categories: list[CategoryScores], period: Mapping[str, str], now: datetime
) -> dict[str, object]:
    answer: dict[str, object] = {
        "overall": None if calibration.overall is None else {**_overall(calibration.overall), **period},
        "byConfidenceBucket": [_bucket(bucket) for bucket in calibration.buckets],
        "recommendations": calibration.recommendations,
        "queryTime": now.isoformat(),
    }
    if calibration.confidence_stats is not None:
        answer["confidenceStats"] = _spread(calibration.confidence_stats)
    shown, cut = keep_largest(categories, CATEGORIES_MAX, lambda category: category.reviewed)
    answer["by_category"] = [_category(category) for category in shown]
    if cut:
        answer["cut"] = {"by_category": cut}
    answer["groups"] = [_group(group) for group in calibration.groups]
    if calibration.groups_total is not None:
        answer |= {"groupsTotal": calibration.groups_total, "groupsNext": calibration.groups_next}
    answer["coverage"] = camel_fields(calibration.coverage)
    if calibration.recalibration is not None:
        answer["recalibration"] = {
            **camel_fields(calibration.recalibration),
            "meanings": [camel_fields(meaning) for meaning in calibration.recalibration.meanings],
        }
    if calibration.recalibration_by_category:
        answer["recalibrationByCategory"] = [to_camel_json(one) for one in calibration.recalibration_by_category]
    answer |= unknown_json(calibration.unknown_names)
    if calibration.retracted:
        answer["retracted"] = calibration.retracted
    answer |= {name: to_camel_json(part) for name in HISTORY_PARTS if (part := getattr(calibration, name)) is not None}
    return answer


def _period(window: str | None, time_range: TimeRange, now: datetime) -> dict[str, str]:
    """Return the time range of an answer: dates for a window, otherwise times. A range without an end ends now."""
    start, end = time_range.since, (time_range.until or now) if time_range.bounded else None
    ends = {name: moment for name, moment in (("periodStart", start), ("periodEnd", end)) if moment is not None}
    if window is None:
        return {name: moment.isoformat() for name, moment in ends.items()}
    return {"window": window, **{name: moment.date().isoformat() for name, moment in ends.items()}}


def _overall(figures: CalibrationScores) -> dict[str, object]:
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
        **_evidence(figures),
    }


def _bucket(bucket: Bucket) -> dict[str, object]:
    return {
        "bucket": bucket.bucket,
        "decisions": bucket.decisions,
        "successRate": rounded(bucket.success_rate, 2),
        "expectedRate": bucket.expected_rate,
        "gap": rounded(bucket.gap, 2),
        "interpretation": bucket.expected_interpretation,
        "meanConfidence": rounded(bucket.mean_confidence),
        "statedInterpretation": bucket.interpretation,
        **{to_camel(name): getattr(bucket, name) for name in _BUCKET_EVIDENCE},
    }


def _spread(spread: ConfidenceSpread) -> dict[str, object]:
    return {
        "mean": rounded(spread.mean),
        "stdDev": rounded(spread.std_dev),
        "min": rounded(spread.min),
        "max": rounded(spread.max),
        "count": spread.count,
        "bucketCounts": spread.tenths,
    }


def _category(category: CategoryScores) -> dict[str, object]:
    return {
        "category": category.category,
        "total_decisions": category.total,
        "reviewed_decisions": category.reviewed,
        "accuracy": rounded(category.accuracy),
        "brier_score": rounded(category.brier_score),
    }


def _group(group: CalibrationGroup) -> dict[str, object]:
    return {
        "group": group.group,
        "brierScore": _rounded_or_none(group.brier_score),
        "accuracy": _rounded_or_none(group.accuracy),
        "meanConfidence": _rounded_or_none(group.mean_confidence),
        "calibrationGap": _rounded_or_none(group.gap),
        "interpretation": group.interpretation,
        "totalDecisions": group.total,
        "reviewedDecisions": group.reviewed,
        **_evidence(group),
        "shrunkGap": group.shrunk_gap,
        "shrunkWeight": group.shrunk_weight,
    }


def _evidence(figures: CalibrationScores | CalibrationGroup) -> dict[str, object]:
    """Return the figures that we add to those of the protocol, unrounded."""
    return {to_camel(name): getattr(figures, name) for name in _EVIDENCE}


def camel_fields(struct: msgspec.Struct) -> dict[str, object]:
    """Return the fields of a struct under camelCase names."""
    return {to_camel(name): value for name, value in structs.asdict(struct).items()}


def rounded(value: float, places: int = 3) -> float:
    """Round, and never return -0.0."""
    return round(value, places) + 0.0


def _rounded_or_none(value: float | None) -> float | None:
    return None if value is None else rounded(value)
