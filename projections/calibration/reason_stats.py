"""Statistics and recommendations by type of reason: outcomes and calibration of decisions that state each type.

A partial outcome counts 0.5. A decision is counted once for each type of its reasons, even if it has several reasons
of the type. Averages leave out confidences and strengths that were not stated.
"""

from collections.abc import Iterator, Sequence
from typing import get_args

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import ReasonType
from projections.calibration.scores import TOLERANCE
from tallystick.shapes.calibration import Recommendation, Severity

REASON_TYPES: tuple[ReasonType, ...] = get_args(ReasonType)

MEAN_TYPES_MIN = 1.5
"""With fewer types of reasons per decision on average, more types are recommended."""

BEST_TYPE_LEAD = 0.15
"""The best type is recommended if its success rate exceeds that of the worst by more than this."""

OVERCONFIDENT_ABOVE, OVERCONFIDENT_RATE_BELOW = 0.8, 0.6
"""A type is overconfident if its mean confidence is higher and its success rate is lower than these."""

DIVERSITY_GAP = 0.1
"""Success rates with one and with several types must differ by more than this for a recommendation."""

PARTIAL_VALUE = 0.5

Sums = npt.NDArray[np.float64]


class ReasonStats(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a set of decisions. An average over nothing is None.

    `stated` decisions have a confidence, with mean `mean_confidence`. `judged` of them are also reviewed;
    `judged_confidence` and `brier_score` are their averages.
    """

    total: int
    reviewed: int
    success: int
    partial: int
    failure: int
    abandoned: int
    success_rate: float | None
    stated: int
    mean_confidence: float | None
    judged: int
    judged_confidence: float | None
    brier_score: float | None


class ReasonTypeStats(ReasonStats, frozen=True, kw_only=True):
    """The results of decisions with reasons of one type. `strengths` counts the reasons with a strength."""

    type: ReasonType
    strengths: int
    mean_strength: float | None


class ReasonCountStats(ReasonStats, frozen=True, kw_only=True):
    """The results of decisions with reasons of exactly `types` types."""

    types: int


class ReasonsView(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of decisions with reasons. Types are sorted best first; those with few reviews are last."""

    total: int
    reviewed: int
    mean_types: float | None
    mean_reasons: float | None
    types: list[ReasonTypeStats]
    counts: list[ReasonCountStats]
    recommendations: list[Recommendation]


class ReasonCounts(msgspec.Struct, frozen=True):
    """Sums by set of types (bits in the order of REASON_TYPES), outcome, and whether a confidence is stated.

    Shapes: each (256, 5, 2). `count` counts decisions, `confidence` sums confidences, `error` sums squared errors.
    """

    count: Sums
    confidence: Sums
    error: Sums

    def stats_of(self, masks: npt.NDArray[np.bool_]) -> dict[str, int | float | None]:
        """Return the fields of `ReasonStats` over some sets of types."""
        count = self.count[masks].sum(axis=0)
        confidence = self.confidence[masks].sum(axis=0)[:, 1]
        _, success, partial, failure, abandoned = (int(n) for n in count.sum(axis=1))
        reviewed, stated, judged = success + partial + failure + abandoned, count[:, 1].sum(), count[1:, 1].sum()
        return {
            "total": int(count.sum()),
            "reviewed": reviewed,
            "success": success,
            "partial": partial,
            "failure": failure,
            "abandoned": abandoned,
            "success_rate": ratio(success + PARTIAL_VALUE * partial, reviewed),
            "stated": int(stated),
            "mean_confidence": ratio(confidence.sum(), stated),
            "judged": int(judged),
            "judged_confidence": ratio(confidence[1:].sum(), judged),
            "brier_score": ratio(self.error[masks].sum(), judged),
        }


def ratio(total: float, count: float) -> float | None:
    """Return total / count, or None if count is 0."""
    return float(total) / float(count) if count else None


def recommend_from_reasons(
    types: Sequence[ReasonTypeStats], counts: Sequence[ReasonCountStats], mean_types: float | None, min_reviewed: int
) -> Iterator[Recommendation]:
    """Yield the recommendations. Each needs at least `min_reviewed` reviewed decisions."""
    if mean_types is None or sum(row.reviewed for row in counts) < min_reviewed:
        return
    yield from _compare_types([row for row in types if row.reviewed >= min_reviewed])
    yield from _overconfident(types, min_reviewed)
    if mean_types < MEAN_TYPES_MIN - TOLERANCE:
        message = f"Decisions give {mean_types:.1f} types of reasons on average. Consider giving a second one."
        yield _advice("low_diversity", message, "warning")
    yield from _compare_counts(counts, min_reviewed)
    unused = sorted({*REASON_TYPES} - {row.type for row in types})
    if unused:
        yield _advice("unused_types", f"No decision gives a reason of these types: {', '.join(unused)}.")


def _compare_types(types: Sequence[ReasonTypeStats]) -> Iterator[Recommendation]:
    if not types:
        return
    best, worst = max(types, key=_rate), min(types, key=_rate)
    if _rate(best) > _rate(worst) + BEST_TYPE_LEAD + TOLERANCE:
        message = (
            f"With reasons of type {best.type} {_percent(_rate(best))} went well ({best.reviewed} reviewed), "
            f"with {worst.type} {_percent(_rate(worst))} ({worst.reviewed} reviewed)."
        )
        yield _advice("best_reason_type", message)


def _overconfident(types: Sequence[ReasonTypeStats], min_reviewed: int) -> Iterator[Recommendation]:
    for row in types:
        if row.judged < min_reviewed or row.judged_confidence is None:
            continue
        if (
            row.judged_confidence > OVERCONFIDENT_ABOVE + TOLERANCE
            and _rate(row) < OVERCONFIDENT_RATE_BELOW - TOLERANCE
        ):
            message = (
                f"With reasons of type {row.type}, {_percent(row.judged_confidence)} was stated on average and "
                f"{_percent(_rate(row))} went well ({row.reviewed} reviewed). Consider stating less."
            )
            yield _advice("overconfident_type", message, "warning")


def _compare_counts(counts: Sequence[ReasonCountStats], min_reviewed: int) -> Iterator[Recommendation]:
    single = [row for row in counts if row.types == 1]
    several = [row for row in counts if row.types > 1]
    n_single, n_several = _reviewed(single), _reviewed(several)
    if min(n_single, n_several) < min_reviewed:
        return
    rate_single, rate_several = _pooled_rate(single), _pooled_rate(several)
    message = (
        f"With reasons of several types {_percent(rate_several)} went well ({n_several} reviewed), "
        f"with those of one type {_percent(rate_single)} ({n_single} reviewed)."
    )
    if rate_several > rate_single + DIVERSITY_GAP + TOLERANCE:
        yield _advice("diversity_benefit", message)
    elif rate_single > rate_several + DIVERSITY_GAP + TOLERANCE:
        yield _advice("diversity_no_benefit", message)


def _rate(stats: ReasonStats) -> float:
    return stats.success_rate or 0.0


def _reviewed(rows: Sequence[ReasonStats]) -> int:
    return sum(row.reviewed for row in rows)


def _pooled_rate(rows: Sequence[ReasonStats]) -> float:
    return sum(row.success + PARTIAL_VALUE * row.partial for row in rows) / max(_reviewed(rows), 1)


def _percent(share: float) -> str:
    return f"{share * 100:.0f}%"


def _advice(kind: str, message: str, severity: Severity = "info") -> Recommendation:
    return Recommendation(type=kind, message=message, severity=severity)
