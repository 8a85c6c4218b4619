"""The thoughts view: which thoughts wait, for whom, until when; and who took up the others."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.envelope import Draft, source_of
from events.thought import ThoughtAdopted, ThoughtRecorded
from projections.decisions import thought_index as thoughts_module
from projections.decisions.thought_index import THOUGHT_AGE_MAX, ThoughtIndex, ThoughtScope
from tests.projections.drafts import adopt, ponder, record
from tests.projections.random_histories import AGENTS, DAWN, MOMENTS, events_of, histories

OPEN = ThoughtScope()
SECOND = timedelta(seconds=1)


def folded(*drafts: Draft) -> ThoughtIndex:
    projection = ThoughtIndex()
    projection.fold(events_of(drafts))
    return projection


def waiting(
    projection: ThoughtIndex,
    scope: ThoughtScope | None = OPEN,
    *,
    agent: str = "ada",
    now: datetime = DAWN,
    at: int | None = None,
) -> list[str]:
    scopes = None if scope is None else scope.matching_scopes()
    return [thought.thought_id for thought in projection.pending(source_of(agent), scopes, now, at)]


def test_a_thought_waits_until_it_is_taken_up() -> None:
    drafts = (ponder("a"), ponder("b"), record("d", 0.5), adopt("a", "d"))
    assert waiting(folded(*drafts[:3])) == ["a", "b"]
    assert waiting(folded(*drafts)) == ["b"]
    ((agent, thought),) = folded(*drafts).adopted()
    assert (agent, thought.thought_id, thought.adopted_position, thought.adopted_by) == ("ada", "a", 4, "d")


def test_thoughts_that_were_pending_as_of_a_position() -> None:
    projection = folded(ponder("a"), ponder("b"), record("d", 0.5), adopt("a", "d"), ponder("c"))
    assert [waiting(projection, at=position) for position in range(6)] == [
        [], ["a"], ["a", "b"], ["a", "b"], ["b"], ["b", "c"],
    ]  # fmt: skip


def test_agents_keep_their_thoughts_apart() -> None:
    projection = folded(ponder("a", agent="ada"), ponder("b", agent="bo"), ponder("c", agent="bo", agent_id="ada"))
    assert [waiting(projection, agent=agent) for agent in AGENTS] == [["a"], ["b"], []]
    assert waiting(projection, ThoughtScope("ada"), agent="bo") == ["c"]
    assert waiting(projection, ThoughtScope("ada"), agent="ada") == []


def test_another_agent_may_adopt_a_thought_once_and_it_is_no_longer_pending() -> None:
    assert waiting(folded(ponder("a"), record("d", 0.5, agent="bo"), adopt("a", "d", agent="bo"))) == []


@pytest.mark.parametrize(
    ("scope", "key", "reached"),
    [
        (OPEN, "rpc:ada", ["none"]),
        (ThoughtScope("A"), "agent:A", ["agent"]),
        (ThoughtScope(None, "D"), "decision:D", ["decision"]),
        (ThoughtScope("A", "D"), "agent:A:decision:D", ["agent", "decision", "both"]),
        (ThoughtScope("A", "E"), "agent:A:decision:E", ["agent"]),
        (ThoughtScope("B"), "agent:B", []),
        (ThoughtScope("A:decision:D"), "agent:A:decision:D", []),
    ],
)
def test_a_scope_has_a_key_and_a_reach(scope: ThoughtScope, key: str, reached: list[str]) -> None:
    projection = folded(
        ponder("none"),
        ponder("agent", agent_id="A"),
        ponder("decision", decision_id="D"),
        ponder("both", agent_id="A", decision_id="D"),
    )
    assert scope.key("ada") == key
    assert waiting(projection, scope) == reached


@pytest.mark.parametrize(
    ("age", "waits"),
    [
        (timedelta(0), True),
        (THOUGHT_AGE_MAX - timedelta(microseconds=1), True),
        (THOUGHT_AGE_MAX, False),
        (-THOUGHT_AGE_MAX + SECOND, True),
        (-THOUGHT_AGE_MAX, False),
    ],
)
def test_a_thought_waits_for_300_seconds(age: timedelta, waits: bool) -> None:
    assert waiting(folded(ponder("a", time=DAWN)), now=DAWN + age) == (["a"] if waits else [])


def test_a_thought_dated_into_another_age_moves_no_other() -> None:
    far = DAWN.replace(year=9998)
    projection = folded(ponder("a", time=DAWN), ponder("far", time=far), ponder("b", time=DAWN))
    assert waiting(projection) == ["a", "b"]
    assert waiting(projection, now=far) == ["far"]


def test_the_oldest_of_an_agents_thoughts_make_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thoughts_module, "THOUGHTS_MAX", 3)
    projection = folded(
        ponder("other", agent="bo"), *(ponder(f"t{n}", time=DAWN) for n in range(5)), adopt("t0", "d"), adopt("t3", "d")
    )
    assert waiting(projection) == ["t2", "t4"]
    assert waiting(projection, agent="bo") == ["other"]
    assert [thought.thought_id for _, thought in projection.adopted()] == ["t3"]


@pytest.mark.slow
@given(drafts=histories(), now=st.sampled_from([moment for moment in MOMENTS if moment is not None] + [DAWN]))
@settings(max_examples=200, deadline=None)
def test_what_waits_is_what_a_plain_list_says(drafts: list[Draft], now: datetime) -> None:
    events = events_of(drafts)
    projection = ThoughtIndex()
    projection.fold(events)
    taken = {event.data.thought_id for event in events if isinstance(event.data, ThoughtAdopted)}
    young = [
        event
        for event in events
        if isinstance(event.data, ThoughtRecorded)
        and event.data.thought_id not in taken
        and abs((now - event.moment).total_seconds()) < 300
    ]
    for agent in AGENTS:
        own = [event.subject for event in young if event.agent == agent]
        assert [thought.subject for thought in projection.pending(source_of(agent), None, now)] == own
    assert {thought.subject for _, thought in projection.all_pending(now)} == {event.subject for event in young}
    assert {thought.thought_id for _, thought in projection.adopted()} == taken
    kept = projection.summary()["by_agent"]
    assert isinstance(kept, dict)
    assert sum(one["taken_up"] for one in kept.values()) == len(taken)
