"""The parts of calibration that need each decision: trend, change point, comparison, reviews by age, drawings.

They need the order or the age of decisions; the scores need only counts.
"""

from collections.abc import Collection
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType, structs

from projections.calibration.agent_comparison import AgentComparison, compare_agents
from projections.calibration.change_point import Drift, detect_drift
from projections.calibration.counted_decisions import CountedDecisions
from projections.calibration.missing_reviews import ReviewsByAge, compare_ages
from projections.calibration.model_groups import ResolveModel, decisions_by_model
from projections.calibration.plot_data import PlotData
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.calibration.trend import Trend, compute_trend
from projections.calibration.words import TREND_DAYS, HistoryPart
from projections.query_check import Check


class CalibrationHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The requested parts. Parts that were not requested are absent."""

    trend: Trend | UnsetType = UNSET
    drift: Drift | UnsetType = UNSET
    comparison: AgentComparison | UnsetType = UNSET
    reviews_by_age: ReviewsByAge | UnsetType = UNSET
    plots: PlotData | UnsetType = UNSET


def build_history(
    history: ReviewedDecisions,
    include: Collection[HistoryPart],
    trend_days: int = TREND_DAYS,
    compared: ReviewedDecisions | None = None,
    resolve: ResolveModel | None = None,
) -> CalibrationHistory:
    """Build the requested parts that need reviewed decisions only.

    The comparison is of the agents of `compared`, by default of `history`. With `resolve`, drift
    names the models of the decisions.
    For a million decisions this takes a few tenths of a second; drift takes one to four seconds.
    """
    confidence, outcome_value, time_us = history.confidence, history.outcome_value, history.time_us
    return CalibrationHistory(
        trend=compute_trend(confidence, outcome_value, time_us, trend_days) if "trend" in include else UNSET,
        drift=detect_drift(history, resolve) if "drift" in include else UNSET,
        comparison=compare_agents(history if compared is None else compared) if "comparison" in include else UNSET,
    )


class HistoryParts(NamedTuple):
    """The requested parts, and what names of models mean. With `by_model`, models are compared, not agents."""

    include: Collection[HistoryPart]
    trend_days: int
    resolve: ResolveModel | None
    by_model: bool


def read_history(decisions: CountedDecisions, parts: HistoryParts, check: Check) -> CalibrationHistory:
    """Read decisions and build the requested parts but for drawings. `check` is called between parts of the work."""
    asked = not {"comparison", "drift"}.isdisjoint(parts.include)
    examined, resolve, compared = decisions.history(check, asked=asked), parts.resolve, None
    check()
    if parts.by_model and resolve is not None:
        compared = decisions_by_model(examined, resolve)
    history = build_history(examined, parts.include, parts.trend_days, compared, resolve)
    if "reviews_by_age" in parts.include:
        history = structs.replace(history, reviews_by_age=compare_ages(decisions.dated(check), check))
    return history
