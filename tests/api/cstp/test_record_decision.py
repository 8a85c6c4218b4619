"""recordDecision: every parameter, both spellings, what is assumed, what is refused, and retries."""

from datetime import datetime, timedelta

import pytest

from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import stream

CATEGORIES = ("architecture", "process", "integration", "tooling", "security")
STAKES = ("low", "medium", "high", "critical")
REASONS = ("authority", "analogy", "analysis", "pattern", "intuition", "empirical", "elimination", "constraint")
CHECKED = {"query_run": True, "similar_found": 2, "guardrails_checked": True, "guardrails_passed": False}
STATES = ("deliberate", "reactive", "exploratory", "habitual", "pressured")

FULL = {
    "decision": "Write everything through one queue",
    "confidence": 0.8,
    "category": "architecture",
    "stakes": "high",
    "context": "Two writers lock each other out",
    "reasons": [{"type": "empirical", "text": "measured", "strength": 0.9}, {"type": "pattern", "text": "known"}],
    "tags": ["queue", "writes"],
    "pattern": "Serialise at the narrowest place",
    "kpi_indicators": ["p99"],
    "trace": [{"step": 1, "thought": "t", "output": "o", "confidence": 0.5, "tags": ["x"]}],
    "project": "tally",
    "feature": "writes",
    "pr": 12,
    "file": "ledger/sqlite/log.py",
    "line": 7,
    "commit": "abc123",
}


def test_the_answer(cstp: Caller) -> None:
    result = cstp.result("recordDecision", {"decision": "Use the queue"})
    assert list(result) == ["success", "id", "path", "indexed", "timestamp", "quality"]
    assert (result["success"], result["indexed"]) == (True, True)
    assert len(result["id"]) == 8
    assert result["id"].isalnum()
    assert result["path"] == f"decision/{result['id']}"
    assert datetime.fromisoformat(result["timestamp"]).utcoffset() == timedelta(0)
    assert cstp.decision(result["id"])["created_at"] == result["timestamp"]


@pytest.mark.trial("N10")
def test_the_protocol_assumes_category_and_stakes_which_are_not_stored(cstp: Caller) -> None:
    decision_id = cstp.record(reasons=[{"text": "why"}, {"text": "so", "strength": None}])
    found = cstp.decision(decision_id)
    assert (found["category"], found["stakes"], found["status"]) == ("process", "medium", "pending")
    assert found["unstated"] == ["category", "stakes"]
    assert found["reasons"] == [{"type": "analysis", "text": "why"}, {"type": "analysis", "text": "so"}]
    (event,) = stream(cstp, f"decision/{decision_id}")
    assert event["data"].keys() == {"decision_id", "decision", "reasons"}
    assert cstp.decision(cstp.record(category="security"))["unstated"] == ["stakes"]


def test_row_12_everything_recorded_is_shown(cstp: Caller) -> None:
    found = cstp.decision(cstp.record(FULL))
    assert {name: found[name] for name in FULL} == FULL
    assert "unstated" not in found


@pytest.mark.parametrize("name", ["mentalState", "mental_state"])
@pytest.mark.parametrize("state", STATES)
def test_mental_state(cstp: Caller, name: str, state: str) -> None:
    assert cstp.decision(cstp.record({name: state}))["mental_state"] == state


@pytest.mark.parametrize(
    "given",
    [
        {"preDecision": {"queryRun": True, "similarFound": 2, "guardrailsChecked": True, "guardrailsPassed": False}},
        {
            "pre_decision": {
                "query_run": True,
                "similar_found": 2,
                "guardrails_checked": True,
                "guardrails_passed": False,
            }
        },
    ],
)
def test_pre_decision(cstp: Caller, given: dict[str, object]) -> None:
    assert cstp.decision(cstp.record(given))["pre_decision"] == CHECKED


@pytest.mark.parametrize("name", ["kpiIndicators", "kpi_indicators"])
def test_kpi_indicators(cstp: Caller, name: str) -> None:
    assert cstp.decision(cstp.record({name: ["p99"]}))["kpi_indicators"] == ["p99"]


