"""Advice before a decision: the outcomes of similar past decisions of the same agent.

Similar decisions have the same category and stakes. If these have too few reviews, the same category is enough, and
then any decision of the agent. Only decisions with about the same stated confidence are used.
"""

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from projections.calibration.confidence_bins import ConfidenceBins, bin_counts
from projections.calibration.outcome_counts import CountTable
from projections.calibration.scores import TOLERANCE
from projections.stats.intervals import Interval, wilson_interval

CONFIDENCE_RADIUS = 0.05
"""Confidences within this distance are about the same."""

REVIEWS_ENOUGH = 20
"""The first scope with so many reviews is used; if no scope has them, the widest one."""

_DECIMALS = 9
"""Decimals of the range of confidence, so that it has no rounding errors."""

_CATEGORY, _STAKES = 1, 2
"""Indices of the fields in a `GroupKey`."""

AdviceScope = tuple[str | None, str | None]
"""Category and stakes; None means any."""

ANY_DECISION: AdviceScope = (None, None)


class PastDecisions(msgspec.Struct, frozen=True, kw_only=True):
    """The results of past decisions of an agent with a category, stakes and a range of stated confidence.

    `category` and `stakes` are None for any. `stated` is the mean stated confidence, `success` the mean outcome, and
    `interval` its 95% interval (Wilson). They are None without reviews.
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
    """A planned decision. Without a confidence, past decisions with any confidence are used."""

    agent: str
    category: str | None = None
    stakes: str | None = None
    confidence: float | None = None


def summarize_past_decisions(table: CountTable, plan: PlannedDecision) -> PastDecisions:
    """Summarize past decisions similar to the planned one, given the cells of its agent."""
    low, high = 0.0, 1.0
    if plan.confidence is not None:
        low, high = max(0.0, plan.confidence - CONFIDENCE_RADIUS), min(1.0, plan.confidence + CONFIDENCE_RADIUS)
    with np.errstate(invalid="ignore"):
        near = (table.confidence >= low - TOLERANCE) & (table.confidence <= high + TOLERANCE)
    candidates = ((scope, _bin_scope(table, near, scope)) for scope in _scopes(plan))
    (category, stakes), bins = next(
        (scope, bins) for scope, bins in candidates if bins.reviewed >= REVIEWS_ENOUGH or scope == ANY_DECISION
    )
    n, outcome_sum = bins.reviewed, bins.outcome_total
    past = PastDecisions(
        agent=plan.agent,
        category=category,
        stakes=stakes,
        confidence=(round(low, _DECIMALS), round(high, _DECIMALS)),
        reviewed=n,
        stated=bins.mean_confidence if n else None,
        success=outcome_sum / n if n else None,
        interval=wilson_interval(outcome_sum, n) if n else None,
        message="",
    )
    return msgspec.structs.replace(past, message=_message(past, plan.confidence))


def _scopes(plan: PlannedDecision) -> Iterator[AdviceScope]:
    """Yield the scopes to try: the most similar first, any decision last."""
    if plan.category is not None and plan.stakes is not None:
        yield plan.category, plan.stakes
    if plan.category is not None:
        yield plan.category, None
    elif plan.stakes is not None:
        yield None, plan.stakes
    yield ANY_DECISION


def _bin_scope(table: CountTable, near: npt.NDArray[np.bool_], scope: AdviceScope) -> ConfidenceBins:
    """Bin the cells in `near` that are in a scope."""
    category, stakes = scope
    fits = np.array(
        [category in {None, group[_CATEGORY]} and stakes in {None, group[_STAKES]} for group in table.groups],
        dtype=bool,
    )
    inside = near & fits[table.group] if len(fits) else near
    return bin_counts(table.confidence[inside], table.counts[inside])


def _message(past: PastDecisions, confidence: float | None) -> str:
    decisions = "".join(
        [
            past.agent,
            f" in {past.category}" if past.category is not None else "",
            f" at {past.stakes} stakes" if past.stakes is not None else "",
        ]
    )
    low, high = past.confidence
    near = "" if confidence is None else f" stated at {low:.2f} to {high:.2f}"
    if past.success is None or past.interval is None:
        return f"No decision of {decisions}{near} is reviewed yet."
    results = f"{past.success:.2f} ({past.interval.low:.2f} to {past.interval.high:.2f}), n={past.reviewed:,}"
    if confidence is None:
        return f"Decisions of {decisions} stated {past.stated:.2f} on average and came to {results}."
    outside = not past.interval.low - TOLERANCE <= confidence <= past.interval.high + TOLERANCE
    hint = f" Consider stating about {past.success:.2f}." if outside and past.reviewed >= REVIEWS_ENOUGH else ""
    return f"Decisions of {decisions}{near} came to {results}.{hint}"
