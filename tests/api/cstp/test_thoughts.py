"""Thoughts: early ones wait for their decision, later ones are added to it. Each decision takes its own, once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import (
    decide,
    steps,
    stream,
    texts,
    think,
)
from tests.support.server import serving


@pytest.mark.parametrize(
    ("scope", "key", "named", "unknown"),
    [
        ({"agentId": "A", "decisionId": "D"}, "agent:A:decision:D", "A", ["D"]),
        ({"agent_id": "A", "decision_id": "D"}, "agent:A:decision:D", "A", ["D"]),
        ({"agentId": "A"}, "agent:A", "A", None),
        ({"decision_id": "D"}, "decision:D", "anonymous", ["D"]),
        ({"agentId": "", "decisionId": None}, "rpc:anonymous", "anonymous", None),
        ({"id": "D", "agentId": "A"}, "agent:A", "A", None),
        ({"id": ""}, "rpc:anonymous", "anonymous", None),
    ],
)
def test_the_answer_before_a_decision(
    cstp: Caller, scope: dict[str, str], key: str, named: str, unknown: list[str] | None
) -> None:
    answer = cstp.result("recordThought", {"text": "hmm", **scope})
    assert list(answer)[:5] == ["success", "mode", "tracker_key", "agent_id", "thought_id"]
    assert answer.get("unknown") == unknown
    assert (answer["success"], answer["mode"], answer["tracker_key"]) == (True, "pre-decision", key)
    assert answer["agent_id"] == named
    (event,) = stream(cstp, f"thought/{answer['thought_id']}")
    assert (event["type"], event["data"]["text"]) == ("thought.recorded.v1", "hmm")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Missing required parameter: text"),
        ({"text": ""}, "Missing required parameter: text"),
        ({"text": None, "agentId": "A"}, "Missing required parameter: text"),
        ({"id": "D"}, "Missing required parameter: text"),
        ({"text": 5}, "Validation failed: text: must be a text"),
        ({"text": "t", "agentId": 5}, "Validation failed: agentId: must be a text of 1..256 characters, got number"),
        ({"text": "t", "decision_id": "d" * 257}, "Validation failed: decision_id: must be a text of 1..256"),
        ({"text": "t", "id": 5}, "Validation failed: id: must be a text"),
        ({"text": "t", "idempotencyKey": "a\nb"}, "Validation failed: idempotencyKey: must be 1..128 printable"),
        ({"text": "t", "id": "no-such-decision"}, "Decision not found: no-such-decision"),
        ({"text": "t", "id": "../x"}, "Decision not found: ../x"),
        ({"text": "t", "id": "d" * 65}, "Decision not found: ddd"),
        ({"text": "x" * 70_000}, "The event is 70,"),
    ],
)
def test_what_is_wrong_with_a_thought_is_reported_and_nothing_written(
    cstp: Caller, given: dict[str, object], message: str
) -> None:
    before = cstp.http.get("/readyz").json()["head"]
    code, said = cstp.error("recordThought", given)
    assert code == -32602
    assert said.startswith(message)
    assert cstp.http.get("/readyz").json()["head"] == before


def test_the_next_decision_takes_up_what_was_thought(cstp: Caller, agent: str) -> None:
    thoughts = [think(cstp, text, agentId=agent) for text in ("first", "second", "third")]
    answer = decide(cstp, agentId=agent)
    assert (answer["deliberation_auto"], answer["deliberation_inputs_count"]) == (True, 3)
    found = steps(cstp, answer["id"])
    assert [(step["step"], step["thought"], step["type"]) for step in found] == [
        (1, "first", "reasoning"), (2, "second", "reasoning"), (3, "third", "reasoning"),
    ]  # fmt: skip
    times = [datetime.fromisoformat(step["timestamp"]) for step in found]
    assert times == sorted(times)
    duration_ms = cstp.decision(answer["id"])["deliberation"]["total_duration_ms"]
    assert duration_ms == round((times[-1] - times[0]) / timedelta(milliseconds=1))
    for thought in thoughts:
        recorded, adopted = stream(cstp, f"thought/{thought}")
        assert adopted["type"] == "thought.adopted.v1"
        assert adopted["data"] == {"thought_id": thought, "decision_id": answer["id"]}
        assert adopted["position"] > recorded["position"]


def test_a_thought_is_taken_up_once(cstp: Caller, agent: str) -> None:
    think(cstp, "once", agentId=agent)
    first, second = decide(cstp, agentId=agent), decide(cstp, agentId=agent)
    assert (texts(cstp, first), texts(cstp, second)) == (["once"], [])
    assert "deliberation_auto" not in second
    assert "deliberation_inputs_count" not in second
    assert "deliberation" not in cstp.decision(second["id"])


def test_what_the_client_deliberated_itself_comes_first(cstp: Caller, agent: str) -> None:
    think(cstp, "mine", agent_id=agent)
    given = {"inputs": [{"id": "a", "text": "log"}], "steps": [{"thought": "s"}, {"step": 7, "thought": "t"}]}
    answer = decide(cstp, agentId=agent, deliberation=given)
    assert answer["deliberation_inputs_count"] == 2
    found = cstp.decision(answer["id"])["deliberation"]
    assert found["inputs"] == given["inputs"]
    assert found["steps"][:2] == given["steps"]
    assert (found["steps"][2]["step"], found["steps"][2]["thought"]) == (8, "mine")
    assert "total_duration_ms" not in found


def test_a_step_numbered_beyond_reason_leaves_the_rest_countable(cstp: Caller, agent: str) -> None:
    think(cstp, "mine", agentId=agent)
    answer = decide(cstp, agentId=agent, deliberation={"steps": [{"step": 2**53 - 1, "thought": "t"}]})
    assert [step["step"] for step in steps(cstp, answer["id"])] == [2**53 - 1, 2]


def test_thoughts_count_towards_quality(cstp: Caller, agent: str) -> None:
    before = decide(cstp, agentId=agent)["quality"]["score"]
    think(cstp, "t", agentId=agent)
    assert decide(cstp, agentId=agent)["quality"]["score"] == pytest.approx(before + 0.15)


def test_a_decision_takes_up_what_its_scope_reaches(cstp: Caller, agent: str) -> None:
    d = f"{agent}-d"
    for text, scope in (
        ("both", {"agentId": agent, "decisionId": d}),
        ("agent", {"agentId": agent}),
        ("decision", {"decisionId": d}),
        ("other decision", {"agentId": agent, "decisionId": "other"}),
        ("other agent", {"agentId": f"{agent}-2", "decisionId": d}),
    ):
        think(cstp, text, **scope)
    assert texts(cstp, decide(cstp, agentId=f"{agent}-3")) == []
    answer = decide(cstp, agentId=agent, decisionId=d)
    assert answer["id"] != d, "decisionId scopes thoughts and names no decision"
    assert texts(cstp, answer) == ["both", "agent", "decision"]
    assert texts(cstp, decide(cstp, agentId=agent, decisionId="other")) == ["other decision"]
    assert texts(cstp, decide(cstp, agent_id=f"{agent}-2", decision_id=d)) == ["other agent"]


@pytest.mark.slow
def test_without_a_scope_the_speakers_own_thoughts_are_taken_up(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, Caller(url) as cstp:
        think(cstp, "scoped", agentId="A")
        think(cstp, "bare")
        assert texts(cstp, decide(cstp)) == ["bare"]


def test_a_thought_of_300_seconds_ago_is_left(cstp: Caller, agent: str) -> None:
    def event(text: str, age_s: float) -> dict[str, object]:
        time = (datetime.now(UTC) - timedelta(seconds=age_s)).isoformat()
        return {"type": "thought.recorded.v1", "time": time, "data": {"text": text, "agent_id": agent}}

    cstp.events([event("old", 301), event("young", 240), event("far ahead", -3600)])
    assert texts(cstp, decide(cstp, agentId=agent)) == ["young"]


def test_row_15_a_failed_validation_takes_up_nothing(cstp: Caller, agent: str) -> None:
    think(cstp, "kept", agentId=agent)
    too_long = {"decision": "x" * 70_000}
    for wrong in ({"confidence": 2}, {"decision": ""}, {"stakes": "huge"}, {"reviewIn": "abc"}, too_long):
        code, _ = cstp.error("recordDecision", {"decision": "x", "agentId": agent, **wrong})
        assert code == -32602
    assert texts(cstp, decide(cstp, agentId=agent)) == ["kept"]


@pytest.mark.parametrize("between", ["nothing", "a thought", "a decision"])
def test_a_retry_with_its_key_gives_the_first_answer_though_its_thoughts_are_taken_up(
    cstp: Caller, agent: str, between: str
) -> None:
    think(cstp, "one", agentId=agent)
    think(cstp, "two", agentId=agent)
    call = {
        "agentId": agent, "idempotencyKey": agent, "reviewIn": "1w", "deliberation": {"steps": [{"thought": "own"}]},
    }  # fmt: skip
    first = decide(cstp, **call)
    if between != "nothing":
        think(cstp, "later", agentId=agent)
    if between == "a decision":
        assert texts(cstp, decide(cstp, agentId=agent)) == ["later"]
    assert decide(cstp, **call) == first
    assert texts(cstp, first) == ["own", "one", "two"]
    if between == "a thought":
        assert texts(cstp, decide(cstp, agentId=agent)) == ["later"], "a retry takes up nothing"


def test_a_retry_of_a_decision_without_thoughts_takes_up_none(cstp: Caller, agent: str) -> None:
    call = {"agentId": agent, "idempotencyKey": agent}
    first = decide(cstp, **call)
    think(cstp, "later", agentId=agent)
    assert decide(cstp, **call) == first
    assert texts(cstp, decide(cstp, agentId=agent)) == ["later"]


@pytest.mark.parametrize(
    "other", [{"decision": "Use two"}, {"deliberation": {"steps": [{"thought": "own"}]}}, {"confidence": 0.5}]
)
def test_a_key_with_other_content_is_a_conflict_and_takes_up_nothing(
    cstp: Caller, agent: str, other: dict[str, object]
) -> None:
    think(cstp, "one", agentId=agent)
    decide(cstp, agentId=agent, idempotencyKey=agent)
    think(cstp, "two", agentId=agent)
    code, message = cstp.error(
        "recordDecision", {"decision": "Use the queue", "agentId": agent, "idempotencyKey": agent, **other}
    )
    assert code == -32602
    assert "is taken" in message
    assert texts(cstp, decide(cstp, agentId=agent)) == ["two"]


def test_a_key_of_another_kind_of_event_is_a_conflict(cstp: Caller, agent: str) -> None:
    think(cstp, "one", agentId=agent, idempotencyKey=agent)
    code, message = cstp.error("recordDecision", {"decision": "x", "agentId": agent, "idempotencyKey": agent})
    assert (code, "is taken" in message) == (-32602, True)


def test_a_retried_thought_is_recorded_once_also_when_it_was_taken_up(cstp: Caller, agent: str) -> None:
    call = {"text": "once", "agentId": agent, "idempotencyKey": agent}
    first = cstp.result("recordThought", call)
    assert cstp.result("recordThought", call) == first
    assert texts(cstp, decide(cstp, agentId=agent)) == ["once"]
    assert cstp.result("recordThought", call) == first
    assert texts(cstp, decide(cstp, agentId=agent)) == []


def test_what_does_not_fit_into_a_list_waits_on(cstp: Caller, agent: str) -> None:
    cstp.events(
        {"type": "thought.recorded.v1", "data": {"text": f"thought {number}", "agent_id": agent}}
        for number in range(300)
    )
    call = {"agentId": agent, "idempotencyKey": agent, "deliberation": {"steps": [{"thought": "own"}] * 6}}
    first = decide(cstp, **call)
    assert (first["deliberation_inputs_count"], first["thoughts_pending"]) == (250, 50)
    assert texts(cstp, first) == ["own"] * 6 + [f"thought {number}" for number in range(250)]
    assert decide(cstp, **call) == first
    second = decide(cstp, agentId=agent)
    assert "thoughts_pending" not in second
    assert texts(cstp, second) == [f"thought {number}" for number in range(250, 300)]


@pytest.mark.parametrize("text", ["x", '"', "é", "\x01"])
def test_what_does_not_fit_into_a_line_waits_on(cstp: Caller, agent: str, text: str) -> None:
    line_bytes = len(msgspec.json.encode(text)) - 2
    for size in (20_000, 30_000, 25_000, 5_000):
        think(cstp, text * (size // line_bytes), agentId=agent)
    first, second, third = (decide(cstp, agentId=agent) for _ in range(3))
    assert [answer.get("thoughts_pending") for answer in (first, second, third)] == [1, None, None]
    sizes = [[len(said) * line_bytes for said in texts(cstp, answer)] for answer in (first, second, third)]
    assert [[round(size, -3) for size in row] for row in sizes] == [[20_000, 30_000, 5_000], [25_000], []]


def test_a_thought_never_makes_a_decision_too_long(cstp: Caller, agent: str) -> None:
    """Whatever space the decision leaves: thoughts that fit are added, others wait, and the decision is recorded."""
    (short,) = stream(cstp, f"decision/{cstp.record(decision='d', agentId=f'{agent}-500')}")
    around_bytes = len(msgspec.json.encode(short)) - 1
    for slack in (8, 300, 350, 380, 400, 410, 420, 430, 440, 450, 460, 480, 500, 550, 700):
        think(cstp, "t" * 300, agentId=f"{agent}-{slack}")
        answer = decide(cstp, decision="d" * (65_535 - around_bytes - slack), agentId=f"{agent}-{slack}")
        took = answer.get("deliberation_inputs_count", 0)
        assert took + answer.get("thoughts_pending", 0) == 1
        assert 400 <= slack < 500 or took == (slack >= 500)


def test_a_thought_after_the_decision_is_its_next_step(cstp: Caller, agent: str) -> None:
    think(cstp, "before", agentId=agent)
    decision_id = decide(cstp, agentId=agent, deliberation={"steps": [{"thought": "own"}]})["id"]
    numbers = []
    for text in ("after", "and again"):
        answer = cstp.result("recordThought", {"text": text, "id": decision_id})
        assert list(answer) == ["success", "mode", "decision_id", "step_number"]
        assert (answer["mode"], answer["decision_id"]) == ("post-decision", decision_id)
        numbers.append(answer["step_number"])
    assert numbers == [3, 4]
    found = cstp.decision(decision_id)
    assert found["thoughts"] == ["after", "and again"]
    shown = [(step.get("step"), step["thought"]) for step in found["deliberation"]["steps"]]
    assert shown == [(None, "own"), (2, "before"), (3, "after"), (4, "and again")]


def test_a_decision_without_deliberation_gets_one_by_a_thought(cstp: Caller, agent: str) -> None:
    decision_id = cstp.record(agentId=agent)
    assert "deliberation" not in cstp.decision(decision_id)
    key = {"text": "late", "id": decision_id, "idempotencyKey": decision_id}
    first = cstp.result("recordThought", key)
    cstp.result("recordThought", {"text": "later", "id": decision_id})
    assert first["step_number"] == 1
    assert cstp.result("recordThought", key) == first
    (step, _) = cstp.decision(decision_id)["deliberation"]["steps"]
    assert (step["step"], step["thought"], step["type"]) == (1, "late", "reasoning")


@pytest.mark.slow
def test_what_lists_decisions_lists_no_thoughts(tmp_path: Path) -> None:
    with serving(tmp_path / "ledger.db") as url, Caller(url) as cstp:
        think(cstp, "one")
        decision_id = decide(cstp)["id"]
        think(cstp, "two", decisionId=decision_id)
        assert cstp.result("listDecisions")["total"] == 1
        assert cstp.result("getStats")["total"] == 1
        assert cstp.http.get("/decisions").json()["total"] == 1
        assert cstp.error("getDecision", {"id": "thought"}) == (-32602, "Decision not found: thought")
        assert len(cstp.decision(decision_id)["deliberation"]["steps"]) == 1
