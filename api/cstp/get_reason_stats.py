"""cstp.getReasonStats: count the outcomes of decisions by the types of their reasons."""

from typing import Any

from api.cstp.answer_names import named, rounded
from api.cstp.params_schema import ParamsSchema, merge_filters
from api.cstp.unknown_names import name_unknown
from api.principal import Principal
from api.service.calibration_params import CalibrationParams
from api.service.ledger import View
from api.service.reason_stats import compute_reason_stats
from projections.calibration.reason_index import REVIEWED_MIN
from projections.calibration.reason_stats import ReasonCountStats, ReasonTypeStats

BRIER_DIGITS, MEAN_DIGITS = 4, 2

_TYPE = {
    "type": "reasonType", "total": "totalUses", "reviewed": "reviewedUses", "success": "successCount",
    "partial": "partialCount", "failure": "failureCount", "success_rate": "successRate",
    "mean_confidence": "avgConfidence", "mean_strength": "avgStrength", "brier_score": "brierScore",
    "abandoned": "abandonedCount", "stated": "statedConfidences", "strengths": "statedStrengths",
}  # fmt: skip
_COUNTS = {
    "types": "distinctReasonTypes", "total": "totalDecisions", "reviewed": "reviewedDecisions",
    "success_rate": "successRate",
}  # fmt: skip
"""The protocol's names of our fields, in the order of a row."""

_schema: ParamsSchema[CalibrationParams] = ParamsSchema(
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
    request, now = _schema.decode(merge_filters(params)), view.clock()
    selection = request.filter(now)
    reasons = await compute_reason_stats(view, selection, request.min_decisions)
    return {
        "byReasonType": [_type(stats, request.min_decisions) for stats in reasons.types],
        "diversity": {
            "avgTypesPerDecision": rounded(reasons.mean_types or 0.0, MEAN_DIGITS),
            "avgReasonsPerDecision": rounded(reasons.mean_reasons or 0.0, MEAN_DIGITS),
            "diversityBuckets": [_bucket(stats) for stats in reasons.counts],
        },
        "recommendations": reasons.recommendations,
        "totalDecisions": reasons.total,
        "reviewedDecisions": reasons.reviewed,
        "queryTime": now.isoformat(),
        **({} if reasons.total else await name_unknown(view, selection)),
    }


def _type(stats: ReasonTypeStats, min_reviewed: int) -> dict[str, object]:
    row = named(stats, _TYPE, _TYPE, {"brierScore": BRIER_DIGITS})
    row["failureCount"] = stats.failure + stats.abandoned
    if stats.brier_score is None or stats.judged < min_reviewed:
        del row["brierScore"]
    return {name: 0.0 if value is None else value for name, value in row.items()}


def _bucket(stats: ReasonCountStats) -> dict[str, object]:
    """Return a row. The mean confidence is over the reviewed decisions, or over all decisions if none is reviewed."""
    if stats.reviewed:
        confidence, stated = stats.judged_confidence, stats.judged
    else:
        confidence, stated = stats.mean_confidence, stats.stated
    row = {**named(stats, _COUNTS, _COUNTS), "avgConfidence": rounded(confidence or 0.0)}
    if stats.brier_score is not None:
        row["brierScore"] = rounded(stats.brier_score, BRIER_DIGITS)
    return {**row, "statedConfidences": stated}
