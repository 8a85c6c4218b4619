"""The breakers projection: for each circuit breaker the failures that it counts, and when it opened.

A review with the outcome failure or abandoned is a failure. Enough failures within the window open a breaker. After its
cooldown it is half open: it lets one decision through, and the next review closes or opens it. The state at a moment is
a view: the fold uses the times of events, never a clock. A breaker counts what is recorded after it was configured, of
decisions that were recorded after the first configuration.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal, NamedTuple

import msgspec

from events.breaker import BreakerReset, BreakerRule, BreakersConfigured
from events.decision import DecisionAmended, DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventFacts
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, saved_value

State = Literal["closed", "open", "half_open"]

FAILURES = frozenset({"failure", "abandoned"})
"""Outcomes that count as failures. The others close a breaker."""


class BreakerView(msgspec.Struct, frozen=True, kw_only=True):
    """A circuit breaker as of a moment.

    `failure_count`: failures within the window, for a breaker that opened those that it counted. `probe`: the decision
    that a half-open breaker let through, whose review it waits for.
    """

    scope: str
    state: State
    failure_count: int
    failure_threshold: int
    window_ms: int
    cooldown_ms: int
    cooldown_remaining_ms: int | None
    opened_at: datetime | None
    probe: str | None

    @property
    def resets_at(self) -> datetime | None:
        """When an open breaker becomes half open."""
        if self.opened_at is None or self.state != "open":
            return None
        return self.opened_at + timedelta(milliseconds=self.cooldown_ms)

    @property
    def blocks(self) -> bool:
        """Whether no further decision may pass."""
        return self.state == "open" or (self.state == "half_open" and self.probe is not None)


class _Subject(NamedTuple):
    """The facts of a decision by which breakers select it."""

    agent: str
    category: str | None
    stakes: str | None
    tags: tuple[str, ...]

    def scopes(self) -> set[str]:
        return scopes_of(self.agent, self.category, self.stakes, self.tags)


class _Breaker(msgspec.Struct):
    """The state of one breaker: failures by decision with their times, UTC microseconds; `opened` 0: it is closed."""

    rule: BreakerRule
    failures: dict[str, int] = {}
    opened: int = 0
    reset: bool = False
    probe: str = ""

    def state(self, now: int) -> State:
        if not self.opened:
            return "closed"
        return "half_open" if self.reset or now >= self.opened + self.rule.cooldown_ms * 1000 else "open"

    def within_window(self, now: int) -> dict[str, int]:
        after = now - self.rule.window_ms * 1000
        return {decision: time for decision, time in self.failures.items() if time > after}

    def fail(self, decision: str, now: int) -> None:
        state = self.state(now)
        self.failures = {**self.within_window(now), decision: now}
        if state == "half_open" or (state == "closed" and len(self.failures) >= self.rule.failure_threshold):
            self.opened, self.reset, self.probe = now, False, ""

    def succeed(self, now: int) -> None:
        if self.state(now) != "open":
            self.close()

    def close(self) -> None:
        self.failures, self.opened, self.reset, self.probe = {}, 0, False, ""


class BreakerStates(Projection):
    """The states of all circuit breakers."""

    name: ClassVar[str] = "breakers"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (
        BreakersConfigured, BreakerReset, DecisionRecorded, DecisionAmended, DecisionReviewed, DecisionRetracted,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "configured": saved_value("_configured", bool),
        "breakers": saved_value("_breakers", dict[str, _Breaker]),
        "decisions": saved_value("_decisions", dict[str, _Subject]),
    }

    def __init__(self) -> None:
        self._configured = False
        self._breakers: dict[str, _Breaker] = {}
        self._decisions: dict[str, _Subject] = {}
        """The decisions since the first configuration; before it, none is kept."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if type(data) is BreakersConfigured:
                self._configure(data)
            elif self._configured:
                self._fold_later(event, data)

    def _configure(self, data: BreakersConfigured) -> None:
        before, self._configured = self._breakers, True
        self._breakers = {rule.scope: _Breaker(rule) for rule in data.breakers}
        for scope, breaker in self._breakers.items():
            if (known := before.get(scope)) is not None:
                breaker.failures, breaker.opened = known.failures, known.opened
                breaker.reset, breaker.probe = known.reset, known.probe

    def _fold_later(self, event: EventFacts, data: Payload) -> None:
        decisions = self._decisions
        if isinstance(data, DecisionRecorded):
            decisions[event.subject] = _Subject(event.agent, data.category, data.stakes, data.tags)
            self._probe(event)
        elif isinstance(data, DecisionAmended):
            if data.tags is not None and event.subject in decisions:
                decisions[event.subject] = decisions[event.subject]._replace(tags=data.tags)
        elif isinstance(data, DecisionReviewed):
            self._review(event, data)
        elif isinstance(data, DecisionRetracted):
            decisions.pop(event.subject, None)
            for breaker in self._breakers.values():
                breaker.failures.pop(event.subject, None)
                breaker.probe = "" if breaker.probe == event.subject else breaker.probe
        elif isinstance(data, BreakerReset):
            self._reset(data, event)

    def _probe(self, event: EventFacts) -> None:
        """Let a decision be the one that a half-open breaker lets through."""
        for breaker in self._selecting(event.subject):
            if breaker.opened and not breaker.probe and breaker.state(_microseconds(event)) == "half_open":
                breaker.probe = event.subject

    def _review(self, event: EventFacts, data: DecisionReviewed) -> None:
        now = _microseconds(event)
        for breaker in self._selecting(event.subject):
            if data.outcome in FAILURES:
                breaker.fail(event.subject, now)
            else:
                breaker.succeed(now)

    def _reset(self, data: BreakerReset, event: EventFacts) -> None:
        breaker = self._breakers.get(data.scope)
        if breaker is None or breaker.state(_microseconds(event)) == "closed":
            return
        if data.state == "closed":
            breaker.close()
        else:
            breaker.reset, breaker.probe = True, ""

    def _selecting(self, subject: str) -> Iterable[_Breaker]:
        decision = self._decisions.get(subject)
        if decision is None or not self._breakers:
            return ()
        found = (self._breakers.get(scope) for scope in sorted(decision.scopes()))
        return [breaker for breaker in found if breaker is not None]

    def summary(self) -> Mapping[str, object]:
        return {
            "configured": self._configured,
            "breakers": {
                scope: {"failures": len(breaker.failures), "opened": bool(breaker.opened)}
                for scope, breaker in self._breakers.items()
            },
        }

    def view(self, now: datetime, scopes: Collection[str] | None = None) -> list[BreakerView]:
        """Return the breakers of some scopes, or all, as of a moment, in the order of their names."""
        at = round(now.timestamp() * 1_000_000)
        return [
            _view(breaker, at) for scope, breaker in sorted(self._breakers.items()) if scopes is None or scope in scopes
        ]


def scopes_of(agent: str | None, category: str | None, stakes: str | None, tags: Iterable[str]) -> set[str]:
    """Return the scopes that select a decision with these facts."""
    named = {"agent": agent, "category": category, "stakes": stakes}
    found = {f"{name}:{value}" for name, value in named.items() if value}
    return {"global", *found, *(f"tag:{tag}" for tag in tags)}


def _view(breaker: _Breaker, now: int) -> BreakerView:
    rule, state = breaker.rule, breaker.state(now)
    remaining_ms = max(0, (breaker.opened - now) // 1000 + rule.cooldown_ms) if state == "open" else None
    counted = breaker.failures if breaker.opened else breaker.within_window(now)
    return BreakerView(
        scope=rule.scope,
        state=state,
        failure_count=len(counted),
        failure_threshold=rule.failure_threshold,
        window_ms=rule.window_ms,
        cooldown_ms=rule.cooldown_ms,
        cooldown_remaining_ms=remaining_ms,
        opened_at=datetime.fromtimestamp(breaker.opened / 1_000_000, UTC) if breaker.opened else None,
        probe=breaker.probe.removeprefix("decision/") or None,
    )


def _microseconds(event: EventFacts) -> int:
    return round(event.moment.timestamp() * 1_000_000)
