"""The parts of calibration that need each decision: trend, change point, comparison, reviews by age, drawings.

They need the order or the age of decisions; the scores need only counts.
"""

from collections.abc import Collection
from typing import Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from projections.calibration.agent_comparison import AgentComparison, compare_agents
from projections.calibration.change_point import Drift, detect_drift
from projections.calibration.missing_reviews import ReviewsByAge
from projections.calibration.model_groups import ResolveModel
from projections.calibration.plot_data import PlotData
from projections.calibration.reviewed_decisions import ReviewedDecisions
from projections.calibration.trend import TREND_DAYS, Trend, compute_trend

HistoryPart = Literal["trend", "drift", "comparison", "reviews_by_age", "plots"]
HISTORY_PARTS: tuple[HistoryPart, ...] = get_args(HistoryPart)


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
