"""cstp.getReasonStats: how decisions with each kind of reason turned out."""

from typing import Annotated, Any

import msgspec

from api.auth import Principal
from api.cstp.params import ParamsSchema, merge_filters, parse_period
from api.service.calibration import compute_reason_stats
from api.service.ledger import LedgerService
from events.decision import Stakes
from projections.calibration.calibration import CalibrationFilter
from projections.calibration.reason_index import REVIEWED_MIN
from projections.calibration.reason_stats import ReasonCountStats, ReasonTypeStats

RATE_DIGITS, BRIER_DIGITS, MEAN_DIGITS = 3, 4, 2


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    agent: str | None = None
    category: str | None = None
    stakes: Stakes | None = None
    project: str | None = None
    feature: str | None = None
    since: str | None = None
    until: str | None = None
    min_reviewed: Annotated[int, msgspec.Meta(ge=1)] = REVIEWED_MIN


_asked: ParamsSchema[_Asked] = ParamsSchema(_Asked)


async def get_reason_stats(ledger: LedgerService, caller: Principal, params: dict[str, Any]) -> object:
    """Return statistics of the reasons of some decisions; decisions without reasons do not count.

    The protocol's clients expect a number for each rate and mean of a type, so these are 0 if there is nothing to
    average; then `reviewedUses`, `statedConfidences` or `statedStrengths` is 0.
    """
    asked, now = _asked.decode(merge_filters(params)), ledger.clock()
    wanted = CalibrationFilter(
        agent=asked.agent or None,
        category=asked.category or None,
        stakes=asked.stakes,
        project=asked.project or None,
        feature=asked.feature or None,
        range=parse_period(asked.since or None, asked.until or None, now),
    )
    found = await compute_reason_stats(ledger, wanted, asked.min_reviewed)
    return {
        "byReasonType": [_type(stats, asked.min_reviewed) for stats in found.types],
        "diversity": {
            "avgTypesPerDecision": _rounded(found.mean_types or 0.0, MEAN_DIGITS),
            "avgReasonsPerDecision": _rounded(found.mean_reasons or 0.0, MEAN_DIGITS),
            "diversityBuckets": [_bucket(stats) for stats in found.counts],
        },
        "recommendations": found.recommendations,
        "totalDecisions": found.total,
        "reviewedDecisions": found.reviewed,
        "queryTime": now.isoformat(),
    }


def _type(stats: ReasonTypeStats, min_reviewed: int) -> dict[str, object]:
    row: dict[str, object] = {
        "reasonType": stats.type,
        "totalUses": stats.total,
        "reviewedUses": stats.reviewed,
        "successCount": stats.success,
        "partialCount": stats.partial,
        "failureCount": stats.failure + stats.abandoned,
        "successRate": _rounded(stats.success_rate or 0.0),
        "avgConfidence": _rounded(stats.mean_confidence or 0.0),
        "avgStrength": _rounded(stats.mean_strength or 0.0),
    }
    if stats.brier_score is not None and stats.judged >= min_reviewed:
        row["brierScore"] = _rounded(stats.brier_score, BRIER_DIGITS)
    return {
        **row,
        "abandonedCount": stats.abandoned,
        "statedConfidences": stats.stated,
        "statedStrengths": stats.strengths,
    }


def _bucket(stats: ReasonCountStats) -> dict[str, object]:
    """Return a row. The mean confidence is that of the reviewed decisions, or of all while none is reviewed."""
    confidence, stated = (
        (stats.judged_confidence, stats.judged) if stats.reviewed else (stats.mean_confidence, stats.stated)
    )
    row: dict[str, object] = {
        "distinctReasonTypes": stats.types,
        "totalDecisions": stats.total,
        "reviewedDecisions": stats.reviewed,
        "successRate": None if stats.success_rate is None else _rounded(stats.success_rate),
        "avgConfidence": _rounded(confidence or 0.0),
    }
    if stats.brier_score is not None:
        row["brierScore"] = _rounded(stats.brier_score, BRIER_DIGITS)
    return {**row, "statedConfidences": stated}


def _rounded(value: float, digits: int = RATE_DIGITS) -> float:
    return round(value, digits) + 0.0
