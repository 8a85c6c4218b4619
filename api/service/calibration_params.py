"""Parameters of calibration, of advice, and of samples of decisions to review."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from api.parameters import time_range
from events.limits import PAGE_EVENTS_MAX
from projections.calibration.words import (
    HISTORY_PARTS,
    MIN_DECISIONS,
    TREND_DAYS,
    TREND_DAYS_MAX,
    Detail,
    GroupBy,
    GroupSort,
    HistoryPart,
)
from projections.shared_params import (
    Agent,
    Category,
    DecisionFilterParams,
    DecisionModel,
    Since,
    StakesFilter,
    Until,
    Window,
)

if TYPE_CHECKING:
    from projections.calibration.calibration_filter import CalibrationFilter

THRESHOLD_MAX = 0.999
"""At a threshold of 1 a single failure would outweigh every success."""

SAMPLE_SIZE_DEFAULT = 20

SEED_MAX = 2**53 - 1
"""The largest seed: JSON readers keep whole numbers exact up to it."""


class CalibrationParams(DecisionFilterParams, frozen=True, kw_only=True):
    """Which decisions to score, and how."""

    model: DecisionModel = None
    since: Since = None
    until: Until = None
    window: Window = None
    group_by: Annotated[
        GroupBy, Meta(description="What to group by.", extra={"aliases": {"confidenceBucket": "confidence_bucket"}})
    ] = "confidence_bucket"
    min_decisions: Annotated[
        int, Meta(ge=1, description="The fewest reviewed decisions from which figures are computed.")
    ] = MIN_DECISIONS
    detail: Annotated[
        Detail,
        Meta(description="What to compute: figures, or also curve, bands, recalibration map, AUC and Murphy diagram."),
    ] = "figures"
    threshold: Annotated[
        float | None,
        Meta(
            ge=0,
            le=THRESHOLD_MAX,
            description="Add what acting only on decisions with at least this confidence would have come to.",
        ),
    ] = None
    include: Annotated[
        tuple[HistoryPart, ...],
        Meta(
            max_length=len(HISTORY_PARTS),
            description="What to add, separated by commas: the trend, a test for drift, the comparison of agents, the "
            "age of unreviewed decisions, what drawings show.",
        ),
    ] = ()
    trend_days: Annotated[
        int, Meta(ge=1, le=TREND_DAYS_MAX, description="The length of the trend's windows, in days.")
    ] = TREND_DAYS
    limit: Annotated[int, Meta(ge=1, le=PAGE_EVENTS_MAX, description="The largest number of groups.")] = PAGE_EVENTS_MAX
    offset: Annotated[
        int, Meta(ge=0, description="How many groups to skip: the `groups_next` of the previous page.")
    ] = 0
    group_sort: Annotated[
        GroupSort, Meta(description="The order of groups: by their names, or those with the most decisions first.")
    ] = "name"

    def filter(self, now: datetime) -> "CalibrationFilter":
        """Return which decisions are meant. `window` ends now. Errors: InvalidQuery."""
        from projections.calibration.calibration_filter import CalibrationFilter  # noqa: PLC0415 - help does not need it

        return CalibrationFilter(**self.keys(), range=time_range(self.since, self.until, self.window, now))


class AdviceParams(msgspec.Struct, frozen=True, kw_only=True):
    """A planned decision."""

    agent: Agent = None
    category: Category = None
    stakes: StakesFilter = None
    confidence: Annotated[
        float | None,
        Meta(
            ge=0,
            le=1,
            description="The planned confidence: only decisions with about the same are used; without it, all.",
        ),
    ] = None


class ReviewSampleParams(DecisionFilterParams, frozen=True, kw_only=True):
    """From which decisions to draw how many."""

    size: Annotated[int, Meta(ge=1, le=PAGE_EVENTS_MAX, description="How many decisions to name.")] = (
        SAMPLE_SIZE_DEFAULT
    )
    seed: Annotated[
        int | None,
        Meta(
            ge=0,
            le=SEED_MAX,
            description="The seed of the sample. The same seed and `drawn_at` name the same decisions. Without it, a "
            "new one.",
        ),
    ] = None
    drawn_at: Annotated[
        int | None,
        Meta(
            ge=0,
            description="Draw the sample from the decisions that were unreviewed at this position; by default `as_of`.",
        ),
    ] = None
