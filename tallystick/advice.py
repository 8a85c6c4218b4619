"""The structs that the client returns about a planned decision: how decisions like it turned out."""

import msgspec

from tallystick.results import AsOf, Interval, UnknownName


class AdviceScope(msgspec.Struct, frozen=True, kw_only=True):
    """How decisions of one scope turned out: a category, stakes and a range of stated confidence."""

    agent: str
    """The agent whose decisions these are."""
    category: str | None
    """Their category; None for any."""
    stakes: str | None
    """Their stakes; None for any."""
    confidence: Interval
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


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """How decisions like the planned one turned out."""

    agent: str
    """The agent whose decisions these are."""
    category: str | None
    """Their category; None for any, because too few have the planned one."""
    stakes: str | None
    """Their stakes; None for any."""
    confidence: Interval
    """The range of their stated confidence, 0..1."""
    reviewed: int
    """How many of them are used."""
    stated: float | None
    """Their mean stated confidence, 0..1; None if none is used."""
    success: float | None
    """Their mean outcome, 0..1; None if none is used."""
    interval: Interval | None
    """The interval of `success` (Wilson; with named clusters one that allows for them)."""
    message: str
    """The whole advice as a sentence."""
    as_of: AsOf
    """The state of the log that the answer is computed from."""
    gap: float | None = None
    """`success` minus `stated`; below 0 is overconfident. None if none is used."""
    gap_interval: Interval | None = None
    """The interval of `gap`, at one look."""
    widened: tuple[str, ...] = ()
    """What the decisions need not share with the planned one (stakes, confidence, category): too few are closer."""
    narrower: tuple[AdviceScope, ...] = ()
    """The closer scopes, which have too few reviews."""
    correction: str | None = None
    """less or more: what to state instead of the planned confidence; None if the data supports no correction, and if
    the category or the confidence is widened."""
    consider: float | None = None
    """The confidence to state instead; None without a correction."""
    predicted: PredictedRate | None = None
    """What a curve through the decisions gives at the planned confidence; None if they were stated about there."""
    unknown_names: tuple[UnknownName, ...] = ()
    """The planned agent and category, if no decision in the ledger has them."""
