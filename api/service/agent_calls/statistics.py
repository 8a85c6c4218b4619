"""The calibration and the outcomes by kind of reason, with CSTP's names, rounded as CSTP specifies."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import structs

from api.service.agent_calls.answer_names import name_unknown, named, rounded, to_camel, to_camel_json, unknown_json
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.largest import keep_largest
from api.service.ledger import View
from ledger.threads import run_on_thread
from projections.calibration.reason_index import ReasonIndex
from projections.calibration.reason_stats import ReasonCountStats, ReasonTypeStats
from projections.calibration.score_recommendations import CategoryScores
from projections.calibration.words import HISTORY_PARTS
from projections.time_range import TimeRange
from tallystick.shapes.calibration import CalibrationAnswer, CalibrationScores

ASKED_PARTS = ("threshold", *HISTORY_PARTS)
"""The parts of an answer that a call asks for."""

QUICK_ROWS_MAX = 100
"""An answer with more groups and categories is made on a thread."""

GROUPS_DEFAULT = 50
"""Groups of an answer, if `limit` does not say another number."""

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


async def get_calibration(view: View, params: CalibrationParams) -> dict[str, object]:
    """Return the calibration of some decisions.

    `groups` has the figures for each value of `groupBy`; a group with fewer than minDecisions has null. `limit` and
    `offset` select groups; if there are others, `groupsTotal` has their number, and `groupsNext` the next offset.
    `by_category` has two scores of the categories with the most reviewed decisions; `cut` says how many others there
    are. Fields of the protocol are rounded as the protocol specifies; fields that we add (intervals, scores, parts) are
    not rounded. The `interpretation` of a range of confidence compares with its `expectedRate`; `statedInterpretation`,
    `supported` and `reviewsNeeded` compare with its `meanConfidence`. `detail` is `figures`, or `curves`, which adds
    the curve and its band, and the recalibration maps that surely improve the scores. `include` adds parts: `trend`
    (windows of `trendDays`), `drift`, `comparison` of agents.
    """
    now = view.clock()
    query = structs.replace(params, window=None) if params.window == "all" else params
    result = await compute_calibration(view, query)
    period = _period(params.window, query.filter(now).range, now)
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
    return answer | _stated(calibration, ("retracted", *ASKED_PARTS))


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


async def get_reason_stats(view: View, params: CalibrationParams) -> dict[str, object]:
    """Return statistics of the reasons of the decisions that have reasons.

    The protocol's clients expect a number for each rate and mean of a type. If there is no value to average, the number
    is 0, and so is `reviewedUses`, `statedConfidences` or `statedStrengths`.
    """
    now = view.clock()
    selection = params.filter(now)
    projection, _ = await view.at(ReasonIndex)
    reasons = projection.view(selection, params.min_decisions)
    return {
        "byReasonType": [_reason_type(stats, params.min_decisions) for stats in reasons.types],
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
