"""cstp.getReasonStats: which kinds of reasons bore out."""

from typing import Annotated, Any

import msgspec

from api.auth import Principal
from api.cstp.params import ParamsSchema, merged, period_of
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
    """What the reasons of some decisions came to; those that gave none are not counted.

    The protocol's clients read a number for each rate and mean of a type, so that these are 0 where there is nothing to
    average; `reviewedUses`, `statedConfidences` and `statedStrengths` tell.
    """
    asked, now = _asked.decode(merged(params)), ledger.clock()
    wanted = CalibrationFilter(
        agent=asked.agent or None,
        category=asked.category or None,
        stakes=asked.stakes,
        project=asked.project or None,
        feature=asked.feature or None,
        range=period_of(asked.since or None, asked.until or None, now),
    )
    found = await compute_reason_stats(ledger, wanted, asked.min_reviewed)
    return {
        "byReasonType": [_type(merits, asked.min_reviewed) for merits in found.types],
        "diversity": {
            "avgTypesPerDecision": _rounded(found.mean_types or 0.0, MEAN_DIGITS),
            "avgReasonsPerDecision": _rounded(found.mean_reasons or 0.0, MEAN_DIGITS),
            "diversityBuckets": [_bucket(merits) for merits in found.counts],
        },
        "recommendations": found.recommendations,
        "totalDecisions": found.total,
        "reviewedDecisions": found.reviewed,
        "queryTime": now.isoformat(),
    }


def _type(merits: ReasonTypeStats, min_reviewed: int) -> dict[str, object]:
    row: dict[str, object] = {
        "reasonType": merits.type,
        "totalUses": merits.total,
        "reviewedUses": merits.reviewed,
        "successCount": merits.success,
        "partialCount": merits.partial,
        "failureCount": merits.failure + merits.abandoned,
        "successRate": _rounded(merits.success_rate or 0.0),
        "avgConfidence": _rounded(merits.mean_confidence or 0.0),
        "avgStrength": _rounded(merits.mean_strength or 0.0),
    }
    if merits.brier_score is not None and merits.judged >= min_reviewed:
        row["brierScore"] = _rounded(merits.brier_score, BRIER_DIGITS)
    return {
        **row,
        "abandonedCount": merits.abandoned,
        "statedConfidences": merits.stated,
        "statedStrengths": merits.strengths,
    }


def _bucket(merits: ReasonCountStats) -> dict[str, object]:
    """The mean confidence is that of the reviewed decisions, whose rate stands beside it; of all while none is."""
    confidence, stated = (
        (merits.judged_confidence, merits.judged) if merits.reviewed else (merits.mean_confidence, merits.stated)
    )
    row: dict[str, object] = {
        "distinctReasonTypes": merits.types,
        "totalDecisions": merits.total,
        "reviewedDecisions": merits.reviewed,
        "successRate": None if merits.success_rate is None else _rounded(merits.success_rate),
        "avgConfidence": _rounded(confidence or 0.0),
    }
    if merits.brier_score is not None:
        row["brierScore"] = _rounded(merits.brier_score, BRIER_DIGITS)
    return {**row, "statedConfidences": stated}


def _rounded(value: float, digits: int = RATE_DIGITS) -> float:
    return round(value, digits) + 0.0
