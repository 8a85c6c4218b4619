"""What reasons came to: outcomes and calibration of decisions by the kinds of reasons given, and what follows from it.

Partial counts 0.5. A decision counts once for each kind of reason it gave, however often it gave it. A confidence or a
strength that nobody stated is not averaged.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from events.decision import ReasonType
from projections.calibration.recommendations import Recommendation
from projections.calibration.scores import TOLERANCE

REASON_TYPES: tuple[ReasonType, ...] = get_args(ReasonType)

MEAN_TYPES_MIN = 1.5
"""Kinds of reasons a decision below which reasoning is called one-sided."""

Sums = npt.NDArray[np.float64]


class ReasonStats(msgspec.Struct, frozen=True, kw_only=True):
    """What some decisions came to.

    `stated` of them stated a confidence, whose mean is `mean_confidence`; `judged` of those are reviewed, too, and over
    them go `judged_confidence` and `brier_score`. None: there is nothing to average.
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
    """The decisions that gave reasons of a type. `strengths` counts the reasons that stated one."""

    type: ReasonType
    strengths: int
    mean_strength: float | None


class ReasonCountStats(ReasonStats, frozen=True, kw_only=True):
    """The decisions that gave reasons of so many types."""

    types: int


class ReasonsView(msgspec.Struct, frozen=True, kw_only=True):
    """What reasons came to; decisions without any are not counted. Types go best first, the little reviewed last."""

    total: int
    reviewed: int
    mean_types: float | None
    mean_reasons: float | None
    types: list[ReasonTypeStats]
    counts: list[ReasonCountStats]
    recommendations: list[Recommendation]


class ReasonCounts(msgspec.Struct, frozen=True):
    """Sums over decisions for each set of types (bits in the order of REASON_TYPES), outcome, and confidence stated.

    Shapes: each (256, 5, 2). `count` of decisions, `confidence` their sum, `error` the sum of squared errors.
    """

    count: Sums
    confidence: Sums
    error: Sums

    def stats_of(self, masks: npt.NDArray[np.bool_]) -> dict[str, int | float | None]:
        """The fields of Merits, over some sets of types."""
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
            "success_rate": ratio(success + 0.5 * partial, reviewed),
            "stated": int(stated),
            "mean_confidence": ratio(confidence.sum(), stated),
            "judged": int(judged),
            "judged_confidence": ratio(confidence[1:].sum(), judged),
            "brier_score": ratio(self.error[masks].sum(), judged),
        }


def ratio(total: float, count: float) -> float | None:
    """A sum over a count; None over nothing."""
    return float(total) / float(count) if count else None


def recommend_from_reasons(
    types: Sequence[ReasonTypeStats], counts: Sequence[ReasonCountStats], mean_types: float | None, min_reviewed: int
) -> Iterator[Recommendation]:
    """What the merits recommend. Nothing rests on fewer than `min_reviewed` reviewed decisions."""
    if mean_types is None or sum(one.reviewed for one in counts) < min_reviewed:
        return
    yield from _compare_types([one for one in types if one.reviewed >= min_reviewed])
    yield from _overconfident(types, min_reviewed)
    if mean_types < MEAN_TYPES_MIN - TOLERANCE:
        message = f"Decisions give {mean_types:.1f} types of reasons on average. Consider giving a second one."
        yield _advice("low_diversity", message, "warning")
    yield from _compare_counts(counts, min_reviewed)
    unused = sorted({*REASON_TYPES} - {one.type for one in types})
    if unused:
        yield _advice("unused_types", f"No decision gives a reason of these types: {', '.join(unused)}.")


def _compare_types(enough: Sequence[ReasonTypeStats]) -> Iterator[Recommendation]:
    if not enough:
        return
    best, worst = max(enough, key=_rate), min(enough, key=_rate)
    if _rate(best) > _rate(worst) + 0.15 + TOLERANCE:
        message = (
            f"With reasons of type {best.type} {_percent(_rate(best))} went well ({best.reviewed} reviewed), "
            f"with {worst.type} {_percent(_rate(worst))} ({worst.reviewed} reviewed)."
        )
        yield _advice("best_reason_type", message)


def _overconfident(types: Sequence[ReasonTypeStats], min_reviewed: int) -> Iterator[Recommendation]:
    for one in types:
        if one.judged < min_reviewed or one.judged_confidence is None:
            continue
        if one.judged_confidence > 0.8 + TOLERANCE and _rate(one) < 0.6 - TOLERANCE:
            message = (
                f"With reasons of type {one.type}, {_percent(one.judged_confidence)} was stated on average and "
                f"{_percent(_rate(one))} went well ({one.reviewed} reviewed). Consider stating less."
            )
            yield _advice("overconfident_type", message, "warning")


def _compare_counts(counts: Sequence[ReasonCountStats], min_reviewed: int) -> Iterator[Recommendation]:
    single = [one for one in counts if one.types == 1]
    several = [one for one in counts if one.types > 1]
    n_single, n_several = _reviewed(single), _reviewed(several)
    if min(n_single, n_several) < min_reviewed:
        return
    rate_single, rate_several = _pooled(single), _pooled(several)
    message = (
        f"With reasons of several types {_percent(rate_several)} went well ({n_several} reviewed), "
        f"with those of one type {_percent(rate_single)} ({n_single} reviewed)."
    )
    if rate_several > rate_single + 0.1 + TOLERANCE:
        yield _advice("diversity_benefit", message)
    elif rate_single > rate_several + 0.1 + TOLERANCE:
        yield _advice("diversity_no_benefit", message)


def _rate(merits: ReasonStats) -> float:
    return merits.success_rate or 0.0


def _reviewed(merits: Sequence[ReasonStats]) -> int:
    return sum(one.reviewed for one in merits)


def _pooled(merits: Sequence[ReasonStats]) -> float:
    return sum(one.success + 0.5 * one.partial for one in merits) / max(_reviewed(merits), 1)


def _percent(share: float) -> str:
    return f"{share * 100:.0f}%"


def _advice(kind: str, message: str, severity: Literal["info", "warning"] = "info") -> Recommendation:
    return Recommendation(type=kind, message=message, severity=severity)
