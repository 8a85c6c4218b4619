"""Which decisions to find, and in which order."""

from datetime import datetime
from typing import Literal, get_args

import msgspec

from projections.decisions.compaction import LevelFilter
from projections.time_range import TimeRange

SortField = Literal["created_at", "confidence", "category", "stakes", "status"]
Status = Literal["pending", "reviewed", "retracted"]
STATUSES: tuple[Status, ...] = get_args(Status)

UNRETRACTED: tuple[Status, ...] = ("pending", "reviewed")
"""What passes a filter that names no status."""

STAKES = ("low", "medium", "high", "critical")


class DecisionSelection(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of decisions. If several `tags`, `stakes` or `status` are given, one of them must match.

    Retracted decisions pass only a filter with the status `retracted`.
    A bound of confidence excludes decisions without a confidence. `due_before` selects decisions whose review date is
    before that time, `dated` those with (True) or without (False) a review date, `preserved` those that are to be
    preserved or not. `models` are names of models as `join_names` joins them; one of them must match.
    """

    agent: str | None = None
    category: str | None = None
    stakes: str | tuple[str, ...] | None = None
    project: str | None = None
    feature: str | None = None
    status: Status | tuple[Status, ...] | None = None
    outcome: str | None = None
    tags: tuple[str, ...] = ()
    pr: int | None = None
    cluster: str | None = None
    models: frozenset[str] | None = None
    confidence_min: float | None = None
    confidence_max: float | None = None
    range: TimeRange = TimeRange()
    compaction: LevelFilter | None = None
    preserved: bool | None = None
    due_before: datetime | None = None
    dated: bool | None = None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """The statuses that pass."""
        if self.status is None:
            return UNRETRACTED
        return (self.status,) if isinstance(self.status, str) else self.status
