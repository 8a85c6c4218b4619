"""The guardrail projection: the rules in force, how often each fired, and the decisions that each let through."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from events.envelope import EventFacts
from events.guardrail import CheckOutcome, GuardrailEvaluated, GuardrailRetired, GuardrailSet
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, keyed, ordered_set, saved_value


class Retirement(msgspec.Struct, frozen=True, kw_only=True):
    """The event that retired a rule."""

    position: int
    time: str
    agent: str
    reason: str | None


class RuleEntry(msgspec.Struct, kw_only=True):
    """A rule in its latest version, and what its evaluations found.

    `position`, `time` and `agent` are those of that version's event. The figures count every version.
    """

    rule: GuardrailSet
    position: int
    time: str
    agent: str
    revision: int
    """Number of the version, from 1."""
    retired: Retirement | None = None
    fired: int = 0
    met: int = 0
    undecided: int = 0
    last_fired: str | None = None
    """Time of the latest evaluation in which it fired."""
    decisions_fired: list[str] = []
    """Ids of the recorded decisions for which it fired."""
    decisions_met: list[str] = []
    """Ids of the recorded decisions for which its requirements were met."""


class CheckCounts(msgspec.Struct, kw_only=True):
    """Counts of evaluations."""

    total: int = 0
    blocked: int = 0
    """Evaluations in which a rule with the action `block` fired."""
    without_rules: int = 0
    """Evaluations when no rule was in force."""


STATED_MAX = 1_000
"""Fields of context whose names are kept; an action may add more than one beyond it."""


class GuardrailIndex(Projection):
    """All rules by id, in the order in which they were first set; `stated` names the fields of actions' contexts."""

    name: ClassVar[str] = "guardrails"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Payload], ...]] = (GuardrailSet, GuardrailRetired, GuardrailEvaluated)

    parts: ClassVar[Mapping[str, Part]] = {
        "rules": keyed("_entries", RuleEntry, "rule.guardrail_id"),
        "checks": saved_value("checks", CheckCounts),
        "stated": ordered_set("stated"),
    }

    def __init__(self) -> None:
        self._entries: dict[str, RuleEntry] = {}
        self.checks = CheckCounts()
        self.stated: dict[str, None] = {}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if isinstance(data, GuardrailSet):
                self._set(event, data)
            elif isinstance(data, GuardrailRetired):
                self._entries[data.guardrail_id].retired = Retirement(
                    position=event.position, time=event.time, agent=event.agent, reason=data.reason
                )
            elif isinstance(data, GuardrailEvaluated):
                self._count(event, data)

    def _set(self, event: EventFacts, rule: GuardrailSet) -> None:
        entry = self._entries.get(rule.guardrail_id)
        if entry is None:
            entry = self._entries[rule.guardrail_id] = RuleEntry(
                rule=rule, position=0, time="", agent="", revision=0, decisions_fired=[], decisions_met=[]
            )
        entry.rule, entry.position, entry.time, entry.agent = rule, event.position, event.time, event.agent
        entry.revision += 1
        entry.retired = None

    def _count(self, event: EventFacts, check: GuardrailEvaluated) -> None:
        self.checks.total += 1
        self.checks.blocked += not check.allowed
        self.checks.without_rules += check.rules == 0
        for field in check.context if len(self.stated) < STATED_MAX else ():
            self.stated.setdefault(field)
        for result in check.results:
            entry = self._entries.get(result.guardrail_id)
            if entry is not None:
                _count_result(entry, result.outcome, event.time, check.decision_id)

    def summary(self) -> Mapping[str, object]:
        return {
            "in_force": len(self.rules()),
            "retired": sum(entry.retired is not None for entry in self._entries.values()),
            "evaluations": self.checks.total,
            "blocked": self.checks.blocked,
        }

    def rules(self) -> list[GuardrailSet]:
        """Return the rules in force."""
        return [entry.rule for entry in self._entries.values() if entry.retired is None]

    def entries(self) -> list[RuleEntry]:
        """Return every rule, also retired ones, in the order in which they were first set. Do not change them."""
        return list(self._entries.values())

    def find(self, guardrail_id: str) -> RuleEntry | None:
        """Return a rule, also a retired one. Do not change it."""
        return self._entries.get(guardrail_id)


def _count_result(entry: RuleEntry, outcome: CheckOutcome, time: str, decision_id: str | None) -> None:
    if outcome == "fired":
        entry.fired += 1
        entry.last_fired = time
    elif outcome == "met":
        entry.met += 1
    else:
        entry.undecided += 1
    if decision_id is not None and outcome != "undecided":
        (entry.decisions_fired if outcome == "fired" else entry.decisions_met).append(decision_id)
