"""Answers about what stated confidences are good for. Intervals are at 95%, at one look."""

import msgspec

from tallystick.shapes.parts import Interval


class ThresholdUse(msgspec.Struct, frozen=True, kw_only=True):
    """What acting only on decisions with a stated confidence of at least `threshold` would have come to.

    Net benefits are in successes for each reviewed decision, with a failure at `failure_cost` successes.
    """

    threshold: float
    """The lowest confidence to act on."""
    failure_cost: float
    """`threshold / (1 - threshold)`: how many successes a failure is taken to cost."""
    reviewed: int
    """Decisions that are used."""
    acted_on: int
    """How many of them reach the threshold."""
    success_rate: float | None
    """The mean outcome of these, 0..1; None if none does."""
    success_interval: Interval | None
    """Its interval (Wilson)."""
    net_benefit: float
    """Successes minus weighted failures among the decisions acted on, for each reviewed decision."""
    net_benefit_interval: Interval
    """Its interval."""
    net_benefit_all: float
    """The net benefit of acting on every decision."""
    net_benefit_all_interval: Interval
    """Its interval."""
    net_benefit_none: float
    """The net benefit of acting on none: 0."""
    gain_over_all: float
    """`net_benefit` minus `net_benefit_all`."""
    gain_over_all_interval: Interval
    """Its interval."""


class Concordance(msgspec.Struct, frozen=True, kw_only=True):
    """How well the stated confidences rank decisions by outcome: the AUC."""

    auc: float
    """The share of pairs with different outcomes in which the better one had the higher confidence, ties half."""
    interval: Interval | None
    """Its interval; None if all confidences are equal, or if one cluster has most of the reviews."""
    pairs: int
    """The number of pairs of decisions with different outcomes."""


class MurphyPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The mean elementary scores at a threshold: the loss by acting above it. Lower is better."""

    threshold: float
    """The threshold, 0..1."""
    stated: float
    """The score of the stated confidences."""
    recalibrated: float
    """The score of the calibration curve, fitted to the same decisions."""
    base_rate: float
    """The score of always stating the mean outcome."""
    stated_interval: Interval
    """The 95% interval of `stated`; None from a server before it gave intervals."""
    difference: float
    """`stated` minus `base_rate`: above 0 where knowing only the success rate would have been better."""
    difference_interval: Interval
    """Its 95% interval."""
