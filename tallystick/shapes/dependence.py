"""How far outcomes of decisions depend on each other."""

import msgspec


class Dependence(msgspec.Struct, frozen=True, kw_only=True):
    """How alike the outcomes of decisions are that were made one after another."""

    reviewed: int
    """The newest reviewed decisions, over which it is estimated."""
    autocorrelation: float
    """The sum of the correlations of outcome minus confidence at distances 1 to 8."""
    z: float
    """The standard score of that sum, in which near decisions count most."""
    effective_reviews: float
    """The number of independent reviews that contain about as much evidence."""
    material: bool
    """Whether verdicts and intervals are too sure because of it."""


class Clusters(msgspec.Struct, frozen=True, kw_only=True):
    """The clusters that decisions name: tasks, sessions or days whose outcomes depend on each other."""

    clusters: int
    """Their number; a review without a cluster is one of its own."""
    largest: int
    """The number of reviews of the largest."""
    effective_reviews: float
    """The number of independent reviews that contain about as much evidence."""
