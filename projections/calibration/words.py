"""The words that select what a view of calibration computes: groups, their order, further parts, detail."""

from typing import Literal, get_args

GroupBy = Literal["confidence_bucket", "category", "stakes", "agent", "project", "feature", "model"]
GROUPINGS: tuple[GroupBy, ...] = get_args(GroupBy)

GroupSort = Literal["name", "decisions"]
GROUP_SORTS: tuple[GroupSort, ...] = get_args(GroupSort)
"""The order of groups: by their names, or those with the most decisions first."""

HistoryPart = Literal["trend", "drift", "comparison", "reviews_by_age", "plots"]
HISTORY_PARTS: tuple[HistoryPart, ...] = get_args(HistoryPart)

Detail = Literal["figures", "curves"]

MIN_DECISIONS = 5
"""The fewest reviewed decisions from which figures are computed, by default."""

TREND_DAYS = 30
"""The days of a window of the trend, by default."""

TREND_DAYS_MAX = 3_650
