"""cstp.getCalibration, getReasonStats and checkDrift: our statistics with CSTP's names, rounded as CSTP specifies."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import structs

from api.cstp.answer_names import name_unknown, named, rounded, to_camel, to_camel_json, unknown_json
from api.cstp.params_schema import ParamsSchema, decode_both, merge_filters, tolerate
from api.parameters import WINDOWS
from api.principal import Principal
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.largest import keep_largest
from api.service.ledger import LedgerService, View
from api.service.reason_stats import compute_reason_stats
from api.service.recent_drift import detect_recent_drift
from ledger.threads import run_on_thread
from projections.calibration.calibration_filter import CalibrationFilter
from projections.calibration.reason_index import REVIEWED_MIN
from projections.calibration.reason_stats import ReasonCountStats, ReasonTypeStats
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.window_comparison import DriftAlert, DriftLimits, DriftWindow, RecentDrift
from projections.calibration.words import HISTORY_PARTS
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationScores

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

_calibration: ParamsSchema[CalibrationParams] = ParamsSchema(
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
    request, now = _calibration.decode(merged), view.clock()
    query = structs.replace(request, window=None) if request.window == "all" else request
    result = await compute_calibration(view, query)
    period = _period(request.window, query.filter(now).range, now)
    if len(result.categories) + len(result.answer.groups) <= QUICK_ROWS_MAX:
        return _calibration_answer(result.answer, result.categories, period, now)
    return await run_on_thread(_calibration_answer, result.answer, result.categories, period, now)


def _calibration_answer(
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
    if calibration.groups_total is not None:
        answer |= {"groupsTotal": calibration.groups_total, "groupsNext": calibration.groups_next}
    parts = ("coverage", "recalibration", "recalibration_by_category")
    answer |= {to_camel(name): part for name, part in _stated(calibration, parts).items()}
    answer |= unknown_json(calibration.unknown_names)
    return answer | _stated(calibration, ("retracted", *HISTORY_PARTS))


def _stated(calibration: CalibrationAnswer, names: tuple[str, ...]) -> dict[str, object]:
    """Return those of some parts that the answer has."""
    parts = {name: getattr(calibration, name) for name in names}
    return {name: to_camel_json(part) for name, part in parts.items() if part}


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


BRIER_DIGITS, MEAN_DIGITS = 4, 2

_REASON_TYPE = {
    "type": "reasonType", "total": "totalUses", "reviewed": "reviewedUses", "success": "successCount",
    "partial": "partialCount", "failure": "failureCount", "success_rate": "successRate",
    "mean_confidence": "avgConfidence", "mean_strength": "avgStrength", "brier_score": "brierScore",
    "abandoned": "abandonedCount", "stated": "statedConfidences", "strengths": "statedStrengths",
}  # fmt: skip
_REASON_COUNT = {
    "types": "distinctReasonTypes", "total": "totalDecisions", "reviewed": "reviewedDecisions",
    "success_rate": "successRate",
}  # fmt: skip
"""The protocol's names of our fields, in the order of a row."""

_reasons: ParamsSchema[CalibrationParams] = ParamsSchema(
    CalibrationParams,
    only=("agent", "category", "stakes", "project", "feature", "since", "until", "min_decisions"),
    aliases={"min_decisions": ("minReviewed", "min_reviewed")},
    defaults={"min_decisions": REVIEWED_MIN},
    reads=True,
)


