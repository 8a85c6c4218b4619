"""Decisions that are resolved by their tests: what is reviewed, when, by whom, and what never is."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from api.principal import OWNER, Forbidden, Principal
from api.service import resolver_task
from api.service.decision_tests import DecisionTestsQuery, get_tests, resolve_tests
from api.service.decision_writer import DecisionRequest, RecordedReview, continue_decision, record_decision
from api.service.decisions import find_decision
from api.service.ledger import LedgerService
from api.service.rule_audit import RuleAuditQuery, get_rule_audit
from events.decision import DecisionAmended, DecisionRecorded, DecisionRetracted, DecisionReviewed, DecisionTestStated
from events.envelope import source_of
from events.errors import InvalidEvent, TallystickError
from events.observation import ObservationRecorded, ObservationScanned
from events.registry import VOCABULARY
from ledger.errors import IdentityConflict, InvalidQuery
from ledger.log import Query
from tallystick.shapes.decisions import Outcome
from tallystick.shapes.tests import DecisionTest, ResolvedTests
from tests.projections.resolve.observed import BEGIN, REPO, at
from tests.support.event_loop import run

SHA = "a1" * 20
Result = TypeVar("Result")


def agent(name: str, *scopes: str) -> Principal:
    return Principal(name, source_of(name), frozenset({"append", "read", *scopes}))


ANN, BOB, WATCHER = agent("ann"), agent("bob"), agent("watcher", "observe")


class Ledger:
    """A ledger whose clock is set in days."""

    def __init__(self, service: LedgerService, now: list[datetime]) -> None:
        self.service, self._now = service, now

    def day(self, day: float) -> None:
        self._now[0] = BEGIN + timedelta(days=day)

    async def record(
        self, caller: Principal = ANN, test: str | None = "git.kept:14d", confidence: float | None = 0.8
    ) -> str:
        decision = DecisionRecorded(decision="d", confidence=confidence)
        return (await record_decision(self.service, caller, DecisionRequest(decision=decision, test=test))).decision_id

    async def observe(
        self, event_type: str, day: float, commit: str = SHA, caller: Principal = WATCHER,
        **facts: str | int | tuple[str, ...],
    ) -> None:  # fmt: skip
        data = ObservationRecorded(
            event_type=event_type, source="git", subject=f"git:{REPO}:{commit}", occurred=at(day), facts=facts
        )
        await self.service.record([VOCABULARY.draft_of(data)], caller)

    async def land(self, day: float, *decisions: str, commit: str = SHA) -> None:
        await self.observe("git.landed", day, commit, born=5, decisions=decisions)

    async def scan(self, day: float, caller: Principal = WATCHER) -> None:
        data = ObservationScanned(
            scan_id=f"s{day}", source="git", scope=REPO, through=at(day), head="h", reader=1, subjects=1
        )
        await self.service.record([VOCABULARY.draft_of(data)], caller)

    async def resolved(self, *, dry_run: bool = False) -> list[DecisionTest]:
        return (await resolve_tests(self.service, dry_run=dry_run)).resolved

    async def test(self, decision_id: str) -> DecisionTest:
        (found,) = (await get_tests(self.service.now(), DecisionTestsQuery(decision_id=decision_id))).tests
        return found

    async def review(self, caller: Principal, decision_id: str, outcome: Outcome = "failure") -> None:
        review = DecisionReviewed(decision_id=decision_id, outcome=outcome)
        await continue_decision(RecordedReview, self.service, caller, review)

    async def outcome(self, decision_id: str) -> tuple[str, str] | None:
        review = (await find_decision(self.service.now(), decision_id)).review
        return None if review is None else (review.outcome, review.reviewed_by)


@pytest.fixture
def perform(tmp_path: Path) -> Callable[[Callable[[Ledger], Coroutine[Any, Any, None]]], None]:
    """Run a scenario in a new ledger."""

    def perform(scenario: Callable[[Ledger], Coroutine[Any, Any, None]]) -> None:
        async def opened() -> None:
            now = [BEGIN]
            service = await LedgerService.open(tmp_path / "t.db", writable=True, clock=lambda: now[0])
            try:
                await scenario(Ledger(service, now))
            finally:
                await service.close()

        run(opened())

    return perform


Perform = Callable[[Callable[[Ledger], Coroutine[Any, Any, None]]], None]
RULE = "/resolvers/git.kept.v1"
REVIEWED = VOCABULARY.names_of(DecisionReviewed)


def test_a_kept_change_reviews_its_decision_once_when_its_window_is_covered(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name = await ledger.record()
        assert (await ledger.test(name)).state == "waiting"
        ledger.day(2)
        await ledger.land(1, name)
        await ledger.scan(2)
        assert (await ledger.test(name)).state == "running"
        assert await ledger.resolved() == []
        ledger.day(15)
        await ledger.scan(15)
        (listed,) = await ledger.resolved(dry_run=True)
        assert await ledger.outcome(name) is None
        (found,) = await ledger.resolved()
        assert found == listed
        assert (found.decision_id, found.state, found.due) == (name, "succeeded", BEGIN + timedelta(days=15))
        assert await ledger.outcome(name) == ("success", RULE)
        head = await ledger.service.head_position()
        assert await ledger.resolved() == []
        assert await ledger.service.head_position() == head
        review = VOCABULARY.event(await ledger.service.event(head))
        assert review.name == "decision.reviewed.v2"
        assert isinstance(review.data, DecisionReviewed)
        assert (review.data.rule, review.data.rule_version, review.data.basis) == ("git.kept", 1, "deadline")
        assert review.data.evidence == tuple((await ledger.test(name)).evidence)

    perform(scenario)


def test_an_early_failure_is_seen_at_once_and_counts_when_it_is_due(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name = await ledger.record()
        ledger.day(3)
        await ledger.land(1, name)
        await ledger.observe("git.reverted", 2, by="b" * 40)
        await ledger.scan(3)
        assert (await ledger.test(name)).state == "failed_early"
        assert await ledger.resolved() == []
        ledger.day(16)
        await ledger.scan(16)
        assert [one.state for one in await ledger.resolved()] == ["failed"]
        assert await ledger.outcome(name) == ("failure", RULE)

    perform(scenario)


def test_a_review_by_somebody_stands(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        before, after = await ledger.record(), await ledger.record()
        await ledger.land(0, before, after)
        ledger.day(15)
        await ledger.review(BOB, before)
        await ledger.scan(15)
        assert [one.decision_id for one in await ledger.resolved()] == [after]
        assert await ledger.outcome(before) == ("failure", "bob")
        await ledger.review(BOB, after, "partial")  # the rule was the first, and anybody may replace it
        assert await ledger.outcome(after) == ("partial", "bob")
        assert await ledger.resolved() == []
        assert (await ledger.test(after)).reviewed_by == "bob"

    perform(scenario)


def test_an_agent_does_not_review_its_own_tested_decision(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name, untested = await ledger.record(), await ledger.record(test=None)
        with pytest.raises(Forbidden, match=f"The decision {name} has a test: its agent does not review it"):
            await ledger.review(ANN, name, "success")
        await ledger.review(ANN, untested, "success")
        both = [
            DecisionRecorded(decision_id="own", decision="d"), DecisionTestStated(decision_id="own", rule="git.kept"),
            DecisionReviewed(decision_id="own", outcome="success"),
        ]  # fmt: skip
        with pytest.raises(Forbidden, match="The decision own has a test"):
            await ledger.service.record([VOCABULARY.draft_of(one) for one in both], ANN)
        await ledger.review(agent("ann", "review"), name, "success")  # its operator may let it

    perform(scenario)


def test_an_agent_neither_observes_nor_reviews_as_a_rule(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name = await ledger.record()
        with pytest.raises(Forbidden, match="lacks the scope 'observe'"):
            await ledger.observe("git.landed", 0, caller=ANN)
        with pytest.raises(Forbidden, match="lacks the scope 'observe'"):
            await ledger.scan(0, caller=ANN)
        review = DecisionReviewed(decision_id=name, outcome="success", rule="git.kept", rule_version=1)
        with pytest.raises(InvalidEvent, match="rule is stated by the ledger"):
            await ledger.service.record([VOCABULARY.draft_of(review)], BOB)
        review = DecisionReviewed(decision_id=name, outcome="success")
        for caller in (BOB, OWNER):
            draft = VOCABULARY.draft_of(review, source=RULE)
            with pytest.raises(TallystickError, match="is not of the form /agents/NAME"):
                await ledger.service.record([draft], caller)
        assert await ledger.outcome(name) is None

    perform(scenario)


@pytest.mark.parametrize(
    ("occurred", "message"),
    [(at(0.1), "is over an hour later than now"), ("yesterday", "is not a time with a zone"),
     ("2026-01-01T00:00:00", "is not a time with a zone")],
)  # fmt: skip
def test_observations_from_the_future_are_refused(perform: Perform, occurred: str, message: str) -> None:
    async def scenario(ledger: Ledger) -> None:
        data = ObservationRecorded(event_type="git.landed", source="git", subject="git:r:c", occurred=occurred)
        scan = ObservationScanned(
            scan_id="s", source="git", scope="r", through=occurred, head="h", reader=1, subjects=1
        )
        for one, field in ((data, "data.occurred"), (scan, "data.through")):
            with pytest.raises(InvalidEvent, match=message) as caught:
                await ledger.service.record([VOCABULARY.draft_of(one)], WATCHER)
            assert (caught.value.field, caught.value.index) == (field, 0)
        assert await ledger.service.head_position() == 0

    perform(scenario)


def test_a_test_stated_after_the_evidence_judges_no_confidence(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        await ledger.land(0)
        sure, plain = [
            await ledger.record(test=f"git.kept:14d:subject=commit:{SHA}", confidence=c) for c in (0.0, None)
        ]
        ledger.day(15)
        await ledger.scan(15)
        found = await resolve_tests(ledger.service)
        assert ([one.decision_id for one in found.resolved], found.retrofitted) == ([plain], 1)
        assert (await ledger.test(sure)).retrofitted
        assert await ledger.outcome(sure) is None
        closed = set[str]()
        again = [await resolve_tests(ledger.service, closed=closed) for _ in range(2)]
        assert [one.retrofitted for one in again] == [1, 0]  # a server looks at it once
        assert closed == {sure}

    perform(scenario)


def test_a_test_stated_long_after_its_window_began_is_one_too(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        ledger.day(1)
        soon, late = [await ledger.record() for _ in range(2)]
        await ledger.land(0.99, soon, commit="b" * 40)
        await ledger.land(0.9, late, commit="c" * 40)  # nobody had recorded that it had landed
        ledger.day(20)
        await ledger.scan(20)
        assert [one.decision_id for one in await ledger.resolved()] == [soon]
        assert (await ledger.test(late)).retrofitted

    perform(scenario)


def test_retracted_decisions_are_not_reviewed(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name = await ledger.record()
        await ledger.land(0, name)
        retracted = DecisionRetracted(decision_id=name, reason="twice")
        await ledger.service.record([VOCABULARY.draft_of(retracted)], ANN)
        ledger.day(15)
        await ledger.scan(15)
        assert await ledger.resolved() == []
        assert (await get_tests(ledger.service.now(), DecisionTestsQuery())).total == 0

    perform(scenario)


def test_only_the_first_statement_counts_and_a_wrong_one_writes_nothing(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        with pytest.raises(InvalidEvent, match=r"'git.loved' is not a rule"):
            await ledger.record(test="git.loved")
        assert await ledger.service.head_position() == 0
        name = await ledger.record(test="git.kept:7d")
        later = DecisionTestStated(decision_id=name, rule="git.kept:30d")
        await ledger.service.record([VOCABULARY.draft_of(later)], ANN)
        assert (await ledger.test(name)).test == "git.kept:7d"
        wrong = DecisionTestStated(decision_id=name, rule="git.kept:30")
        with pytest.raises(InvalidEvent, match="'30' is not a window") as caught:
            await ledger.service.record([VOCABULARY.draft_of(wrong)], ANN)
        assert (caught.value.field, caught.value.index) == ("data.rule", 0)
        earlier = VOCABULARY.draft_of(later, time=BEGIN - timedelta(hours=2))
        with pytest.raises(InvalidEvent, match="is over an hour ago") as caught:
            await ledger.service.record([earlier], ANN)
        assert caught.value.field == "time"
        begun = DecisionTestStated(decision_id=name, rule="git.kept", start="soon")
        with pytest.raises(InvalidEvent, match="start 'soon' is not a time with a zone"):
            await ledger.service.record([VOCABULARY.draft_of(begun)], ANN)

    perform(scenario)


def test_a_decision_with_a_test_is_recorded_once(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        decision = DecisionRecorded(decision="d", confidence=0.8)
        requests = [
            DecisionRequest(decision=decision, event_id="e", test=test) for test in ("git.kept", "git.kept:14d")
        ]
        first, again = [await record_decision(ledger.service, ANN, request) for request in requests]
        assert (again.decision_id, again.duplicate) == (first.decision_id, True)
        with pytest.raises(IdentityConflict):
            await record_decision(ledger.service, ANN, DecisionRequest(decision=decision, event_id="e"))
        with pytest.raises(IdentityConflict):
            await record_decision(
                ledger.service, ANN, DecisionRequest(decision=decision, event_id="e", test="git.kept:7d")
            )

    perform(scenario)


def test_decisions_are_reviewed_in_the_order_in_which_they_are_due(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        late, early, waiting = [await ledger.record() for _ in range(3)]
        await ledger.land(0, early, commit="b" * 40)
        ledger.day(2)
        await ledger.land(1, late, commit="c" * 40)
        amended = DecisionAmended(decision_id=late, context="more")  # its stream goes on meanwhile
        await ledger.service.record([VOCABULARY.draft_of(amended)], ANN)
        ledger.day(20)
        await ledger.scan(20)
        assert [one.decision_id for one in await ledger.resolved()] == [early, late]
        answer = await get_tests(ledger.service.now(), DecisionTestsQuery(limit=2))
        assert [one.decision_id for one in answer.tests] == [waiting, early]
        assert (answer.states, answer.total, answer.next) == ({"succeeded": 2, "waiting": 1}, 3, 2)
        (left,) = (await get_tests(ledger.service.now(), DecisionTestsQuery(offset=2))).tests
        assert left.decision_id == late
        assert (await get_tests(ledger.service.now(), DecisionTestsQuery(state="overdue"))).tests == []
        unknown = (await get_tests(ledger.service.now(), DecisionTestsQuery(rule="git.kep"))).unknown_names
        assert [one.nearest for one in unknown or ()] == ["git.kept"]

    perform(scenario)


def test_as_of_a_position_shows_what_was_known_there(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        name = await ledger.record()
        await ledger.land(0, name)
        ledger.day(20)
        await ledger.scan(15)
        await ledger.resolved()
        states = []
        for position in range(1, await ledger.service.head_position() + 1):
            view = await ledger.service.as_of(str(position))
            tests = (await get_tests(view, DecisionTestsQuery())).tests
            states.append((tests[0].state, tests[0].reviewed_by) if tests else None)
        assert states == [None, ("waiting", None), ("running", None), ("succeeded", None), ("succeeded", RULE)]

    perform(scenario)


def test_a_server_resolves_by_itself(perform: Perform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_task, "TICK_S", 0.001)
    monkeypatch.setattr(resolver_task, "REST", 0)

    async def scenario(ledger: Ledger) -> None:
        task = asyncio.create_task(resolver_task.keep_resolved(ledger.service))
        try:
            names = []
            for day in (0, 20):
                ledger.day(day)
                names.append(await ledger.record())
                await ledger.land(day, names[-1], commit=f"{day:040x}")
                ledger.day(day + 14)
                after = await ledger.service.head_position()
                await ledger.scan(day + 14)
                async for _ in ledger.service.follow(Query(types=REVIEWED, after=after)):
                    break
            assert [await ledger.outcome(name) for name in names] == [("success", RULE)] * 2
        finally:
            task.cancel()

    perform(scenario)


def test_a_server_resolves_what_is_found_by_looking_at_every_test(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        names = [await ledger.record() for _ in range(6)]
        for number, name in enumerate(names[1:]):  # the change of the first does not land
            ledger.day(number)
            await ledger.land(number, name, commit=f"{number:040x}")
        closed = set[str]()
        for day, states in ((13, {}), (16, {"succeeded": 3}), (40, {"succeeded": 2})):
            ledger.day(day)
            await ledger.scan(day)
            everything = await resolve_tests(ledger.service, dry_run=True)
            found = await resolve_tests(ledger.service, closed=closed)
            assert (found.resolved, found.states) == (everything.resolved, states)
            assert everything.states["waiting"] == 1
        assert await resolve_tests(ledger.service, closed=closed) == ResolvedTests(
            resolved=[], states={}, retrofitted=0
        )

    perform(scenario)


def test_two_resolvers_at_once_review_once(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        names = [await ledger.record() for _ in range(20)]
        await ledger.land(0, *names)
        ledger.day(14)
        await ledger.scan(14)
        await asyncio.gather(*(resolve_tests(ledger.service) for _ in range(3)), ledger.review(BOB, names[7]))
        reviews = await ledger.service.reader.counts(Query(types=REVIEWED))
        assert sum(reviews.values()) in (20, 21)  # the person's may have come after the rule's
        assert await ledger.outcome(names[7]) == ("failure", "bob")
        assert [one.state for one in await ledger.resolved()] == []

    perform(scenario)


def test_a_rule_is_checked_against_people_who_do_not_know_its_verdict(perform: Perform) -> None:
    async def scenario(ledger: Ledger) -> None:
        names = [await ledger.record() for _ in range(50)]
        for number, name in enumerate(names):
            commit = f"{number:040x}"
            await ledger.land(0, name, commit=commit)
            if number % 5 == 0:
                await ledger.observe("git.reverted", 0, commit)
        ledger.day(15)
        await ledger.scan(15)
        await ledger.resolved()
        first = await get_rule_audit(ledger.service.now(), RuleAuditQuery(rule="git.kept", size=30))
        assert (first.total, len(first.decisions), first.reviewed, first.corrected) == (50, 30, 0, None)
        assert first.checked == "git.kept has not been checked against people: 0 of at least 20 reviews."
        assert sum(names.index(one.decision_id) % 5 == 0 for one in first.decisions) == 10  # all failures there are
        assert not {"outcome", "state", "value"} & set(first.decisions[0].__struct_fields__)
        for place, one in enumerate(first.decisions):
            failed = names.index(one.decision_id) % 5 == 0
            await ledger.review(BOB, one.decision_id, "success" if place == 0 or not failed else "failure")
        await ledger.review(
            BOB, next(name for name in names if name not in {one.decision_id for one in first.decisions})
        )
        query = RuleAuditQuery(rule="git.kept", size=30, seed=first.seed, drawn_at=first.drawn_at)
        found = await get_rule_audit(ledger.service.now(), query)
        assert [one.decision_id for one in found.decisions] == [one.decision_id for one in first.decisions]
        assert found.wrong_successes is not None
        assert found.wrong_failures is not None
        assert found.corrected is not None
        assert (found.wrong_successes.wrong, found.wrong_successes.n) == (0, 20)
        assert (found.wrong_failures.wrong, found.wrong_failures.n) == (
            int(first.decisions[0].decision_id == names[0]),
            10,
        )
        assert found.corrected.by_rule == 0.8
        unknown = await get_rule_audit(ledger.service.now(), RuleAuditQuery(rule="git.kep"))
        assert [one.nearest for one in unknown.unknown_names or ()] == ["git.kept"]
        with pytest.raises(InvalidQuery, match="is beyond"):
            await get_rule_audit(ledger.service.now(), RuleAuditQuery(rule="git.kept", drawn_at=10_000))

    perform(scenario)
