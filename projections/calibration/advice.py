"""Advice to an agent about to decide: what decisions like this one came to.

The likest decisions that are enough to go by: those of the same agent, category and stakes, then of agent and category,
then of the agent; and of these the ones that stated about the same confidence.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from projections.calibration.confidence_bins import ConfidenceBins, bin_counts
from projections.calibration.counts import CountTable
from projections.calibration.scores import TOLERANCE
from projections.stats.intervals import Interval, wilson_interval

CONFIDENCE_RADIUS = 0.05
"""Confidences this close to the one stated count as about the same."""

REVIEWS_ENOUGH = 20
"""Reviews that are enough to go by; where no likeness has them, the widest is taken."""

_CATEGORY, _STAKES = 1, 2
"""Places in what many decisions share."""

AdviceScope = tuple[str | None, str | None]
"""Category and stakes; None is any."""

ANY_DECISION: AdviceScope = (None, None)


class PastDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """What the decisions named by agent, category, stakes and a range of stated confidence came to.

    `category` and `stakes` are None where these decisions are of any; `stated` is their mean stated confidence,
    `success` their mean outcome with its interval at 95% (Wilson), None where none is reviewed.
    """

    agent: str
    category: str | None
    stakes: str | None
    confidence: tuple[float, float]
    reviewed: int
    stated: float | None
    success: float | None
    interval: Interval | None
    message: str


class PlannedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision about to be made; without a confidence, decisions of any are told."""

    agent: str
    category: str | None = None
    stakes: str | None = None
    confidence: float | None = None


def summarize_past_decisions(table: CountTable, plan: PlannedDecision) -> PastDecisions:
    """What decisions like the one planned came to, given the cells of its agent."""
    low, high = 0.0, 1.0
    if plan.confidence is not None:
        low, high = max(0.0, plan.confidence - CONFIDENCE_RADIUS), min(1.0, plan.confidence + CONFIDENCE_RADIUS)
    with np.errstate(invalid="ignore"):
        near = (table.confidence >= low - TOLERANCE) & (table.confidence <= high + TOLERANCE)
    pools = ((alike, _alike(table, near, alike)) for alike in _likenesses(plan))
    (category, stakes), found = next(
        one for one in pools if one[1].reviewed >= REVIEWS_ENOUGH or one[0] == ANY_DECISION
    )
    n, worth = found.reviewed, found.total_worth
    said = PastDecisions(
        agent=plan.agent,
        category=category,
        stakes=stakes,
        confidence=(round(low, 9), round(high, 9)),
        reviewed=n,
        stated=found.mean_confidence if n else None,
        success=worth / n if n else None,
        interval=wilson_interval(worth, n) if n else None,
        message="",
    )
    return msgspec.structs.replace(said, message=_message(said, plan.confidence))


def _likenesses(plan: PlannedDecision) -> Iterator[AdviceScope]:
    """What to look for, the likest first and any decision last."""
    if plan.category is not None and plan.stakes is not None:
        yield plan.category, plan.stakes
    if plan.category is not None:
        yield plan.category, None
    elif plan.stakes is not None:
        yield None, plan.stakes
    yield ANY_DECISION


def _alike(table: CountTable, near: npt.NDArray[np.bool_], likeness: AdviceScope) -> ConfidenceBins:
    """Of the cells that are near, those of a category and stakes."""
    category, stakes = likeness
    fits = np.array(
        [category in {None, shared[_CATEGORY]} and stakes in {None, shared[_STAKES]} for shared in table.groups],
        dtype=bool,
    )
    inside = near & fits[table.group] if len(fits) else near
    return bin_counts(table.confidence[inside], table.counts[inside])


def _message(said: PastDecisions, confidence: float | None) -> str:
    about = "".join(
        [
            said.agent,
            f" in {said.category}" if said.category is not None else "",
            f" at {said.stakes} stakes" if said.stakes is not None else "",
        ]
    )
    low, high = said.confidence
    near = "" if confidence is None else f" stated at {low:.2f} to {high:.2f}"
    if said.success is None or said.interval is None:
        return f"No decision of {about}{near} is reviewed yet."
    came = f"{said.success:.2f} ({said.interval.low:.2f} to {said.interval.high:.2f}), n={said.reviewed:,}"
    if confidence is None:
        return f"Decisions of {about} stated {said.stated:.2f} on average and came to {came}."
    off = not said.interval.low - TOLERANCE <= confidence <= said.interval.high + TOLERANCE
    hint = f" Consider stating about {said.success:.2f}." if off and said.reviewed >= REVIEWS_ENOUGH else ""
    return f"Decisions of {about}{near} came to {came}.{hint}"
