"""The state of one decision: given these events, then this state."""

from datetime import timedelta

import pytest

from events.decision import Bridge, Reason
from events.envelope import Draft
from events.registry import VOCABULARY
from projections.decisions.decision_state import DecisionState, fold_decision
from tests.projections.drafts import amend, ask, record, review, think
from tests.projections.random_histories import DAWN, lines_of


def given(*drafts: Draft) -> DecisionState:
    state = fold_decision([VOCABULARY.event(line) for line in lines_of(drafts)])
    assert state is not None
    return state


def test_without_events_there_is_no_state() -> None:
    assert fold_decision([]) is None


def test_a_recorded_decision_is_as_stated() -> None:
    state = given(record("d", 0.7, agent="bo", category="process", tags=("a",)))
    assert (state.decision_id, state.agent, state.position, state.streamversion) == ("d", "bo", 1, 1)
    assert state.recorded_at == state.updated_at == DAWN
    assert (state.decision.confidence, state.decision.tags) == (0.7, ("a",))
    assert (state.review, state.confidence_at_review, state.thoughts) == (None, None, ())
    assert [entry.type for entry in state.history] == ["decision.recorded.v1"]


def test_a_missing_confidence_stays_missing() -> None:
    state = given(record("d"), review("d"))
    assert state.decision.confidence is None
    assert state.confidence_at_review is None


def test_an_amendment_changes_what_it_names_and_nothing_else() -> None:
    first = record("d", 0.7, tags=("a",), context="before", reasons=(Reason(type="analysis", text="so"),))
    state = given(first, amend("d", confidence=0.0, tags=(), bridge=Bridge(function="hold")))
    assert state.decision.confidence == 0.0
    assert state.decision.tags == ()
    assert state.decision.bridge == Bridge(function="hold")
    assert state.decision.context == "before"
    assert [reason.text for reason in state.decision.reasons] == ["so"]
    assert state.updated_at == DAWN + timedelta(seconds=1)
    assert state.recorded_at == DAWN


def test_thoughts_are_in_order() -> None:
    state = given(record("d"), think("d", "one"), amend("d", context="x"), think("d", "two"))
    assert state.thoughts == ("one", "two")
    assert state.streamversion == 4
    assert state.decision.context == "x"


def test_the_latest_question_is_the_one_it_answers() -> None:
    assert given(record("d")).question is None
    state = given(record("d"), ask("d", "which"), review("d"), ask("d", "which one"))
    assert state.question == "which one"
    assert state.history[-1].type == "decision.asked.v1"


def test_a_later_review_supersedes_and_the_history_keeps_all() -> None:
    state = given(
        record("d", 0.9),
        review("d", "success", agent="bo", lessons="trust", notes="fine"),
        review("d", "failure", agent="cyd", actual_result="it broke", affected_kpis={"p99_ms": 12.5}),
    )
    assert state.review is not None
    assert (state.review.outcome, state.review.reviewed_by) == ("failure", "cyd")
    assert state.review.reviewed_at == DAWN + timedelta(seconds=2)
    assert state.review.affected_kpis == {"p99_ms": 12.5}
    assert state.review.lessons is None, "what the later review left out, it left out"
    outcomes = [getattr(entry.data, "outcome", None) for entry in state.history]
    assert outcomes == [None, "success", "failure"]
    assert [getattr(entry.data, "lessons", None) for entry in state.history] == [None, "trust", None]
    assert [(entry.position, entry.streamversion) for entry in state.history] == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("changes", "counted", "shown"),
    [
        ([review("d")], 0.9, 0.9),
        ([amend("d", confidence=0.6), review("d")], 0.6, 0.6),
        ([review("d"), amend("d", confidence=0.1)], 0.9, 0.1),
        ([review("d"), amend("d", confidence=0.1), review("d", "failure")], 0.9, 0.1),
        ([amend("d", confidence=0.6), amend("d", confidence=0.3), review("d"), amend("d", confidence=0.2)], 0.3, 0.2),
    ],
)
def test_the_confidence_at_review_is_the_one_before_the_first(
    changes: list[Draft], counted: float, shown: float
) -> None:
    state = given(record("d", 0.9), *changes)
    assert (state.confidence_at_review, state.decision.confidence) == (counted, shown)


def test_an_amendment_after_the_review_never_gives_it_a_confidence() -> None:
    state = given(record("d"), review("d"), amend("d", confidence=0.8))
    assert state.decision.confidence == 0.8
    assert state.confidence_at_review is None


def test_a_long_stream_is_complete() -> None:
    state = given(record("d"), *(think("d", str(number)) for number in range(500)))
    assert state.thoughts == tuple(map(str, range(500)))
    assert len(state.history) == 501
