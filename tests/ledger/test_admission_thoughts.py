"""A thought is recorded once, taken up at most once, and is then over."""

import pytest

from events.envelope import Draft
from events.registry import VOCABULARY
from events.thought import ThoughtAdopted, ThoughtRecorded
from ledger.errors import LifecycleViolation
from tests.ledger.given import Scene, given
from tests.support.drafts import draft_of, recorded

RECORDED, ADOPTED, DECISION = "thought.recorded.v1", "thought.adopted.v1", "decision.recorded.v1"


def thought(name: str | None = "t", text: str = "hmm") -> Draft:
    return draft_of(ThoughtRecorded(thought_id=name, text=text))


def adopted(name: str = "t", decision: str = "d") -> Draft:
    return draft_of(ThoughtAdopted(thought_id=name, decision_id=decision))


def scene(*history: Draft) -> Scene:
    return given(*history, vocabulary=VOCABULARY)


def test_a_thought_is_recorded_and_taken_up_with_its_decision() -> None:
    scene(thought("t"), thought("u")).when(recorded("d"), adopted("t"), adopted("u")).then(
        ("decision/d", 1, DECISION), ("thought/t", 2, ADOPTED), ("thought/u", 2, ADOPTED)
    )


@pytest.mark.parametrize("by", ["d", "e"], ids=["the same decision", "another"])
def test_a_thought_is_taken_up_once(by: str) -> None:
    error = scene(thought(), adopted()).when(recorded("e"), adopted("t", by)).refused(LifecycleViolation, "was closed")
    assert (error.subject, error.index) == ("thought/t", 1)


def test_a_thought_is_not_taken_up_twice_by_one_batch() -> None:
    scene(thought()).when(recorded("d"), adopted(), adopted()).refused(LifecycleViolation, "was closed")


def test_a_thought_that_nobody_had_is_not_taken_up() -> None:
    scene().when(adopted()).refused(LifecycleViolation, "thought/t is not in the log")


@pytest.mark.parametrize("history", [[thought()], [thought(), adopted()]], ids=["waiting", "taken up"])
def test_a_thought_is_recorded_once(history: list[Draft]) -> None:
    scene(*history).when(thought()).refused(LifecycleViolation, "already in the log")


def test_the_ledger_names_a_thought_where_the_client_names_none() -> None:
    (row,) = scene().when(thought(None)).rows
    family, _, name = row.subject.partition("/")
    assert (family, len(name)) == ("thought", 8)
