"""Calibration over time: trend, change point and comparison of agents.

These need the order of decisions, while the scores need only counts.
"""

from collections.abc import Collection
from typing import Literal, get_args

import msgspec
from msgspec import UNSET, UnsetType

from projections.calibration.agent_comparison import AgentComparison, compare_agents
from projections.calibration.change_point import Drift, detect_change
from projections.calibration.counts import ReviewHistory
from projections.calibration.trend import TREND_DAYS, Trend, compute_trend

HistoryPart = Literal["trend", "drift", "comparison"]
HISTORY_PARTS: tuple[HistoryPart, ...] = get_args(HistoryPart)


class CalibrationHistory(msgspec.Struct, frozen=True, kw_only=True):
    """The requested parts of the history; the others are absent."""

    trend: Trend | UnsetType = UNSET
    drift: Drift | UnsetType = UNSET
    comparison: AgentComparison | UnsetType = UNSET


def build_history(
    history: ReviewHistory, include: Collection[HistoryPart], trend_days: int = TREND_DAYS
) -> CalibrationHistory:
    """Build the requested parts. A million decisions take some tenths of a second of computation."""
    confidence, worth, time_us = history.confidence, history.worth, history.time_us
    return CalibrationHistory(
        trend=compute_trend(confidence, worth, time_us, trend_days) if "trend" in include else UNSET,
        drift=detect_change(confidence, worth, time_us) if "drift" in include else UNSET,
        comparison=compare_agents(history) if "comparison" in include else UNSET,
    )
