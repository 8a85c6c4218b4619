"""The tests projection: the tests of decisions, and what was observed of subjects other than changes and requests."""

from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec import structs

from events.decision import DecisionRetracted, DecisionReviewed, DecisionTestStated
from events.envelope import EventFacts
from events.errors import InvalidEvent
from events.observation import ObservationRecorded, ObservationScanned
from events.payload import Payload
from projections.changes.change_index import ChangeIndex, seconds_of
from projections.projection import Projection
from projections.resolve.evidence import Evidence, SubjectObservation, at_of
from projections.resolve.rules import ALL_OF, ANY_OF, RULES, combine
from projections.resolve.statement import read_parts
from projections.resolve.states import RuleFinding, StatedTest
from projections.resolve.window import unresolvable
from projections.saved_state import Part, keyed, saved_value

_READ_ELSEWHERE = ("git:", "pr:", "check:")
"""What the subjects begin with that `ChangeIndex` reads."""


class DecisionWithTest(msgspec.Struct, kw_only=True):
    """A decision with a test, and its newest review."""

    decision_id: str
    test: StatedTest
    reviewed_by: str | None = None
    """The source of its newest review since; None: it has none."""
    outcome: str | None = None
    rule_outcome: str | None = None
    """What the rule found, in its review."""
    rule_position: int = 0
    """Where that review is."""
    person_outcome: str | None = None
    """What the newest review after it says that is somebody's."""
    is_retracted: bool = False


class StatedTests(Projection):
    """Every test of a decision, and what rules look at that are not about changes."""

    name: ClassVar[str] = "tests"
    version: ClassVar[int] = 4
    reads: ClassVar[tuple[type[Payload], ...]] = (
        DecisionTestStated, DecisionReviewed, DecisionRetracted, ObservationRecorded, ObservationScanned,
    )  # fmt: skip

    parts: ClassVar[Mapping[str, Part]] = {
        "tests": keyed("_tests", DecisionWithTest, "decision_id"),
        "observed": saved_value("_observed", dict[str, list[SubjectObservation]]),
        "scans": saved_value("_scans", dict[str, int]),
        "newest": saved_value("newest", int),
    }

    def __init__(self) -> None:
        self._tests: dict[str, DecisionWithTest] = {}
        self._observed: dict[str, list[SubjectObservation]] = {}
        self._scans: dict[str, int] = {}
        self.newest = 0
        """The position of the newest scan, or observation that decides without one."""

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if isinstance(data, DecisionTestStated):
                self._tests.setdefault(
                    data.decision_id, DecisionWithTest(decision_id=data.decision_id, test=_stated(event, data))
                )
            elif isinstance(data, DecisionReviewed | DecisionRetracted):
                if (tested := self._tests.get(data.decision_id)) is not None:
                    _follow(tested, event, data)
            elif isinstance(data, ObservationScanned):
                self.newest = event.position
                self._scans[data.scope] = max(self._scans.get(data.scope, 0), seconds_of(data.through))
            elif isinstance(data, ObservationRecorded):
                self._observe(event.position, data)

    def _observe(self, position: int, data: ObservationRecorded) -> None:
        subject, occurred = data.subject, data.occurred
        if subject is None or occurred is None or subject.startswith(_READ_ELSEWHERE):
            return
        one = SubjectObservation(
            data.observation_id or "", position, data.event_type, seconds_of(occurred), data.facts or {}
        )
        insort(self._observed.setdefault(subject, []), one, key=at_of)
        also = f"alert:{one.facts.get('fingerprint')}"  # an alert is known by its name, too
        if subject.startswith("alert:") and also != subject and "fingerprint" in one.facts:
            insort(self._observed.setdefault(also, []), one, key=at_of)
        self.newest = position

    def tested(self) -> Sequence[DecisionWithTest]:
        """Return every decision with a test that is not retracted, in the order in which the tests were stated."""
        return [one for one in self._tests.values() if not one.is_retracted]

    def find(self, decision_id: str) -> DecisionWithTest | None:
        """Return a decision that is not retracted with its test; None: it has none."""
        found = self._tests.get(decision_id)
        return None if found is None or found.is_retracted else found

    def reviewed_by_rule(self, rule: str, outcome: str, upto: int) -> Sequence[DecisionWithTest]:
        """Return the decisions, also retracted ones, that a rule had reviewed so at a position."""
        return [
            one
            for one in self._tests.values()
            if one.test.rule == rule and one.rule_outcome == outcome and one.rule_position <= upto
        ]

    def evidence(self, changes: ChangeIndex, now_s: int) -> Evidence:
        """Return what rules look at."""
        return Evidence(changes, self._observed, self._scans, now_s)

    def summary(self) -> Mapping[str, object]:
        return {
            "tests": len(self._tests),
            "rules": dict(Counter(one.test.rule for one in self._tests.values())),
            "reviewed": sum(one.reviewed_by is not None for one in self._tests.values()),
            "subjects": len(self._observed),
        }


def _follow(tested: DecisionWithTest, event: EventFacts, data: DecisionReviewed | DecisionRetracted) -> None:
    """Note what was recorded of a decision after its test."""
    if isinstance(data, DecisionRetracted):
        tested.is_retracted = True
        return
    tested.reviewed_by, tested.outcome = event.source, data.outcome
    if data.rule is not None:
        tested.rule_outcome, tested.rule_position = data.outcome, event.position
    elif tested.rule_outcome is not None:
        tested.person_outcome = data.outcome


def find_verdict(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return what the rule of a test finds. A rule that this version does not have, or that fails, finds nothing."""
    if test.rule in (ALL_OF, ANY_OF):
        try:
            stated = read_parts(test.params)
        except InvalidEvent as error:  # of another version, in a ledger that was imported
            return unresolvable(error.detail)
        parts = [
            find_verdict(
                structs.replace(
                    test,
                    rule=part.rule,
                    version=part.version,
                    subject=part.subject,
                    params=part.params,
                    window_s=part.window_s,
                    grace_s=part.grace_s,
                ),
                evidence,
            )
            for part in stated
        ]
        return combine(test.rule, parts) if parts else unresolvable("it has no tests")
    rule = RULES.get(test.rule)
    if rule is None or rule.version != test.version:
        return unresolvable(f"this version of Tallystick has no rule {test.rule} of version {test.version}")
    try:
        return rule.decide(test, evidence)
    except Exception as error:  # noqa: BLE001 - facts are what anybody recorded: one test must not end all others
        return unresolvable(f"the rule failed on what was observed: {type(error).__name__}")


def _stated(event: EventFacts, data: DecisionTestStated) -> StatedTest:
    return StatedTest(
        decision_id=data.decision_id,
        agent=event.agent,
        rule=data.rule,
        version=data.version or 1,
        subject=data.subject,
        params=data.params or {},
        start_s=None if data.start is None else seconds_of(data.start),
        window_s=data.window_s or 0,
        grace_s=data.grace_s,
        position=event.position,
        stated_s=seconds_of(event.time),
    )