@pytest.mark.parametrize(
    "step",
    [
        {"step": 1, "thought": "t", "inputs_used": ["a"], "duration_ms": 5, "type": "weigh", "conclusion": True},
        {"step": 1, "thought": "t", "inputsUsed": ["a"], "durationMs": 5, "type": "weigh", "conclusion": True},
    ],
)
@pytest.mark.parametrize("whole", [("totalDurationMs", "convergencePoint"), ("total_duration_ms", "convergence_point")])
def test_deliberation(cstp: Caller, step: dict[str, object], whole: tuple[str, str]) -> None:
    given = {"inputs": [{"id": "a", "text": "log", "source": "ops"}], "steps": [step], whole[0]: 9, whole[1]: 1}
    assert cstp.decision(cstp.record(deliberation=given))["deliberation"] == {
        "inputs": [{"id": "a", "text": "log", "source": "ops"}],
        "steps": [
            {"step": 1, "thought": "t", "inputs_used": ["a"], "duration_ms": 5, "type": "weigh", "conclusion": True}
        ],
        "total_duration_ms": 9,
        "convergence_point": 1,
    }


@pytest.mark.parametrize("name", ["function", "purpose"])
def test_bridge(cstp: Caller, name: str) -> None:
    lists = {"tolerance": ["a"], "enforcement": ["b"], "prevention": ["c"]}
    found = cstp.decision(cstp.record(bridge={"structure": "s", name: "f", **lists}))
    assert found["bridge"] == {"structure": "s", "function": "f", **lists}


def test_project_context_stands_behind_what_stands_beside_it(cstp: Caller) -> None:
    found = cstp.decision(cstp.record(project="near", project_context={"project": "far", "feature": "f", "pr": 3}))
    assert (found["project"], found["feature"], found["pr"]) == ("near", "f", 3)


@pytest.mark.parametrize("name", ["reviewIn", "review_in"])
@pytest.mark.parametrize(("span", "days"), [("7d", 7), ("2w", 14), ("1m", 30)])
def test_review_in(cstp: Caller, name: str, span: str, days: int) -> None:
    found = cstp.decision(cstp.record({name: span}))
    due = datetime.fromisoformat(found["review_due"])
    assert due - datetime.fromisoformat(found["created_at"]) == timedelta(days=days)
    assert found["review_by"] == due.date().isoformat()


