"""The structs that the client returns about calibration over time."""

from datetime import datetime

import msgspec

from tallystick.results import Interval


class TrendWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the decisions made within a window of time; None if none of them is reviewed."""

    since: datetime
    """The first moment, UTC."""
    until: datetime
    """The moment after the last, UTC."""
    reviewed: int
    """Decisions that are used."""
    brier_score: float | None = None
    """As in `Figures`."""
    accuracy: float | None = None
    """As in `Figures`."""
    mean_confidence: float | None = None
    """As in `Figures`."""
    gap: float | None = None
    """As in `Figures`."""
    gap_interval: Interval | None = None
    """As in `Figures`."""


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The figures over time."""

    days: int
    """The length of a window, days."""
    step_days: float
    """How much later each window begins than the one before, days."""
    windows: tuple[TrendWindow, ...]
    """The windows, the oldest first."""


class GapShift(msgspec.Struct, frozen=True, kw_only=True):
    """How much the gap changed."""

    amount: float
    """The gap after minus the gap before, within each agent and category."""
    interval: Interval
    """Its 95% interval."""


class GapChange(msgspec.Struct, frozen=True, kw_only=True):
    """The time at which the gap changed, and the gap before and after."""

    time: datetime
    """When the first decision after the change was made, UTC."""
    index: int
    """How many reviewed decisions are before the change."""
    reviewed_before: int
    """Decisions that are used, before the change."""
    reviewed_after: int
    """Decisions that are used, after the change."""
    gap_before: float
    """The gap before."""
    gap_before_interval: Interval
    """Its interval."""
    gap_after: float
    """The gap after."""
    gap_after_interval: Interval
    """Its interval."""
    earliest: datetime | None = None
    """The first moment of the interval of the time, UTC; None from an earlier version."""
    latest: datetime | None = None
    """The last moment of the interval of the time, UTC."""
    coverage: float | None = None
    """The confidence level of the interval from `earliest` to `latest`."""
    shift: GapShift | None = None
    """The gap after minus the gap before, within each agent and category."""


class ModelCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many reviewed decisions came from a model."""

    model: str | None
    """The model that the names of the decision mean; None if it names none."""
    reviewed: int
    """Decisions that are used."""


class ModelChange(msgspec.Struct, frozen=True, kw_only=True):
    """An agent changed its model between two of its decisions."""

    agent: str
    """The agent."""
    before: str
    """The model before."""
    after: str
    """The model after."""
    last_before: datetime
    """When the last decision with the model before was made, UTC."""
    time: datetime
    """When the first decision with the model after was made, UTC."""
    within: bool | None = None
    """Whether that may have been within the interval of the time of the gap's change; None without one."""


class DriftModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models of the examined reviews, and the changes of models."""

    named: int
    """Reviews whose decision names a model."""
    before: tuple[ModelCount, ...] | None = None
    """The models of the decisions before the change of the gap; None without an alarm."""
    after: tuple[ModelCount, ...] | None = None
    """The models of the decisions after the change of the gap; None without an alarm."""
    nearest: ModelChange | None = None
    """The change of a model that is nearest to the change of the gap; None if there is none, or no alarm."""
    changes: tuple[ModelChange, ...] = ()
    """At most 20 changes of models in order of time, those nearest to the change of the gap or else the latest."""
    changes_total: int
    """How many changes of models there are."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the gap changed once."""

    alarm: bool
    """Whether it changed."""
    p: float | None
    """The probability of such a change if the agent has not changed; None if there was no test."""
    reviewed: int
    """Decisions that are used."""
    reviews_needed: int
    """How many more reviews the test needs."""
    level: float
    """The significance level: there is an alarm if `p` is at most this. It is smaller below 450 reviews."""
    false_alarm_rate: float
    """The probability of a false alarm within a year of daily, weekly or monthly tests."""
    change: GapChange | None = None
    """The change, if there is an alarm."""
    reason: str | None = None
    """Why there was no test with enough reviews: too few times, too few clusters, all outcomes alike, or no category
    before and after."""
    strata: int | None = None
    """The number of agents and categories within which outcomes are compared."""
    left_out: int | None = None
    """Reviews that are not examined, because their times do not say when the decisions were made."""
    unsettled: int = 0
    """Reviews of decisions so young that others like them still lack a review; they are not examined."""
    models: DriftModels | None = None
    """The models of the decisions; None if there is no alarm and no examined decision names one."""
