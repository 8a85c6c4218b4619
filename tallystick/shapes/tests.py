"""Tests of decisions, and what their rules find. Times are UTC."""

from datetime import datetime
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from tallystick.shapes.parts import AsOf, UnknownName

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
    """Tests of decisions, the next due first, then those whose end is not known."""

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
