"""Answers about decisions without a review. Counts are of decisions with a stated confidence."""

from typing import Literal

import msgspec

from tallystick.shapes.parts import Interval

Factor = Literal["confidence", "category", "age"]
Reason = Literal["mostly_unreviewed", "confidence", "category", "age"]


class ReviewDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How reviewed and unreviewed decisions differ by stated confidence, category or age."""

    by: Factor
    """What they are compared by: confidence, category or age."""
    distance: float
    """The share of one of them that would have to be in other classes to match the other, 0..1."""
    p: float | None
    """The p-value of the test that they are alike; None if there is one class."""
    differs: bool
    """Whether they surely differ, and by a tenth at least."""
    most: str | None
    """The class that differs most; None for decisions without a category."""
    reviewed_share: float
    """The share of that class among reviewed decisions, 0..1."""
    unreviewed_share: float
    """Its share among unreviewed ones, 0..1."""


class WeightedGap(msgspec.Struct, frozen=True, kw_only=True):
    """The gap of reviewed decisions, weighted to represent unreviewed ones too (inverse-propensity weights).

    It has no bias if, among decisions that are alike in `by`, whether one is reviewed does not depend on its outcome.
    """

    gap: float
    """The weighted gap; below 0 the agent is overconfident."""
    interval: Interval
    """Its interval."""
    represented: float
    """The share of decisions that are like reviewed ones, 0..1."""
    effective_reviews: float
    """How many equally weighted reviews would be as precise."""
    by: tuple[Factor, ...]
    """What the weights depend on."""


class TippingPoints(msgspec.Struct, frozen=True, kw_only=True):
    """Which shares of good outcomes among the missing ones would take away the evidence for the verdict.

    Source: Yan, Lee and Li 2009, tipping-point analysis.
    """

    below: float | None
    """Any share below this, 0..1; None if no low share would."""
    above: float | None
    """Any share above this, 0..1; None if no high share would."""


class MissingReviews(msgspec.Struct, frozen=True, kw_only=True):
    """What unreviewed decisions leave open."""

    unreviewed: int
    """Decisions without a review."""
    total: int
    """All decisions."""
    mean_confidence_reviewed: float
    """Mean stated confidence of reviewed decisions, 0..1."""
    mean_confidence_unreviewed: float
    """Mean stated confidence of the others, 0..1."""
    qualified: bool
    """Whether the verdict holds for the reviewed decisions only."""
    reasons: tuple[Reason, ...]
    """Why the others may be different: mostly_unreviewed, confidence or category."""
    differences: tuple[ReviewDifference, ...]
    """How reviewed and unreviewed decisions differ."""
    weighted_gap: WeightedGap | None
    """The gap weighted to represent all decisions; None if too few are reviewed."""
    gap_bounds: Interval
    """The lowest and highest possible gap of all decisions, whatever the missing outcomes are."""
    tipping_points: TippingPoints | None
    """The shares of good outcomes among the missing ones at which the verdict is not sure; None if it is not anyway."""
    message: str | None
    """The same in words; None if the verdict is not qualified."""


class ReviewsByAge(msgspec.Struct, frozen=True, kw_only=True):
    """How old reviewed and unreviewed decisions are, and the gap weighted by age too.

    The weights use the age only in categories with enough reviews of every age.
    """

    difference: ReviewDifference | None
    """How they differ by age; None if every decision, or none of them, is reviewed."""
    weighted_gap: WeightedGap | None
    """The gap weighted to represent all decisions; None if too few are reviewed."""