async def get_reason_stats(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return statistics of the reasons of the decisions that have reasons.

    The protocol's clients expect a number for each rate and mean of a type. If there is no value to average, the number
    is 0, and so is `reviewedUses`, `statedConfidences` or `statedStrengths`.
    """
    request, now = _reasons.decode(merge_filters(params)), view.clock()
    selection = request.filter(now)
    reasons = await compute_reason_stats(view, selection, request.min_decisions)
    return {
        "byReasonType": [_reason_type(stats, request.min_decisions) for stats in reasons.types],
        "diversity": {
            "avgTypesPerDecision": rounded(reasons.mean_types or 0.0, MEAN_DIGITS),
            "avgReasonsPerDecision": rounded(reasons.mean_reasons or 0.0, MEAN_DIGITS),
            "diversityBuckets": [_reason_count(stats) for stats in reasons.counts],
        },
        "recommendations": reasons.recommendations,
        "totalDecisions": reasons.total,
        "reviewedDecisions": reasons.reviewed,
        "queryTime": now.isoformat(),
        **({} if reasons.total else await name_unknown(view, selection)),
    }


def _reason_type(stats: ReasonTypeStats, min_reviewed: int) -> dict[str, object]:
    row = named(stats, _REASON_TYPE, _REASON_TYPE, {"brierScore": BRIER_DIGITS})
    row["failureCount"] = stats.failure + stats.abandoned
    if stats.brier_score is None or stats.judged < min_reviewed:
        del row["brierScore"]
    return {name: 0.0 if value is None else value for name, value in row.items()}


def _reason_count(stats: ReasonCountStats) -> dict[str, object]:
    """Return a row. The mean confidence is over the reviewed decisions, or over all decisions if none is reviewed."""
    if stats.reviewed:
        confidence, stated = stats.judged_confidence, stats.judged
    else:
        confidence, stated = stats.mean_confidence, stats.stated
    row = {**named(stats, _REASON_COUNT, _REASON_COUNT), "avgConfidence": rounded(confidence or 0.0)}
    if stats.brier_score is not None:
        row["brierScore"] = rounded(stats.brier_score, BRIER_DIGITS)
    return {**row, "statedConfidences": stated}


_ERROR_ABOVE: Mapping[str, float] = {"brier_degradation": 0.5, "accuracy_drop": 0.25}
"""Relative changes above which an alert is an error instead of a warning."""

_CHANGES: Mapping[str, str] = {"brier_degradation": "Brier score rose", "accuracy_drop": "Accuracy fell"}

_ADVICE: Mapping[str, tuple[str, str]] = {
    "brier_degradation": ("recalibrate", "Stated confidences fit the outcomes worse than before: state them lower."),
    "accuracy_drop": ("review_process", "Fewer decisions succeed than before: look at those of the last 30 days."),
}

_drift_filter: ParamsSchema[CalibrationFilter] = ParamsSchema(
    CalibrationFilter, only=("agent", "category", "project"), reads=True
)
_drift_limits: ParamsSchema[DriftLimits] = ParamsSchema(
    DriftLimits,
    aliases={
        "brier_rise": ("thresholdBrier", "threshold_brier", "brierThreshold", "brier_threshold"),
        "accuracy_drop": ("thresholdAccuracy", "threshold_accuracy", "accuracyThreshold", "accuracy_threshold"),
    },
)


async def check_drift(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Compare the decisions of the last 30 days with those of the 90 days before.

    `alerts` are changes above their threshold that are more than chance; those in `unsupported` may be chance. `change`
    is the result of the search for one change point within the 120 days. A decision exactly 30 days ago belongs to the
    recent window.
    """
    selection, limits = decode_both(_drift_filter, _drift_limits, params)
    now = ledger.clock()
    drift = await detect_recent_drift(ledger, selection, now, limits)
    is_empty = drift.recent is None and drift.historical is None
    return _drift_answer(drift, selection.category, limits) | (
        await name_unknown(ledger, selection) if is_empty else {}
    )


def _drift_answer(drift: RecentDrift, category: str | None, limits: DriftLimits) -> dict[str, object]:
    return {
        "driftDetected": bool(drift.alerts),
        "recent": None if drift.recent is None else _drift_window("30d", drift.recent),
        "historical": None if drift.historical is None else _drift_window("90d", drift.historical),
        "alerts": [_alert(alert, category) for alert in drift.alerts],
        "recommendations": _recommendations(drift, limits.min_decisions),
        "unsupported": [_alert(alert, category) for alert in drift.unsupported],
        "change": to_camel_json(drift.drift),
    }


def _drift_window(name: str, span: DriftWindow) -> dict[str, object]:
    return {
        "window": name,
        **named(span, ("brier_score", "accuracy", "reviewed", "since", "until"), {"reviewed": "decisions"}),
    }


def _alert(alert: DriftAlert, category: str | None) -> dict[str, object]:
    prefix = "" if category is None else f"{category}: "
    change = f"{abs(alert.change):.0%}"
    return {
        "type": alert.type,
        "category": category,
        "recentValue": rounded(alert.recent),
        "historicalValue": rounded(alert.historical),
        "changePct": rounded(100 * alert.change, 1),
        "severity": "error" if abs(alert.change) > _ERROR_ABOVE[alert.type] else "warning",
        "message": f"{prefix}{_CHANGES[alert.type]} by {change} ({alert.historical:.2f} to {alert.recent:.2f})",
        "p": alert.p,
    }


def _recommendations(drift: RecentDrift, required: int) -> list[dict[str, str]]:
    if drift.recent is None:
        recent, historical = drift.found
        count, window = (recent, "recent") if recent < required else (historical, "historical")
        message = f"Need at least {required} {window} decisions for drift detection (found {count})"
        return [{"type": "insufficient_data", "message": message, "severity": "info"}]
    advice = [_ADVICE[alert.type] for alert in drift.alerts]
    return [{"type": kind, "message": message, "severity": "info"} for kind, message in advice]
