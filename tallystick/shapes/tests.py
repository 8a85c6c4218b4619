"""Tests of decisions, and what their rules find. Times are UTC."""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from tallystick.shapes.parts import AsOf, Interval, UnknownName

TestState = Literal["waiting", "running", "failed_early", "succeeded", "failed", "overdue", "unresolvable"]
"""waiting: it is not known when the window begins. running: the window has begun. failed_early: as running, and it
failed. overdue: the window is over, and it is not known what happened in it. unresolvable: no outcome can follow."""


class DecisionTest(msgspec.Struct, frozen=True, kw_only=True):
    """The test of a decision, and what its rule finds."""

    decision_id: str
    """The decision."""
    agent: str
    """The agent that stated it."""
    test: str
    """The test as it may be written: rule, window, parameters."""
    rule: str
    """The rule."""
    stated: datetime
    """When it was stated."""
    state: TestState
    """What the rule finds by now."""
    value: str
    """What decides, in words."""
    start: datetime | None
    """When the window begins; None while that is not known."""
    due: datetime | None
    """When the window ends; None while that is not known."""
    basis: Literal["event", "deadline"] | None
    """Whether something happened that decides, or did not until the end."""
    evidence: list[str]
    """Ids of the observations that decide."""
    retrofitted: bool
    """Whether there was evidence before the test was stated: then no confidence is judged by it."""
    reviewed_by: str | None
    """Who reviewed the decision last; `/resolvers/RULE` is the rule itself; None: nobody."""
    outcome: str | None
    """The outcome of that review."""


class DecisionTestsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Tests of decisions, the next due first, then those whose end is not known, then those with an outcome."""

    tests: list[DecisionTest]
    """The tests of this page."""
    states: dict[str, int]
    """How many tests of the other filters are in each state."""
    total: int
    """How many match."""
    next: int | None
    """The offset of the next page; None on the last."""
    as_of: AsOf
    """The position as of which the answer is."""
    unknown_names: list[UnknownName] | UnsetType = UNSET
    """Filters that nothing has."""


class ResolvedTests(msgspec.Struct, frozen=True, kw_only=True):
    """What resolving did."""

    resolved: list[DecisionTest]
    """The decisions that were reviewed now, in the order in which they were due."""
    states: dict[str, int]
    """How many of the tests whose decision nobody had reviewed are in each state."""
    retrofitted: int
    """Tests with an outcome that no decision is reviewed by: there was evidence before they were stated, and their
    decision states a confidence."""


class RuleError(msgspec.Struct, frozen=True, kw_only=True):
    """How often people disagree with one verdict of a rule."""

    wrong: int
    """How often they do."""
    n: int
    """Of how many that they reviewed."""
    rate: float
    """`wrong` / `n`."""
    interval: Interval
    """Wilson's interval of `rate`, 95%."""


class CorrectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A success rate that a rule found, corrected by what people found in a sample."""

    by_rule: float
    """The rate as the rule found it."""
    rate: float
    """The rate as people would find it."""
    se: float
    """The standard error of `rate`."""
    interval: Interval
    """Its interval, 95%."""


class AuditedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision to review, without what the rule found."""

    decision_id: str
    """The decision."""
    agent: str
    """The agent that decided."""
    recorded_at: datetime
    """When it was recorded."""
    decision: str
    """Its text."""
    is_reviewed: bool
    """Whether somebody has reviewed it."""
    command: str
    """What reviews it, with OUTCOME to fill in."""


class RuleAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Decisions that a rule reviewed, drawn at random within its verdicts, and how often people disagree."""

    rule: str
    """The rule."""
    seed: int
    """With `drawn_at` it names the same decisions again."""
    drawn_at: int
    """The position as of which they were drawn."""
    total: int
    """How many decisions the rule had reviewed then."""
    decisions: list[AuditedDecision]
    """The decisions, in an order that says nothing of the rule's verdicts."""
    reviewed: int
    """How many of them somebody has reviewed."""
    checked: str
    """Whether the rule has been checked against people, as a sentence."""
    wrong_successes: RuleError | None
    """Of those that the rule calls a success; None until all decisions of the sample are reviewed."""
    wrong_failures: RuleError | None
    """Of those that the rule calls a failure."""
    corrected: CorrectedRate | None
    """The success rate of all that the rule reviewed; None until all of the sample are reviewed."""
    as_of: AsOf
    """The position as of which the answer is."""
    unknown_names: list[UnknownName] | UnsetType = UNSET
    """A rule that reviewed nothing."""
