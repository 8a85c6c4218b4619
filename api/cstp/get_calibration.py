"""cstp.getCalibration: return the calibration view with CSTP's names, rounded as CSTP specifies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import UNSET, structs

from api.cstp.answer_names import named, to_camel, to_camel_json
from api.cstp.params_schema import ParamsSchema, merge_filters
from api.cstp.tolerance import tolerate
from api.cstp.unknown_names import unknown_json
from api.parameters import WINDOWS
from api.principal import Principal
from api.service.calibration import CalibrationAnswer, compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.largest import keep_largest
from api.service.ledger import View
from ledger.threads import run_on_thread
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.scores import CalibrationScores
from projections.calibration.words import HISTORY_PARTS
from projections.time_range import TimeRange

QUICK_ROWS_MAX = 100
"""An answer with more groups and categories is made on a thread."""

GROUPS_DEFAULT = 50
"""Groups of a page, if `limit` does not say another number."""

CATEGORIES_MAX = 50
"""Rows of `by_category`."""

_NAMES = {"gap": "calibrationGap", "total": "totalDecisions", "reviewed": "reviewedDecisions"}
_SNAKE_NAMES = {"total": "total_decisions", "reviewed": "reviewed_decisions", "brier_score": "brier_score"}
"""The protocol's names of scores where they are not those of our fields in camelCase."""

_EVIDENCE = (
    "success", "partial", "failure", "abandoned", "unreviewed", "without_confidence", "success_interval",
    "gap_interval", "supported", "reviews_needed", "log_score", "log_score_infinite", "skill",
    "sharpness", "corp", "in_the_large", "spiegelhalter", "too_few_for",
)  # fmt: skip
"""The figures that we add to those of the protocol."""

_OVERALL = (
    "brier_score", "accuracy", "total", "reviewed", "gap", "interpretation", "mean_confidence", "brier_reading",
)  # fmt: skip
_GROUP = (
    "group", "brier_score", "accuracy", "mean_confidence", "gap", "interpretation", "total", "reviewed", *_EVIDENCE,
    "shrunk_gap", "shrunk_weight",
)  # fmt: skip
_BUCKET = (
    "bucket", "decisions", "success_rate", "expected_rate", "gap", "expected_interpretation", "mean_confidence",
    "interpretation", "success_interval", "stated_gap", "stated_gap_interval", "supported", "reviews_needed",
    "reviews_needed_gap",
)  # fmt: skip
_BUCKET_NAMES = {"expected_interpretation": "interpretation", "interpretation": "statedInterpretation"}
_SPREAD = ("mean", "std_dev", "min", "max", "count", "tenths")

_schema: ParamsSchema[CalibrationParams] = ParamsSchema(
    CalibrationParams, without=("threshold",), defaults={"limit": GROUPS_DEFAULT}, reads=True
)


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
    merged = merge_filters(params)
    if (window := merged.get("window")) != "all" and isinstance(window, str) and window in WINDOWS:
        for name in [name for name in ("since", "until") if merged.get(name)]:
            tolerate(name)
            del merged[name]
    request, now = _schema.decode(merged), view.clock()
    query = structs.replace(request, window=None) if request.window == "all" else request
    result = await compute_calibration(view, query)
    period = _period(request.window, query.filter(now).range, now)
    if len(result.categories) + len(result.answer.groups) <= QUICK_ROWS_MAX:
        return _answer(result.answer, result.categories, period, now)
    return await run_on_thread(_answer, result.answer, result.categories, period, now)


def _answer(
    calibration: CalibrationAnswer, categories: list[CategoryScores], period: Mapping[str, str], now: datetime
) -> dict[str, object]:
    shown, cut = keep_largest(categories, CATEGORIES_MAX, lambda category: category.reviewed)
    answer: dict[str, object] = {
        "overall": None if calibration.overall is None else {**_overall(calibration.overall), **period},
        "byConfidenceBucket": [
            named(bucket, _BUCKET, _BUCKET_NAMES, {"successRate": 2, "gap": 2}) for bucket in calibration.buckets
        ],
        "recommendations": calibration.recommendations,
        "queryTime": now.isoformat(),
    }
    if calibration.confidence_stats is not None:
        digits = dict.fromkeys(("mean", "stdDev", "min", "max"), 3)
        answer["confidenceStats"] = named(calibration.confidence_stats, _SPREAD, {"tenths": "bucketCounts"}, digits)
    answer["by_category"] = [
        named(category, ("category", "total", "reviewed", "accuracy", "brier_score"), _SNAKE_NAMES)
        for category in shown
    ]
    if cut:
        answer["cut"] = {"by_category": cut}
    answer["groups"] = [named(group, _GROUP, _NAMES) for group in calibration.groups]
    maps = ("recalibration",) if calibration.recalibration is not None else ()
    parts = ("groups_total", "groups_next", "coverage", *maps, "recalibration_by_category")
    answer |= {to_camel(name): part for name, part in _stated(calibration, parts).items()}
    answer |= unknown_json(calibration.unknown_names)
    return answer | _stated(calibration, ("retracted", *HISTORY_PARTS))


def _stated(calibration: CalibrationAnswer, names: tuple[str, ...]) -> dict[str, object]:
    """Return those of some parts that the answer has."""
    parts = {name: getattr(calibration, name) for name in names}
    return {name: to_camel_json(part) for name, part in parts.items() if part is not UNSET}


def _period(window: str | None, time_range: TimeRange, now: datetime) -> dict[str, str]:
    """Return the time range of an answer: dates for a window, otherwise times. A range without an end ends now."""
    start, end = time_range.since, (time_range.until or now) if time_range.bounded else None
    ends = {name: moment for name, moment in (("periodStart", start), ("periodEnd", end)) if moment is not None}
    if window is None:
        return {name: moment.isoformat() for name, moment in ends.items()}
    return {"window": window, **{name: moment.date().isoformat() for name, moment in ends.items()}}


def _overall(figures: CalibrationScores) -> dict[str, object]:
    again = named(figures, _SNAKE_NAMES, _SNAKE_NAMES)
    return {**named(figures, _OVERALL, _NAMES), **again, **named(figures, _EVIDENCE)}
