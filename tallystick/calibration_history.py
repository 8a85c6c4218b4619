"""The structs that the client returns about calibration over time, and about agents compared with each other."""

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


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the gap changed once."""

    alarm: bool
    """Whether it changed."""
    p: float | None
    """The probability of such a change if the agent has not changed; None if there are too few reviews."""
    reviewed: int
    """Decisions that are used."""
    reviews_needed: int
    """How many more reviews the test needs."""
    level: float
    """The significance level: there is an alarm if `p` is below it."""
    false_alarm_rate: float
    """The probability of a false alarm within a year of monthly tests."""
    change: GapChange | None = None
    """The change, if there is an alarm."""


class AgentSide(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's figures in a category that two agents share."""

    agent: str
    """The agent's name."""
    reviewed: int
    """Decisions that are used."""
    skill: float | None
    """As in `Figures`."""


class SharedCategory(msgspec.Struct, frozen=True, kw_only=True):
    """A category in which two agents have reviews; it does not say which agent is better."""

    category: str | None
    """The category."""
    sides: tuple[AgentSide, ...]
    """Both agents."""


class AgentPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two agents compared on the questions that both answered."""

    agents: tuple[str, ...]
    """Their names."""
    paired: bool
    """Whether they share enough questions to be compared."""
    shared: int
    """How many questions they share."""
    brier_scores: tuple[float, ...] | None = None
    """Their mean Brier scores on these questions."""
    mean_difference: float | None = None
    """The first agent's score minus the second's; below 0 the first is better."""
    interval: Interval | None = None
    """The interval of the difference."""
    p: float | None = None
    """The probability of such a difference between equally good agents."""
    note: str | None = None
    """Why they are not compared, if they are not."""
    categories: tuple[SharedCategory, ...] = ()
    """The categories that both have, if they are not compared."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison of every two agents."""

    pairs: tuple[AgentPair, ...]
    """The pairs, by name."""
    left_out: int
    """How many agents are left out."""
