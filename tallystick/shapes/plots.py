"""What drawings of calibration show."""

from datetime import datetime

import msgspec

from tallystick.shapes.confidence_use import ThresholdUse
from tallystick.shapes.parts import Interval


class EvidencePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence after a number of first reviews."""

    reviews: int
    """The number of first reviews so far."""
    e_value_over: float
    """The evidence of overconfidence; from 40 on a verdict is supported."""
    e_value_under: float
    """The evidence of underconfidence."""
    gap: float
    """Mean outcome minus mean stated confidence."""
    gap_interval: Interval
    """The interval of the gap for one look."""
    gap_sequence: Interval
    """The interval of the gap for every look."""


class GapSum(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome minus confidence minus the mean of the agent and category, added up over all decisions until a time."""

    time: datetime
    """When the last of these decisions was made."""
    decisions: int
    """How many decisions are added."""
    sum: float
    """The sum."""


class ConfidenceTenth(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions with a stated confidence in a tenth."""

    low: float
    """The lowest confidence."""
    high: float
    """The confidence below which it ends; the last tenth includes 1."""
    reviewed: int
    """Reviewed decisions."""
    unreviewed: int
    """Decisions without a review."""


class PlotData(msgspec.Struct, frozen=True, kw_only=True):
    """What drawings show."""

    evidence: tuple[EvidencePoint, ...]
    """The evidence over reviews, at most 200 points; none without a review."""
    gap_sums: tuple[GapSum, ...]
    """The sum of outcome minus confidence over time, at most 200 points."""
    tenths: tuple[ConfidenceTenth, ...]
    """Decisions by tenth of stated confidence."""
    net_benefit: tuple[ThresholdUse, ...]
    """What acting above each threshold from 0 to 0.99 would have come to."""
