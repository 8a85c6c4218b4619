"""cstp.getReasonStats: count the outcomes of decisions by the types of their reasons."""

from typing import Annotated, Any

import msgspec

from api.cstp.get_calibration import FilterParams, rounded
from api.cstp.params_schema import ParamsSchema, merge_filters
from api.cstp.unknown_names import name_unknown
from api.principal import Principal
from api.service.ledger import View
from api.service.reason_stats import compute_reason_stats
from projections.calibration.reason_index import REVIEWED_MIN
from projections.calibration.reason_stats import ReasonCountStats, ReasonTypeStats

BRIER_DIGITS, MEAN_DIGITS = 4, 2


class _ReasonStatsParams(FilterParams, frozen=True, kw_only=True):
    min_reviewed: Annotated[int, msgspec.Meta(ge=1)] = REVIEWED_MIN


_schema: ParamsSchema[_ReasonStatsParams] = ParamsSchema(_ReasonStatsParams, ignores_words=True)


async def get_reason_stats(view: View, caller: Principal, params: dict[str, Any]) -> object:
    """Return statistics of the reasons of the decisions that have reasons.

    The protocol's clients expect a number for each rate and mean of a type. If there is no value to average, the number
    is 0, and so is `reviewedUses`, `statedConfidences` or `statedStrengths`.
    """
    request, now = _schema.decode(merge_filters(params)), view.clock()
    selection = request.to_filter(now)
    reasons = await compute_reason_stats(view, selection, request.min_reviewed)
    return {
        "byReasonType": [_type(stats, request.min_reviewed) for stats in reasons.types],
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
    row: dict[str, object] = {
        "reasonType": stats.type,
        "totalUses": stats.total,
        "reviewedUses": stats.reviewed,
        "successCount": stats.success,
        "partialCount": stats.partial,
        "failureCount": stats.failure + stats.abandoned,
        "successRate": rounded(stats.success_rate or 0.0),
        "avgConfidence": rounded(stats.mean_confidence or 0.0),
        "avgStrength": rounded(stats.mean_strength or 0.0),
    }
    if stats.brier_score is not None and stats.judged >= min_reviewed:
        row["brierScore"] = rounded(stats.brier_score, BRIER_DIGITS)
    return {
        **row,
        "abandonedCount": stats.abandoned,
        "statedConfidences": stats.stated,
        "statedStrengths": stats.strengths,
    }


def _bucket(stats: ReasonCountStats) -> dict[str, object]:
    """Return a row. The mean confidence is over the reviewed decisions, or over all decisions if none is reviewed."""
    if stats.reviewed:
        confidence, stated = stats.judged_confidence, stats.judged
    else:
        confidence, stated = stats.mean_confidence, stats.stated
    row: dict[str, object] = {
        "distinctReasonTypes": stats.types,
        "totalDecisions": stats.total,
        "reviewedDecisions": stats.reviewed,
        "successRate": None if stats.success_rate is None else rounded(stats.success_rate),
        "avgConfidence": rounded(confidence or 0.0),
    }
    if stats.brier_score is not None:
        row["brierScore"] = rounded(stats.brier_score, BRIER_DIGITS)
    return {**row, "statedConfidences": stated}
