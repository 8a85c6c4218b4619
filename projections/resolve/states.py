"""A test that is stated with a decision, and what a rule finds."""

from collections.abc import Mapping
from typing import Final, Literal, get_args

import msgspec

State = Literal["waiting", "running", "failed_early", "succeeded", "failed", "overdue", "unresolvable"]
"""waiting: it is not known when the window begins. running: the window has begun. failed_early: as running, and it
failed. overdue: the window is over, and it is not known what happened in it. unresolvable: no outcome can follow."""

STATES: Final[tuple[State, ...]] = get_args(State)

Basis = Literal["event", "deadline"]
"""Whether something happened that decides, or did not until the end of the window."""

Facts = Mapping[str, str | int | tuple[str, ...]]


class StatedTest(msgspec.Struct, frozen=True, kw_only=True):
    """A test as it was stated. Times are seconds since 1970."""

    decision_id: str
    agent: str
    """The agent that stated it."""
    rule: str
    version: int
    subject: str | None
    params: Facts
    start_s: int | None
    """When the window begins; None: the rule says it."""
    window_s: int
    grace_s: int
    position: int
    """Where it was stated."""
    stated_s: int

    def text(self, name: str, default: str) -> str:
        """Return a parameter that is a text."""
        value = self.params.get(name, default)
        return value if isinstance(value, str) else default

    def number(self, name: str, default: int) -> int:
        """Return a parameter that is a number."""
        value = self.params.get(name, default)
        return value if isinstance(value, int) else default

    def names(self, name: str) -> tuple[str, ...]:
        """Return a parameter that is a list of names."""
        value = self.params.get(name, ())
        return value if isinstance(value, tuple) else ()

    @property
    def due_s(self) -> int:
        """When the window ends that begins as stated, or when the test was stated."""
        return (self.stated_s if self.start_s is None else self.start_s) + self.window_s


class RuleFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule finds by now."""

    state: State
    value: str
    """What decides, in words."""
    start_s: int | None = None
    due_s: int | None = None
    """When the window ends, seconds since 1970; None while that is not known."""
    basis: Basis | None = None
    evidence: tuple[str, ...] = ()
    """Ids of the observations that decide."""
    first_position: int | None = None
    """Where the first evidence of the window is; None: there is none."""
