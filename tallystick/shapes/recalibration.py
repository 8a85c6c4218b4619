"""Answers about which confidences to state instead of those stated."""

from typing import Literal

import msgspec

from tallystick.shapes.parts import Interval

MapFamily = Literal["as_stated", "logit_shift", "beta", "isotonic"]
"""The form of a map."""


class ConfidenceMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """The mean outcome that confidences in a range have meant."""

    low: float
    """The lowest stated confidence of the range."""
    high: float
    """The highest."""
    meant: float
    """The mean outcome of the decisions that stated them, 0..1."""
    interval: Interval
    """The interval of `meant`."""
    reviewed: int
    """Decisions that are used."""
    mapped: float
    """The confidence to state instead, 0..1: the mean over the decisions, if the row has several confidences."""


class Recalibration(msgspec.Struct, frozen=True, kw_only=True):
    """Which confidence to state instead of each stated one, if that surely lowers the Brier score of new decisions."""

    stated_brier_score: float
    """The Brier score of the confidences as stated."""
    mapped_brier_score: float
    """The Brier score after the replacement, cross-validated."""
    meanings: tuple[ConfidenceMeaning, ...]
    """The ranges."""
    family: MapFamily
    """The form of the map: as_stated, logit_shift, beta or isotonic."""
    reviewed: int
    """Decisions that the map is fitted to."""
    gain: float
    """How much lower the Brier score is with the map, cross-validated."""
    gain_lower_bound: float
    """The 95% lower bound of `gain`, above 0."""


class CategoryRecalibration(Recalibration, frozen=True, kw_only=True):
    """The map of a category that needs its own. `gain` is against `shared_brier_score`.

    The family is `as_stated` if the stated confidences are better than the map of all decisions. The bound of the gain
    holds for all examined categories together (Bonferroni).
    """

    category: str
    """The category."""
    shared_brier_score: float
    """The Brier score of the category with the map of all decisions; with the stated confidences if there is none."""