@pytest.mark.parametrize("span", ["7y", "abc", "d", "-1d", "1.5d", "7 d", "99999d", 7])
def test_review_in_of_another_unit_is_refused_by_name(cstp: Caller, span: object) -> None:
    code, message = cstp.error("recordDecision", {"decision": "x", "reviewIn": span})
    assert code == -32602
    assert "reviewIn: must be " in message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Validation failed: decision: required field"),
        ({"decision": ""}, "Validation failed: decision: required field"),
        ({"decision": None}, "Validation failed: decision: required field"),
        ({"confidence": 1.1}, "confidence: must be between 0.0 and 1.0"),
        ({"confidence": -0.1}, "confidence: must be between 0.0 and 1.0"),
        ({"confidence": "high"}, "confidence: must be between 0.0 and 1.0, got string"),
        ({"confidence": True}, "confidence: must be between 0.0 and 1.0, got boolean"),
        ({"category": "cooking"}, "category: must be one of {"),
        ({"stakes": "huge"}, "stakes: must be one of {"),
        ({"mentalState": "calm"}, "mentalState: must be one of {"),
        ({"mental_state": "calm"}, "mental_state: must be one of {"),
        ({"reasons": [{"text": "a"}, {"type": "hunch", "text": "b"}]}, "reasons[1].type: must be one of {"),
        ({"reasons": [{"type": "analysis"}]}, "reasons[0].text: required"),
        ({"reasons": [{"text": ""}]}, "reasons[0].text: required"),
        ({"reasons": [{"text": "a", "strength": 2}]}, "reasons[0].strength: must be between 0.0 and 1.0"),
        ({"reasons": "because"}, "reasons: must be a list of at most 256 objects, got string"),
        ({"reasons": ["because"]}, "reasons[0]: must be an object, got string"),
        ({"tags": "a"}, "tags: must be a list"),
        ({"tags": [1]}, "tags: must be a list"),
        ({"pr": "twelve"}, "pr: must be a whole number"),
        ({"line": 1.5}, "line: must be a whole number"),
        ({"project": 5}, "project: must be a text"),
        ({"decision": 5}, "decision: must be a text"),
        ({"deliberation": {"steps": [{"step": 1}]}}, "deliberation.steps[0].thought: required"),
        ({"bridge": {"tolerance": "none"}}, "bridge.tolerance: must be a list"),
        ({"idempotencyKey": "k" * 129}, "idempotencyKey: must be a text of 1..128 characters"),
        ({"idempotencyKey": "a\nb"}, "idempotencyKey: must be 1..128 printable characters"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(cstp: Caller, given: dict[str, object], message: str) -> None:
    whole = given if "decision" in given or not given else {"decision": "x", **given}
    code, said = cstp.error("recordDecision", whole)
    assert code == -32602
    assert said.startswith("Validation failed: ")
    assert message in said


def test_all_that_is_wrong_is_reported_at_once_in_the_order_of_the_contract(cstp: Caller) -> None:
    _, message = cstp.error("recordDecision", {"stakes": "huge", "confidence": 2, "category": "cooking"})
    fields = [part.partition(":")[0] for part in message.removeprefix("Validation failed: ").split("; ")]
    assert fields == ["decision", "confidence", "category", "stakes"]


@pytest.mark.parametrize(("name", "words"), [("category", CATEGORIES), ("stakes", STAKES)])
def test_every_word_of_an_enum_is_taken(cstp: Caller, name: str, words: tuple[str, ...]) -> None:
    for word in words:
        assert cstp.decision(cstp.record({name: word}))[name] == word


def test_every_type_of_reason_is_taken(cstp: Caller) -> None:
    found = cstp.decision(cstp.record(reasons=[{"type": word, "text": "t"} for word in REASONS]))
    assert [reason["type"] for reason in found["reasons"]] == list(REASONS)


def test_unknown_parameters_are_passed_over_and_null_is_absent(cstp: Caller) -> None:
    nulls = dict.fromkeys(("confidence", "category", "tags", "reasons", "bridge", "deliberation", "project", "pr"))
    found = cstp.decision(
        cstp.record(nulls, agentId="x", decisionId="y", shoe_size=44, reasons=[{"text": "t", "k": 1}])
    )
    assert "confidence" not in found
    assert found["tags"] == []


def test_quality_of_everything_is_one(cstp: Caller) -> None:
    more = {"bridge": {"structure": "s"}, "deliberation": {"steps": [{"thought": "t"}]}}
    assert cstp.result("recordDecision", {**FULL, **more})["quality"] == {"score": 1.0, "suggestions": []}


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ({}, 0.0),
        ({"pattern": "p"}, 0.15),
        ({"tags": ["a"]}, 0.15),
        ({"reasons": [{"text": "a"}, {"text": "b"}]}, 0.0),
        ({"reasons": [{"text": "a"}, {"type": "pattern", "text": "b"}]}, 0.15),
        ({"bridge": {"structure": "s"}}, 0.10),
        ({"decision": "d" * 20}, 0.0),
        ({"decision": "d" * 21}, 0.10),
        ({"context": "c" * 10}, 0.0),
        ({"context": "c" * 11}, 0.10),
        ({"project": "p"}, 0.10),
        ({"trace": [{"thought": "t"}]}, 0.10),
        ({"deliberation": {"steps": [{"thought": "t"}]}}, 0.15),
        ({"preDecision": {"queryRun": True}}, 0.05),
    ],
)
def test_quality_weights(cstp: Caller, given: dict[str, object], score: float) -> None:
    quality = cstp.result("recordDecision", {"decision": "x", **given})["quality"]
    assert quality["score"] == score
    assert all(isinstance(suggestion, str) for suggestion in quality["suggestions"])


@pytest.mark.parametrize("name", ["idempotencyKey", "idempotency_key"])
def test_row_17_a_retry_with_its_key_duplicates_nothing(cstp: Caller, project: str, name: str) -> None:
    call = {"decision": "x", "project": project, "reviewIn": "2w", name: f"key of {project}"}
    first, again = cstp.result("recordDecision", call), cstp.result("recordDecision", call)
    assert again == first
    assert cstp.result("listDecisions", {"project": project})["total"] == 1


