"""The parts of calibration that need each decision: trend, change point, comparison, reviews by age, drawings.

They need the order or the age of decisions; the scores need only counts.
"""

from collections.abc import Collection
from typing import Final, NamedTuple, TypedDict

from projections.calibration.agent_comparison import compare_agents
from projections.calibration.change_point import detect_drift
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.missing_reviews import compare_ages
from projections.calibration.model_groups import ResolveModel, decisions_by_model
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.calibration.trend import compute_trend
from projections.calibration.words import TREND_DAYS, HistoryPart
from projections.query_check import Check
from tallystick.shapes.comparison import AgentComparison
from tallystick.shapes.history import Drift, Trend
from tallystick.shapes.missing_reviews import ReviewsByAge
from tallystick.shapes.plots import PlotData

_OF_REVIEWS: Final = frozenset[HistoryPart]({"trend", "drift", "comparison"})


class HistoryFields(TypedDict, total=False):
    """The requested parts, which are fields of `CalibrationAnswer`."""

    trend: Trend
    drift: Drift
    comparison: AgentComparison
    reviews_by_age: ReviewsByAge
    plots: PlotData


def build_history(
    history: ReviewedDecisions,
    include: Collection[HistoryPart],
    trend_days: int = TREND_DAYS,
    compared: ReviewedDecisions | None = None,
    resolve: ResolveModel | None = None,
) -> HistoryFields:
    """Build the requested parts that need reviewed decisions only.

    The comparison is of the agents of `compared`, by default of `history`. With `resolve`, drift
    names the models of the decisions.
    For a million decisions this takes a few tenths of a second; drift takes one to four seconds.
    """
    confidence, outcome_value, time_us = history.confidence, history.outcome_value, history.time_us
    fields = HistoryFields()
    if "trend" in include:
        fields["trend"] = compute_trend(confidence, outcome_value, time_us, trend_days)
    if "drift" in include:
        fields["drift"] = detect_drift(history, resolve)
    if "comparison" in include:
        fields["comparison"] = compare_agents(history if compared is None else compared)
    return fields


class HistoryParts(NamedTuple):
    """The requested parts, and what names of models mean. With `by_model`, models are compared, not agents."""

    include: Collection[HistoryPart]
    trend_days: int
    resolve: ResolveModel | None
    by_model: bool


def read_history(decisions: CountedDecisions, parts: HistoryParts, check: Check) -> HistoryFields:
    """Read decisions and build the requested parts but for drawings. `check` is called between parts of the work."""
    fields, resolve = HistoryFields(), parts.resolve
    if not _OF_REVIEWS.isdisjoint(parts.include):
        examined = decisions.history(check, asked=not {"comparison", "drift"}.isdisjoint(parts.include))
        check()
        compared = decisions_by_model(examined, resolve) if parts.by_model and resolve is not None else None
        fields = build_history(examined, parts.include, parts.trend_days, compared, resolve)
        del examined, compared
    if "reviews_by_age" in parts.include:
        fields["reviews_by_age"] = compare_ages(decisions.dated(check), check)
    return fields
