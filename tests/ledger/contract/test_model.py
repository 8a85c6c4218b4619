"""Any sequence of appends, side by side or after a reopening, answers as a model in plain Python does."""

import asyncio
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from events.envelope import Draft
from events.errors import TallystickError
from ledger.errors import IdentityConflict, LifecycleViolation, StreamConflict
from ledger.log import Log, Query
from tallystick.shapes.appended import AppendedEvent
from tests.ledger.contract.conftest import Ledgers
from tests.ledger.run_vocabulary import (
    RUNS,
    finish,
    reopen,
    score,
    start,
    step,
)

NAMES = st.sampled_from(["a", "b", "c"])
NOTES = st.sampled_from(["", "n"])
IDS = st.integers(0, 40).map(str)
EXPECTED = st.sampled_from([None, None, None, None, 0, 1, 2])
DRAFTS = st.one_of(
    [
        st.builds(make, NAMES, NOTES, id=IDS, expectedversion=EXPECTED)
        for make in (start, step, step, step, finish, reopen)
    ]
    + [st.builds(score, st.integers(0, 99).map(str), NOTES, id=IDS)]
)
BATCHES = st.lists(DRAFTS, min_size=1, max_size=3)


class Reported(NamedTuple):
    """An event as the model keeps it."""

    id: str
    subject: str
    type: str
    data: object


Answer = list[tuple[int, int, bool]] | type[TallystickError]


class Model:
    """The log as a list."""

    def __init__(self) -> None:
        self.events: list[Reported] = []

    def append(self, batch: list[Draft]) -> Answer:
        """Return the place of each event (position, stream version, duplicate), or the error that refuses the batch."""
        before, answer = list(self.events), []
        for draft in batch:
            placed = self._place(draft)
            if isinstance(placed, type):
                self.events = before
                return placed
            answer.append(placed)
        return answer

    def _place(self, draft: Draft) -> tuple[int, int, bool] | type[TallystickError]:
        kind = RUNS.event_types[draft.name]
        reported = Reported(draft.id or "", f"{kind.stream}/{kind.stream_id(draft.data)}", draft.name, draft.data)
        for position, event in enumerate(self.events, 1):
            if event.id == reported.id:
                version = sum(one.subject == event.subject for one in self.events[:position])
                return (position, version, True) if event == reported else IdentityConflict
        stream = [event.type for event in self.events if event.subject == reported.subject]
        if draft.expectedversion not in (None, len(stream)):
            return StreamConflict
        closed = stream[-1:] in (["run.finished.v1"], ["probe.scored.v1"])
        begins = draft.name in ("run.started.v1", "probe.scored.v1")
        if closed != (draft.name == "run.reopened.v1") or begins == bool(stream):
            return LifecycleViolation
        self.events.append(reported)
        return len(self.events), len(stream) + 1, False


def answered(outcome: list[AppendedEvent] | BaseException) -> Answer:
    """What the log said, in the model's words."""
    if isinstance(outcome, TallystickError):
        return type(outcome)
    assert isinstance(outcome, list), outcome
    return [(placed.position, placed.streamversion, placed.duplicate) for placed in outcome]


class LogMachine(RuleBasedStateMachine):
    """A log and its model, driven by the same commands."""

    def __init__(self, ledgers: Ledgers) -> None:
        super().__init__()
        self.ledgers = ledgers
        self.place = ledgers.place()
        self.model = Model()
        self.runner = asyncio.Runner()
        self.log: Log

    @initialize()
    def begin(self) -> None:
        self.log = self.runner.run(self.ledgers.begin(self.place, RUNS))

    @rule(batches=st.lists(BATCHES, min_size=1, max_size=6))
    def append_side_by_side(self, batches: list[list[Draft]]) -> None:
        async def post() -> list[Any]:
            return await asyncio.gather(*(self.log.append(batch) for batch in batches), return_exceptions=True)

        outcomes = self.runner.run(post())
        assert [answered(outcome) for outcome in outcomes] == [self.model.append(batch) for batch in batches]

    @rule(batch=BATCHES)
    def append(self, batch: list[Draft]) -> None:
        self.append_side_by_side([batch])

    @rule()
    def reopen(self) -> None:
        self.runner.run(self.log.close())
        self.begin()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        page = self.runner.run(self.log.read(Query(limit=1000)))
        events = RUNS.events(page.ndjson)
        assert [Reported(event.id, event.subject, event.name, event.data) for event in events] == self.model.events
        assert [event.position for event in events] == list(range(1, len(events) + 1))
        assert self.runner.run(self.log.head()).position == len(events)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.runner.run(self.log.close())
        self.runner.close()


@pytest.mark.slow
def test_the_log_answers_as_the_model_does(ledgers: Ledgers) -> None:
    class Machine(LogMachine):
        def __init__(self) -> None:
            super().__init__(ledgers)

    run_state_machine_as_test(Machine, settings=settings(max_examples=60, stateful_step_count=20, deadline=None))


@pytest.mark.parametrize(
    ("batch", "answer"),
    [
        ([start("a", id="1"), step("a", id="2"), step("a", id="2")], [(1, 1, False), (2, 2, False), (2, 2, True)]),
        ([start("a", id="1"), start("a", id="2")], LifecycleViolation),
        ([start("a", id="1"), step("a", id="1")], IdentityConflict),
        ([start("a", id="1"), step("a", id="2", expectedversion=2)], StreamConflict),
        ([score("p", id="1"), finish("p", id="2")], LifecycleViolation),
        (
            [start("a", id="1"), finish("a", id="2"), reopen("a", id="3"), step("a", id="4")],
            [(1, 1, False), (2, 2, False), (3, 3, False), (4, 4, False)],
        ),
        ([start("a", id="1"), reopen("a", id="2")], LifecycleViolation),
    ],
    ids=["retry", "second start", "identity", "version", "closed", "reopened", "open"],
)
def test_the_model_knows_the_rules(batch: list[Draft], answer: Answer) -> None:
    assert Model().append(batch) == answer
