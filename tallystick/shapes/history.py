"""Answers about calibration over time."""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from tallystick.shapes.parts import Interval, Part

ALARM_LEVEL: Final = 0.0018
"""A test of many reviews raises an alarm if p is at most this."""

FALSE_ALARM_RATE: Final = 0.05
"""The largest share of agents that raise any alarm in a year of daily, weekly or monthly tests without a change."""

INTERVAL_LEVEL: Final = 0.90
"""The confidence level of the interval of the time of a change."""

NoTest = Literal["too few times", "too few clusters", "all outcomes alike", "no category before and after"]
"""Why there was no test with enough reviews."""


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the decisions made within a window of time; None if none of them is reviewed."""

    since: datetime
    """The first moment, UTC."""
    until: datetime
    """The moment after the last, UTC."""
    reviewed: int
    """Decisions that are used."""
    brier_score: float | None = None
    """As in `CalibrationScores`."""
    accuracy: float | None = None
    """As in `CalibrationScores`."""
    mean_confidence: float | None = None
    """As in `CalibrationScores`."""
    gap: float | None = None
    """As in `CalibrationScores`."""
    gap_interval: Interval | None = None
    """As in `CalibrationScores`."""


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """The figures over time."""

    days: int
    """The length of a window, days."""
    step_days: float
    """How much later each window begins than the one before, days."""
    windows: tuple[Window, ...]
    """The windows, the oldest first."""


class GapShift(msgspec.Struct, frozen=True, kw_only=True):
    """How much the gap changed."""

    amount: float
    """The gap after minus the gap before, within each agent and category."""
    interval: Interval
    """Its 95% interval."""


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
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
    earliest: datetime
    """The first moment of the interval of the time, UTC."""
    latest: datetime
    """The last moment of the interval of the time, UTC."""
    coverage: float = INTERVAL_LEVEL
    """The confidence level of the interval from `earliest` to `latest`."""
    shift: GapShift
    """The gap after minus the gap before, within each agent and category."""


class ModelCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many reviewed decisions came from a model."""

    model: str | None
    """The model that the names of the decision mean; None if it names none."""
    reviewed: int
    """Decisions that are used."""


class ModelChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    within: Part[bool] = None
    """Whether that may have been within the interval of the time of the gap's change; None without one."""


class DriftModels(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The models of the examined reviews, and the changes of models."""

    named: int
    """Reviews whose decision names a model."""
    before: Part[tuple[ModelCount, ...]] = None
    """The models of the decisions before the change of the gap; None without an alarm."""
    after: Part[tuple[ModelCount, ...]] = None
    """The models of the decisions after the change of the gap; None without an alarm."""
    nearest: ModelChange | UnsetType | None = UNSET
    """The change of a model that is nearest to the change of the gap; None if there is none, unset without an alarm."""
    changes: tuple[ModelChange, ...]
    """At most 20 changes of models in order of time, those nearest to the change of the gap or else the latest."""
    changes_total: int
    """How many changes of models there are."""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the gap changed once."""

    alarm: bool
    """Whether it changed."""
    p: float | None
    """The probability of such a change if the agent has not changed; None if there was no test."""
    level: float = ALARM_LEVEL
    """The significance level: there is an alarm if `p` is at most this. It is smaller below 450 reviews."""
    false_alarm_rate: float = FALSE_ALARM_RATE
    """The probability of a false alarm within a year of daily, weekly or monthly tests."""
    reviewed: int
    """Decisions that are used."""
    reviews_needed: int
    """How many more reviews the test needs."""
    change: ChangePoint | None = None
    """The change, if there is an alarm."""
    reason: NoTest | None = None
    """Why there was no test with enough reviews: too few times, too few clusters, all outcomes alike, or no category
    before and after."""
    strata: int = 0
    """The number of agents and categories within which outcomes are compared."""
    left_out: int = 0
    """Reviews that are not examined, because their times do not say when the decisions were made."""
    unsettled: int = 0
    """Reviews of decisions so young that others like them still lack a review; they are not examined."""
    models: DriftModels | UnsetType = UNSET
    """The models of the decisions; unset if there is no alarm and no examined decision names one."""
