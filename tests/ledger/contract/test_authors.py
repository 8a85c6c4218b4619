"""Who may append to whose stream: any mixture of sources and permissions, side by side, answers as a plain model."""

import asyncio
from copy import deepcopy
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.decision import (
    DecisionAmended,
    DecisionAsked,
    DecisionRecorded,
    DecisionRetracted,
    DecisionReviewed,
    DecisionThought,
)
from events.envelope import Draft
from events.errors import TallystickError
from events.payload import Payload
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger.errors import ForeignStream, LifecycleViolation
from ledger.log import UNRESTRICTED, Log, Permissions
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.contract.conftest import Ledgers
from tests.projections.drafts import post
from tests.support.event_loop import run

VERBS = ("record", "record", "amend", "think", "ask", "review", "review", "retract", "ponder", "adopt")
AGENT = Permissions(as_owner=False, as_first=False)
REVIEWER = Permissions(as_owner=False, as_first=True)


class Append(NamedTuple):
    """What one caller posts at once: pairs of a verb and the number of a decision or thought."""

    agent: str
    permissions: str
    batch: list[tuple[str, int]]

    @property
    def allowed(self) -> Permissions:
        source = f"/agents/{self.agent}"
        return {"agent": AGENT, "reviewer": REVIEWER, "importer": UNRESTRICTED,
                "others": AGENT._replace(not_own=source)}[self.permissions]  # fmt: skip


appends = st.builds(
    Append,
    st.sampled_from(["ada", "bo", "cyd"]),
    st.sampled_from(["agent", "agent", "agent", "reviewer", "importer", "others"]),
    st.lists(
        st.tuples(
            st.sampled_from(VERBS),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=4,
    ),
)


def payload_of(verb: str, number: int) -> Payload:
    name = f"d{number}"
    payloads: dict[str, Payload] = {
        "record": DecisionRecorded(decision_id=name, decision="ship"),
        "amend": DecisionAmended(decision_id=name, confidence=0.05),
        "think": DecisionThought(decision_id=name, text="hmm"),
        "ask": DecisionAsked(decision_id=name, question="which?"),
        "review": DecisionReviewed(decision_id=name, outcome="failure"),
        "retract": DecisionRetracted(decision_id=name, reason="twice"),
        "ponder": ThoughtRecorded(thought_id=f"t{number}", text="hmm"),
        "adopt": ThoughtAdopted(thought_id=f"t{number}", decision_id=name),
    }
    return payloads[verb]


def drafts_of(append: Append) -> list[Draft]:
    return [post(payload_of(verb, number), agent=append.agent) for verb, number in append.batch]


class Model:
    """The owner of each stream, its first reviewer, and the closed streams."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        self.reviewers: dict[str, str] = {}
        self.closed: set[str] = set()

    def append(self, append: Append) -> type[TallystickError] | None:
        before = deepcopy(vars(self))
        for verb, number in append.batch:
            refusal = self._one(append, verb, number)
            if refusal is not None:
                vars(self).update(before)
                return refusal
        return None

    def _one(self, append: Append, verb: str, number: int) -> type[TallystickError] | None:
        decision, agent, allowed = f"d{number}", append.agent, append.allowed
        stream = f"t{number}" if verb in ("ponder", "adopt") else decision
        begins = verb in ("record", "ponder")
        if begins == (stream in self.owners) or (stream in self.closed):
            return LifecycleViolation
        if verb in ("amend", "think", "ask", "retract", "adopt") and not allowed.as_owner:
            named = {stream, decision}
            if any(self.owners.get(one, agent) != agent for one in named):
                return ForeignStream
        if verb == "review":
            if allowed.not_own is not None and self.owners[stream] == agent:
                return ForeignStream
            if self.reviewers.get(stream, agent) != agent and not allowed.as_first:
                return ForeignStream
            self.reviewers.setdefault(stream, agent)
        if begins:
            self.owners[stream] = agent
        if verb in ("retract", "adopt"):
            self.closed.add(stream)
        return None


async def outcomes(log: Log, group: list[Append]) -> list[list[AppendedEvent] | BaseException]:
    appending = (log.append(drafts_of(append), append.allowed) for append in group)
    return await asyncio.gather(*appending, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.trial("C1")
def test_each_event_is_for_whom_the_model_says(ledgers: Ledgers) -> None:
    """Appends of a group are written in one transaction, so that check and append cannot come apart."""

    @given(groups=st.lists(st.lists(appends, min_size=1, max_size=4), min_size=1, max_size=5))
    @settings(max_examples=150, deadline=None)
    def check(groups: list[list[Append]]) -> None:
        async def scenario() -> None:
            model = Model()
            async with ledgers.open() as log:
                for group in groups:
                    answers = await outcomes(log, group)
                    expected = [model.append(append) for append in group]
                    assert [type(one) if isinstance(one, BaseException) else None for one in answers] == expected

        run(scenario())

    check()


@pytest.mark.trial("C1")
def test_a_refusal_names_the_stream_its_owner_and_the_event(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([post(payload_of("record", 1), agent="ada")])
            batch = [post(payload_of(verb, number), agent="bo") for verb, number in (("record", 2), ("amend", 1))]
            with pytest.raises(ForeignStream) as refusal:
                await log.append(batch, AGENT)
            error = refusal.value
            assert (error.subject, error.author, error.index, error.rule) == ("decision/d1", "/agents/ada", 1, "owner")
            assert "only /agents/ada may append decision.amended.v1." in error.detail
            assert (await log.head()).position == 1

    run(scenario())


def test_a_long_stream_finds_its_first_review(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            await log.append([post(payload_of("record", 1), agent="ada")])
            await log.append([post(payload_of("think", 1), agent="ada") for _ in range(500)])
            await log.append([post(payload_of("review", 1), agent="bo")], AGENT)
            await log.append([post(payload_of("think", 1), agent="ada") for _ in range(500)])
            await log.append([post(payload_of("review", 1), agent="cyd")], REVIEWER)
            await log.append([post(payload_of("review", 1), agent="bo")], AGENT)
            with pytest.raises(ForeignStream, match="/agents/bo appended its first"):
                await log.append([post(payload_of("review", 1), agent="cyd")], AGENT)

    run(scenario())


@pytest.mark.trial("C1")
def test_of_two_first_reviews_at_once_one_stays(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            for number in range(3):
                await log.append([post(payload_of("record", number), agent="ada")])
                reviews = [Append(agent, "agent", [("review", number)]) for agent in ("bo", "cyd", "bo", "ada")]
                kinds = [type(answer) for answer in await outcomes(log, reviews)]
                assert kinds == [list, ForeignStream, list, ForeignStream]

    run(scenario())


@pytest.mark.trial("C1")
def test_a_decision_of_the_same_moment_has_its_owner(ledgers: Ledgers) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            for number in range(3):
                at_once = [Append(agent, "agent", [(verb, number)]) for agent, verb in
                           (("ada", "record"), ("bo", "amend"), ("ada", "amend"), ("bo", "retract"))]  # fmt: skip
                kinds = [type(answer) for answer in await outcomes(log, at_once)]
                assert kinds == [list, ForeignStream, list, ForeignStream]

    run(scenario())