def test_a_key_with_other_content_is_a_conflict(cstp: Caller, project: str) -> None:
    cstp.record(project=project, idempotencyKey=project, reviewIn="1w")
    for other in ({"reviewIn": "2w"}, {"reviewIn": None}, {"reviewIn": "1w", "confidence": 0.5}):
        params = {"decision": "Use the queue", "project": project, "idempotencyKey": project, **other}
        error = cstp.ask("recordDecision", params)["error"]
        assert (error["code"], error["data"]["type"]) == (-32602, "IdentityConflict"), "it is not a fault of the server"
        assert "is taken" in error["message"]
        assert error["data"]["advice"]
    assert cstp.result("listDecisions", {"project": project})["total"] == 1


def test_row_1_a_confidence_of_zero_stays_zero(cstp: Caller) -> None:
    assert cstp.decision(cstp.record(confidence=0))["confidence"] == 0
    assert cstp.decision(cstp.record(confidence=0.0))["confidence"] == 0


def test_row_1_a_strength_of_zero_stays_zero(cstp: Caller) -> None:
    found = cstp.decision(cstp.record(reasons=[{"text": "t", "strength": 0}]))
    assert found["reasons"][0]["strength"] == 0


@pytest.mark.parametrize("given", [{}, {"confidence": None}])
def test_row_1_a_missing_confidence_is_absent_everywhere(cstp: Caller, project: str, given: dict[str, object]) -> None:
    decision_id = cstp.record(given, project=project)
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success"})
    assert "confidence" not in cstp.decision(decision_id)
    assert "confidence" not in cstp.result("listDecisions", {"project": project})["decisions"][0]
    event = cstp.http.get(f"/streams/decision/{decision_id}").text
    assert "confidence" not in event
    answer = cstp.calibration(project, minDecisions=1)
    assert answer["overall"] is None
    assert "confidenceStats" not in answer


def test_a_line_over_the_limit_is_refused_whole(cstp: Caller) -> None:
    code, message = cstp.error("recordDecision", {"decision": "x" * 70_000})
    assert code == -32602
    assert "65,535" in message


def question_of(cstp: Caller, decision_id: str) -> list[str]:
    """The questions told of a decision, from its stream."""
    events = stream(cstp, f"decision/{decision_id}")
    return [event["data"]["question"] for event in events if event["type"] == "decision.asked.v1"]


def test_a_decision_says_which_question_it_answers(cstp: Caller, project: str) -> None:
    decision_id = cstp.record(project=project, question="Which store?")
    assert len(decision_id) == 8
    assert question_of(cstp, decision_id) == ["Which store?"]
    assert cstp.decision(decision_id)["question"] == "Which store?"
    for without in ({}, {"question": None}, {"question": ""}):
        decision_id = cstp.record(without, project=project)
        assert question_of(cstp, decision_id) == []
        assert "question" not in cstp.decision(decision_id)
    code, message = cstp.error("recordDecision", {"decision": "x", "question": 5})
    assert (code, message) == (-32602, "Validation failed: question: must be a text of 1..256 characters, got number")


@pytest.mark.parametrize("beside", [{}, {"reviewIn": "1w"}, {"agentId": "thinker"}])
def test_a_retry_with_its_question_duplicates_nothing(cstp: Caller, project: str, beside: dict[str, str]) -> None:
    if "agentId" in beside:
        cstp.result("recordThought", {"text": "hmm", **beside})
    call = {"decision": "x", "project": project, "question": "q", "idempotencyKey": project, **beside}
    first, again = cstp.result("recordDecision", call), cstp.result("recordDecision", call)
    assert again == first
    assert question_of(cstp, first["id"]) == ["q"]
    for other in ("r", None):
        code, message = cstp.error("recordDecision", {**call, "question": other})
        assert (code, "is taken" in message) == (-32602, True)
    assert cstp.result("listDecisions", {"project": project})["total"] == 1
    assert question_of(cstp, first["id"]) == ["q"]


@pytest.mark.parametrize("beside", [{}, {"reviewIn": "1w"}])
def test_a_question_that_the_first_post_did_not_report_is_a_conflict(
    cstp: Caller, project: str, beside: dict[str, str]
) -> None:
    call = {"decision": "x", "project": project, "idempotencyKey": project, **beside}
    first = cstp.result("recordDecision", call)
    assert "is taken" in cstp.error("recordDecision", {**call, "question": "q"})[1]
    assert cstp.result("recordDecision", call) == first
    assert question_of(cstp, first["id"]) == []
