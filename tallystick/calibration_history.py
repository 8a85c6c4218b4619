"""What the client returns about calibration over time, and about agents side by side."""

from datetime import datetime

import msgspec

from tallystick.results import Interval


class TrendWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the decisions made within a window of time; None where none of them is reviewed."""

    since: datetime
    """The first moment, UTC."""
    until: datetime
    """The moment after the last, UTC."""
    reviewed: int
    """Decisions that count."""
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
    """Where the gap changed."""

    time: datetime
    """When the first decision after the change was made, UTC."""
    index: int
    """How many reviewed decisions are before the change."""
    reviewed_before: int
    """Decisions that count, before."""
    reviewed_after: int
    """Decisions that count, after."""
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
    """Whether it did."""
    p: float | None
    """The chance of such a change in a steady agent; None where there are too few reviews."""
    reviewed: int
    """Decisions that count."""
    reviews_needed: int
    """How many more reviews it takes to look."""
    level: float
    """An alarm is raised below this `p`."""
    false_alarm_rate: float
    """The rate of false alarms in a year of monthly looks."""
    change: GapChange | None = None
    """The change, where there is an alarm."""


class AgentSide(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's figures in a category that two agents share."""

    agent: str
    """The agent's name."""
    reviewed: int
    """Decisions that count."""
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
    """The first one's less the second one's; below 0 the first is better."""
    interval: Interval | None = None
    """The interval of the difference."""
    p: float | None = None
    """The chance of such a difference between equal agents."""
    note: str | None = None
    """Why they are not compared, where they are not."""
    categories: tuple[SharedCategory, ...] = ()
    """What they have in common instead."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Every two agents compared."""

    pairs: tuple[AgentPair, ...]
    """The pairs, by name."""
    left_out: int
    """How many agents are left out."""
