"""Answers about a planned decision: how decisions like it turned out."""

from typing import Literal

import msgspec

from tallystick.shapes.parts import AsOf, Interval, Part, UnknownName

Widening = Literal["stakes", "confidence", "category"]
Correction = Literal["less", "more"]


class ScopeOutcomes(msgspec.Struct, frozen=True, kw_only=True):
    """How decisions of one scope turned out: a category, stakes and a range of stated confidence."""

    agent: str
    """The agent whose decisions these are."""
    category: str | None
    """Their category; None for any."""
    stakes: str | None
    """Their stakes; None for any."""
    confidence: tuple[float, float]
    """The range of their stated confidence, 0..1."""
    reviewed: int
    """How many of them are reviewed."""
    stated: float | None
    """Their mean stated confidence, 0..1; None if none is reviewed."""
    success: float | None
    """Their mean outcome, 0..1; None if none is reviewed."""
    interval: Interval | None
    """The interval of `success` (Wilson; with named clusters one that allows for them)."""


class PredictedRate(msgspec.Struct, frozen=True, kw_only=True):
    """What a logistic curve through decisions of any confidence gives at the planned one."""

    rate: float
    """The mean outcome, 0..1."""
    interval: Interval
    """The 95% interval of `rate`."""


class PastDecisions(ScopeOutcomes, frozen=True, kw_only=True, omit_defaults=True):
    """How decisions like the planned one turned out."""

    message: str
    """The whole advice as a sentence."""
    gap: float | None
    """`success` minus `stated`; below 0 is overconfident. None if none is used."""
    gap_interval: Interval | None
    """The interval of `gap`, at one look."""
    widened: tuple[Widening, ...]
    """Which of stakes, confidence and category they need not share with the planned one, since too few do."""
    narrower: tuple[ScopeOutcomes, ...]
    """The closer scopes, which have too few reviews."""
    correction: Correction | None
    """less or more: what to state instead of the planned confidence; None if the data supports no correction, and if
    the category or the confidence is widened."""
    consider: float | None
    """The confidence to state instead; None without a correction."""
    predicted: Part[PredictedRate] = None
    """What a curve through the decisions gives at the planned confidence; None if they were stated about there."""


class Advice(PastDecisions, frozen=True, kw_only=True):
    """How decisions like the planned one turned out, as of a position."""

    as_of: AsOf
    """The state of the log that the answer is computed from."""
    unknown_names: tuple[UnknownName, ...] = ()
    """The planned agent and category, if no decision in the ledger has them."""
