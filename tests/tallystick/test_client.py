"""What programs do with a client, against a real server; both kinds of client alike."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import uuid4

import numpy as np
import pytest
from msgspec import UNSET

from tallystick import AsyncClient, Client, Conflict, InvalidArgument, InvalidEvent, InvalidQuery, NotFound, Reason


def test_a_decision_is_recorded_reviewed_and_counted(client: Client, agent: str) -> None:
    recorded = client.record("Cache the catalogue", confidence=0.8, category="architecture")
    assert not recorded.duplicate
    assert recorded.subject == f"decision/{recorded.decision_id}"
    reviewed = client.review(recorded.decision_id, "failure", lessons="Measure first.", affected_kpis={"p95_ms": 12.5})
    assert (reviewed.streamversion, reviewed.position > recorded.position) == (2, True)
    state = client.get_decision(recorded.decision_id)
    assert state.agent == agent
    assert state.decision.confidence == 0.8
    assert state.review is not None
    assert (state.review.outcome, state.review.lessons) == ("failure", "Measure first.")
    assert state.review.affected_kpis == {"p95_ms": 12.5}
    assert [entry.type for entry in state.history] == ["decision.recorded.v1", "decision.reviewed.v1"]
    calibration = client.calibration(min_decisions=1)
    assert calibration.gap == pytest.approx(-0.8)
    assert calibration.overall is not None
    assert calibration.overall.failure == 1
    assert client.calibration().gap is None, "five reviews are needed unless the caller asks otherwise"


def test_every_field_of_a_decision_is_stored(client: Client) -> None:
    due = datetime(2027, 1, 2, 3, 4, tzinfo=UTC)
    recorded = client.record(
        "Split the service",
        decision_id=f"d-{uuid4().hex}",
        confidence=0.6,
        category="architecture",
        stakes="high",
        context="Two teams change it.",
        reasons=[Reason("They wait for each other.", strength=0.9), {"type": "empirical", "text": "So it was before."}],
        tags=["teams", "billing"],
        pattern="Split what changes apart",
        mental_state="deliberate",
        review_by=due,
        kpi_indicators=["lead time"],
        pre_decision={"query_run": True, "similar_found": 2},
        trace=[{"step": 1, "thought": "Look at the changes."}],
        deliberation={"inputs": [{"id": "i1", "text": "The log."}], "steps": [{"step": 1, "thought": "Count them."}]},
        bridge={"structure": "two services", "function": "two teams"},
        project="billing",
        feature="split",
        pr=12,
        file="billing.py",
        line=7,
        commit="abc",
        question="q-1",
        time="2026-02-03T04:05:06Z",
    )
    state = client.get_decision(recorded.decision_id)
    decision = state.decision
    assert state.recorded_at == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (decision.review_by, decision.stakes, decision.pr, decision.line) == (due, "high", 12, 7)
    assert decision.reasons == (
        Reason("They wait for each other.", "analysis", 0.9),
        Reason("So it was before.", "empirical"),
    )
    assert decision.deliberation == {
        "inputs": [{"id": "i1", "text": "The log."}],
        "steps": [{"step": 1, "thought": "Count them."}],
    }
    assert (state.question, decision.tags) == ("q-1", ("teams", "billing"))
    assert (decision.project, decision.feature, decision.file, decision.commit) == (
        "billing",
        "split",
        "billing.py",
        "abc",
    )
    assert (decision.context, decision.pattern, decision.mental_state) == (
        "Two teams change it.", "Split what changes apart", "deliberate",
    )  # fmt: skip
    assert decision.bridge == {"structure": "two services", "function": "two teams"}
    assert (decision.pre_decision, decision.kpi_indicators) == ({"query_run": True, "similar_found": 2}, ("lead time",))
    assert decision.trace == ({"step": 1, "thought": "Look at the changes."},)


def test_an_amendment_changes_what_it_names(client: Client) -> None:
    recorded = client.record("Pin the image", confidence=0.9, tags=["a"], context="before")
    client.amend(recorded.decision_id, confidence=0.7, tags=[], event_id=f"{recorded.decision_id}-amended")
    decision = client.get_decision(recorded.decision_id).decision
    assert (decision.confidence, decision.tags, decision.context) == (0.7, (), "before")
    with pytest.raises(InvalidEvent, match="at least one field"):
        client.amend(recorded.decision_id)


def test_a_retracted_decision_says_why(client: Client) -> None:
    recorded = client.record("Pin the image", confidence=0.9)
    client.review(recorded.decision_id, "success")
    retracted = client.retract(recorded.decision_id, "recorded twice", event_id=f"{recorded.decision_id}-retracted")
    assert client.retract(recorded.decision_id, "recorded twice", event_id=retracted.id).duplicate
    state = client.get_decision(recorded.decision_id)
    assert state.retracted is not None
    assert (state.retracted.by, state.retracted.reason) == (client.agent, "recorded twice")
    assert (client.decisions().total, client.decisions(status="retracted").total) == (0, 1)
    calibration = client.calibration(min_decisions=1)
    assert (calibration.coverage.total, calibration.retracted) == (0, 1)
    with pytest.raises(Conflict, match=r"closed by decision\.retracted\.v1"):
        client.review(recorded.decision_id, "failure")


def test_thoughts_before_a_decision_are_adopted_by_it(client: Client) -> None:
    first = client.think("The cache is cold at night.")
    second = client.think("Warming it costs a minute.", thought_id=f"t-{uuid4().hex}")
    recorded = client.record("Warm it", thoughts=[first, "A minute is little.", second])
    state = client.get_decision(recorded.decision_id)
    assert state.decision.deliberation is not None
    steps = state.decision.deliberation["steps"]
    assert [(step["step"], step["thought"]) for step in steps] == [
        (1, "The cache is cold at night."), (2, "A minute is little."), (3, "Warming it costs a minute."),
    ]  # fmt: skip
    adopted = [event.data["thought_id"] for event in client.events(types=["thought.adopted.v1"], agent=client.agent)]
    assert adopted == [first.thought_id, second.thought_id]


@pytest.mark.trial("N10")
def test_thoughts_that_are_not_given_to_record_wait_and_are_counted(client: Client) -> None:
    first, second = client.think("The cache is cold at night."), client.think("Warming it costs a minute.")
    assert client.record("Warm it").thoughts_pending == 2
    assert client.record("Warm it twice", thoughts=[first]).thoughts_pending == 1
    assert client.record("Never warm it", thoughts=[second]).thoughts_pending == 0


def test_a_thought_on_a_recorded_decision_belongs_to_it(client: Client) -> None:
    recorded = client.record("Retry the upload")
    thought = client.think("Twice is enough.", decision_id=recorded.decision_id)
    assert (thought.thought_id, thought.text) == (None, "Twice is enough.")
    assert client.get_decision(recorded.decision_id).thoughts == ("Twice is enough.",)


def test_decisions_are_listed_by_filter_and_page(client: Client, agent: str, url: str) -> None:
    for number in range(5):
        client.record(f"Choice {number}", category="even" if number % 2 == 0 else "odd", tags=[f"n{number}"])
    with Client(url, agent=f"other-{agent}") as other:
        other.record("Choice of another", category="even")
    page = client.decisions(category="even", order="asc", limit=2)
    assert [state.decision.decision for state in page.decisions] == ["Choice 0", "Choice 2"]
    assert (page.total, page.next) == (3, 2)
    rest = client.decisions(category="even", order="asc", limit=2, offset=page.next)
    assert ([state.decision.decision for state in rest.decisions], rest.next) == (["Choice 4"], None)
    assert client.decisions(tag=["n1", "n3"]).total == 2
    assert client.decisions(search="choice 3").total == 1
    assert client.decisions(since=date(2026, 1, 1), status="pending").total == 5
    assert client.decisions(until=datetime.now(UTC) - timedelta(days=400)).total == 0
    assert client.decisions(agent=None, category="even").total > 3, "None is every agent"
    assert client.decisions(as_of=page.as_of.position).total == 5


def test_figures_come_with_what_was_asked_for(client: Client) -> None:
    for number, outcome in enumerate(("success", "partial", "failure", "success", "abandoned", "success")):
        decision_id = client.record(f"Choice {number}", confidence=0.7, category="c").decision_id
        client.review(decision_id, outcome)  # type: ignore[arg-type]
    plain = client.calibration()
    assert plain.overall is not None
    assert (plain.overall.success, plain.overall.partial, plain.overall.abandoned) == (3, 1, 1)
    assert plain.gap == pytest.approx(3.5 / 6 - 0.7)
    assert plain.overall.gap_interval.low < plain.overall.gap < plain.overall.gap_interval.high
    assert (plain.trend, plain.drift, plain.comparison) == (None, None, None)
    assert (plain.threshold, plain.auc, plain.murphy) == (None, UNSET, ())
    assert plain.overall.reviews_needed_gap == pytest.approx(plain.gap)
    full = client.calibration(
        group_by="category", detail="curves", include=["trend", "drift", "comparison"], threshold=0.5
    )
    assert full.threshold is not None
    assert (full.threshold.acted_on, full.threshold.failure_cost) == (6, 1)
    assert full.auc
    assert (full.auc.auc, len(full.murphy)) == (0.5, 100)
    assert [group.group for group in full.groups] == ["c"]
    assert full.overall is not None
    assert full.overall.corp is not None
    assert full.overall.corp.curve is not None
    assert full.trend is not None
    assert full.trend.windows[0].reviewed == 6
    assert full.drift is not None
    assert full.comparison is not None
    advice = client.advice(category="c", confidence=0.7)
    assert (advice.agent, advice.reviewed) == (client.agent, 6)
    assert advice.confidence[0] < 0.7 < advice.confidence[1]
    assert "n=6" in advice.message


def test_events_of_any_type_are_appended_all_or_none(client: Client) -> None:
    model = f"model-{uuid4().hex[:8]}"
    result = client.append([
        {"type": "model.registered.v1", "data": {"key": model}},
        {"type": "model.aliased.v1", "data": {"key": model, "alias": f"{model}-x"}},
    ])  # fmt: skip
    assert (result.count, result.duplicates, result.last - result.first) == (2, 0, 1)
    with pytest.raises(InvalidEvent) as refused:
        client.append([
            {"type": "decision.recorded.v1", "data": {"decision": "Fine"}},
            {"type": "decision.recorded.v1", "data": {"decision": "Not fine", "confidence": 2}},
        ])  # fmt: skip
    assert (refused.value.index, refused.value.field) == (1, "data.confidence")
    assert client.decisions().total == 0
    with pytest.raises(InvalidArgument):
        client.append([])


def test_events_are_read_over_pages_in_both_orders(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallystick.event_pages.PAGE_EVENTS", 3)
    ids = [client.record(f"Choice {number}").decision_id for number in range(8)]
    own = {"types": ["decision.recorded.v1"], "agent": client.agent}
    read = list(client.events(**own))  # type: ignore[arg-type]
    assert [event.data["decision_id"] for event in read] == ids
    assert {event.agent for event in read} == {client.agent}
    assert [event.data["decision_id"] for event in client.events(order="desc", agent=client.agent)] == ids[::-1]
    assert [event.position for event in client.events(limit=4, agent=client.agent)] == [e.position for e in read[:4]]
    assert list(client.events(limit=0)) == []
    assert [event.subject for event in client.events(subjects=[f"decision/{ids[2]}", f"decision/{ids[5]}"])] == [
        f"decision/{ids[2]}", f"decision/{ids[5]}",
    ]  # fmt: skip
    later = list(client.events(after=read[5].position, agent=client.agent))
    assert [event.data["decision_id"] for event in later] == ids[6:]


@pytest.mark.slow
def test_a_receipt_proves_an_event(client: Client) -> None:
    position = client.record("Ship it").position
    assert client.receipt(position).startswith("c2sp.org/tlog-proof@v1\n")
    with pytest.raises(NotFound):
        client.receipt(10**9)


def test_numbers_of_other_libraries_are_plain_numbers(client: Client) -> None:
    recorded = client.record("Use numpy", confidence=np.float32(0.5), pr=np.int64(7))  # type: ignore[arg-type]
    decision = client.get_decision(recorded.decision_id).decision
    assert (decision.confidence, decision.pr) == (0.5, 7)


@pytest.mark.trial("P19")
@pytest.mark.parametrize("confidence", [Decimal("0.8"), Fraction(4, 5), np.float64(0.8)])
def test_every_number_is_sent_as_a_number(client: Client, confidence: object) -> None:
    recorded = client.record("x", confidence=confidence)  # type: ignore[arg-type]
    assert client.get_decision(recorded.decision_id).decision.confidence == 0.8
    with pytest.raises(InvalidArgument, match="is not a number"):
        client.record("x", confidence=Decimal("NaN"))  # type: ignore[arg-type]


def test_what_json_cannot_write_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.record("Divide by zero", confidence=float("nan"))
    assert refused.value.field == "data.confidence"
    with pytest.raises(InvalidArgument, match="half of a surrogate pair"):
        client.record("Half a character: \ud800")
    with pytest.raises(InvalidArgument, match="object"):
        client.record("No value", context=object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="affected_kpis"):
        client.review("any", "success", affected_kpis={"p95": float("inf")})
    assert client.decisions().total == 0


def test_a_wrong_parameter_is_named(client: Client) -> None:
    with pytest.raises(InvalidQuery) as refused:
        client.calibration(stakes="enormous")  # type: ignore[arg-type]
    assert refused.value.field == "stakes"
    with pytest.raises(NotFound):
        client.get_decision("no such?decision")


@pytest.mark.slow
def test_the_asynchronous_client_does_the_same(url: str, agent: str) -> None:
    async def program() -> None:
        async with AsyncClient(url, agent=agent) as client:
            thought = await client.think("First.")
            recorded = await client.record("Decide", confidence=0.9, thoughts=[thought])
            await client.amend(recorded.decision_id, context="Later.")
            await client.review(recorded.decision_id, "success")
            twice = await client.record("Decide", confidence=0.9)
            assert (await client.retract(twice.decision_id, "twice")).streamversion == 2
            state = await client.get_decision(recorded.decision_id)
            assert (state.decision.context, state.review is not None) == ("Later.", True)
            assert (await client.decisions()).total == 1
            assert (await client.calibration(min_decisions=1)).gap == pytest.approx(0.1)
            assert (await client.advice()).agent == agent
            own = [event.type async for event in client.events(agent=agent)]
            assert own == [
                "thought.recorded.v1", "decision.recorded.v1", "thought.adopted.v1", "decision.amended.v1",
                "decision.reviewed.v1", "decision.recorded.v1", "decision.retracted.v1",
            ]  # fmt: skip
            assert (await client.append([{"type": "decision.recorded.v1", "data": {"decision": "x"}}])).count == 1
            assert (await client.receipt(recorded.position)).startswith("c2sp.org")
            many = [client.record(f"Choice {number}") for number in range(20)]
            assert len({event.position for event in await asyncio.gather(*many)}) == 20

    asyncio.run(program())


def test_settings_come_from_the_environment(url: str, agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALLYSTICK_URL", f"{url}/")
    monkeypatch.setenv("TALLYSTICK_AGENT", agent)
    with Client() as client:
        client.record("Read the environment")
        assert client.decisions().decisions[0].agent == agent
        assert agent in repr(client)


def test_without_an_agent_the_figures_are_those_of_who_records(url: str) -> None:
    with Client(url) as client:
        before = client.decisions().total
        client.record("Say no name")
        page = client.decisions()
        assert page.total == before + 1
        assert {state.agent for state in page.decisions} == {"anonymous"}


@pytest.mark.parametrize(
    "wrong", ["127.0.0.1:8321", "ftp://host", "http://", "http://user:secret@host", "http://host:port", "http://h?a=b"]
)
def test_an_address_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Client(wrong)
    assert refused.value.field == "url"
    assert "secret" not in str(refused.value)


def test_a_token_is_never_shown() -> None:
    with pytest.raises(InvalidArgument) as refused:
        Client(token="tally_secret\nx")
    assert "secret" not in str(refused.value)
    assert "tally_secret" not in repr(Client(token="tally_secret"))


def test_a_closed_client_sends_nothing(url: str) -> None:
    client = Client(url)
    client.close()
    client.close()
    with pytest.raises(Exception, match="closed"):
        client.record("Too late")


def test_decisions_are_linked_and_unknown_ones_named(client: Client, agent: str) -> None:
    old, new = client.record("Poll").decision_id, client.record("Subscribe").decision_id
    linked = client.link(new, old, "supersedes", weight=0.5, context="Polling was slow", event_id=f"{agent}-link")
    assert (linked.source_id, linked.target_id, linked.duplicate, linked.unknown) == (new, old, False, ())
    again = client.link(new, old, "supersedes", weight=0.5, context="Polling was slow", event_id=f"{agent}-link")
    assert (again.position, again.link_id, again.duplicate) == (linked.position, linked.link_id, True)
    (event,) = client.events(types=["decision.linked.v1"], agent=agent)
    assert event.data == {
        "link_id": linked.link_id, "source_id": new, "target_id": old, "edge_type": "supersedes", "weight": 0.5,
        "context": "Polling was slow",
    }  # fmt: skip
    assert client.link(new, "not-here", "relates_to").unknown == ("not-here",)
    with pytest.raises(InvalidEvent, match="different decisions"):
        client.link(new, new, "relates_to")
    with pytest.raises(InvalidEvent, match="weight"):
        client.link(new, old, "relates_to", weight=2.0)
    with pytest.raises(Conflict):
        client.link(old, new, "depends_on", event_id=f"{agent}-link")


def test_the_asynchronous_client_links_alike(url: str, agent: str) -> None:
    async def link() -> tuple[str, str]:
        async with AsyncClient(url, agent=agent) as client:
            made = await client.record("Poll")
            linked = await client.link(made.decision_id, "elsewhere", "depends_on")
            return linked.source_id, linked.unknown[0]

    source, unknown = asyncio.run(link())
    assert (bool(source), unknown) == (True, "elsewhere")
