"""reviewDecision and updateDecision: outcomes, amendments, and what neither can do to the record."""

import pytest

from tests.api.cstp.client import Caller, recorded

OUTCOMES = ("success", "partial", "failure", "abandoned")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_answer_to_a_review(cstp: Caller, outcome: str) -> None:
    decision_id = cstp.record()
    result = cstp.result("reviewDecision", {"id": decision_id, "outcome": outcome})
    found = cstp.decision(decision_id)
    assert result == {
        "success": True,
        "id": decision_id,
        "path": f"decision/{decision_id}",
        "status": "reviewed",
        "reviewedAt": found["reviewed_at"],
        "reindexed": True,
        "compactionLevel": "full",
    }
    assert (found["status"], found["outcome"], found["reviewed_by"]) == ("reviewed", outcome, "anonymous")


@pytest.mark.parametrize("name", ["id", "decision_id", "decisionId"])
@pytest.mark.parametrize("spelled", [("actualResult", "affectedKpis"), ("actual_result", "affected_kpis")])
def test_every_parameter_of_a_review(cstp: Caller, name: str, spelled: tuple[str, str]) -> None:
    decision_id = cstp.record()
    reported = {spelled[0]: "it held", "lessons": "measure", "notes": "n", spelled[1]: {"p99_ms": -4.5, "newUsers": 2}}
    cstp.result("reviewDecision", {name: decision_id, "outcome": "success", **reported})
    found = cstp.decision(decision_id)
    assert (found["actual_result"], found["lessons"], found["review_notes"]) == ("it held", "measure", "n")
    assert found["affected_kpis"] == {"p99_ms": -4.5, "newUsers": 2}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Validation failed: id: required field; outcome: must be one of {"),
        ({"outcome": "great"}, "Validation failed: id: required field; outcome: must be one of {"),
        ({"id": "abc"}, "Validation failed: outcome: must be one of {"),
        ({"id": 5, "outcome": "success"}, "Validation failed: id: must be a text, got number"),
        ({"id": "a", "outcome": 1}, "Validation failed: outcome: must be one of {"),
        ({"id": "a", "outcome": "success", "lessons": 1}, "Validation failed: lessons: must be a text, got number"),
        (
            {"id": "a", "outcome": "success", "affectedKpis": {"a": "b"}},
            "Validation failed: affectedKpis: must be an obj",
        ),
    ],
)
def test_what_is_wrong_with_a_review_is_named(cstp: Caller, params: dict[str, object], message: str) -> None:
    code, said = cstp.error("reviewDecision", params)
    assert code == -32602
    assert said.startswith(message)


def test_a_review_of_an_unknown_decision_is_refused(cstp: Caller) -> None:
    decision_id = cstp.record()
    for unknown in ("nosuchid", "../x", "x" * 65, "ünï"):
        reply = cstp.ask("reviewDecision", {"id": unknown, "outcome": "success"})
        assert reply["error"]["code"] == -32603
        assert reply["error"]["message"] == f"Decision not found: {unknown}"
        assert reply["error"]["data"]["type"] == "NotFound"
    assert cstp.decision(decision_id)["status"] == "pending"


def test_row_3_a_second_review_supersedes_and_loses_nothing(cstp: Caller) -> None:
    decision_id = cstp.record()
    first = {"outcome": "success", "lessons": "measure", "actualResult": "it held"}
    cstp.result("reviewDecision", {"id": decision_id, **first})
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "failure", "notes": "it did not"})
    found = cstp.decision(decision_id)
    assert (found["outcome"], found["lessons"], found["actual_result"]) == ("failure", "measure", "it held")
    assert [review["outcome"] for review in found["reviews"]] == ["success", "failure"]
    assert found["reviews"][0]["lessons"] == "measure"
    assert "lessons" not in found["reviews"][1]
    assert found["reviews"][1]["reviewed_at"] == found["reviewed_at"]


def test_row_3_a_list_keeps_what_was_learned_too(cstp: Caller, project: str) -> None:
    decision_id = cstp.record(project=project)
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "success", "lessons": "measure"})
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "failure"})
    (row,) = cstp.result("listDecisions", {"project": project})["decisions"]
    assert (row["outcome"], row["lessons"]) == ("failure", "measure")


def test_a_retried_review_with_its_key_is_one_review(cstp: Caller) -> None:
    decision_id = cstp.record()
    call = {"id": decision_id, "outcome": "success", "idempotencyKey": f"review {decision_id}"}
    assert cstp.result("reviewDecision", call) == cstp.result("reviewDecision", call)
    assert len(cstp.decision(decision_id)["reviews"]) == 1


def test_the_answer_to_an_update(cstp: Caller) -> None:
    decision_id = cstp.record(confidence=0.5, tags=["a"])
    updates = {
        "decision": "Use two queues",
        "confidence": 0,
        "context": "c",
        "reasons": [{"text": "t"}],
        "tags": ["b"],
        "pattern": "p",
        "bridge": {"purpose": "f"},
    }
    result = cstp.result("updateDecision", {"decision_id": decision_id, "updates": updates})
    assert (result["success"], result["id"], result["indexed"]) == (True, decision_id, True)
    assert sorted(result["updated_fields"]) == sorted(updates)
    found = cstp.decision(decision_id)
    assert found["reasons"] == [{"type": "analysis", "text": "t"}]
    assert found["bridge"] == {"function": "f"}
    for name in ("decision", "confidence", "context", "tags", "pattern"):
        assert found[name] == updates[name]


@pytest.mark.parametrize("updates", [{"decision": ""}, {"decision": " \t"}, {"stakes": "low"}, {"confidence": None}])
def test_an_update_that_changes_nothing_is_a_result(cstp: Caller, updates: dict[str, object]) -> None:
    result = cstp.result("updateDecision", {"id": cstp.record(), "updates": updates})
    assert result == {"success": False, "error": "No valid fields to update"}


@pytest.mark.parametrize("unknown", ["nosuchid", "../x"])
def test_an_update_of_an_unknown_decision_is_a_result(cstp: Caller, unknown: str) -> None:
    result = cstp.result("updateDecision", {"id": unknown, "updates": {"confidence": 0.5}})
    assert result == {"success": False, "error": f"Decision {unknown} not found"}


def test_an_empty_decision_is_skipped_among_other_updates(cstp: Caller) -> None:
    decision_id = cstp.record()
    result = cstp.result("updateDecision", {"id": decision_id, "updates": {"decision": "", "pattern": "p", "shoe": 44}})
    assert result["updated_fields"] == ["pattern"]
    assert cstp.decision(decision_id)["decision"] == "Use the queue"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Missing required parameter: id"),
        ({"updates": {"confidence": 0.5}}, "Missing required parameter: id"),
        ({"id": ""}, "Missing required parameter: id"),
        ({"id": "a"}, "Missing required parameter: updates"),
        ({"id": "a", "updates": None}, "Missing required parameter: updates"),
        ({"id": "a", "updates": ["confidence"]}, "Validation failed: updates: must be an object, got array"),
        ({"id": 5, "updates": {}}, "Validation failed: id: must be a text, got number"),
    ],
)
def test_what_is_wrong_with_an_update_is_named(cstp: Caller, params: dict[str, object], message: str) -> None:
    assert cstp.error("updateDecision", params) == (-32602, message)


@pytest.mark.parametrize(
    ("updates", "field"),
    [
        ({"confidence": 5.0}, "updates.confidence"),
        ({"confidence": -1}, "updates.confidence"),
        ({"confidence": "high"}, "updates.confidence"),
        ({"tags": "a"}, "updates.tags"),
        ({"reasons": [{"type": "hunch", "text": "t"}]}, "updates.reasons[0].type"),
        ({"pattern": 5}, "updates.pattern"),
        ({"pattern": "fine", "confidence": 5.0}, "updates.confidence"),
    ],
)
def test_row_2_a_bad_update_is_refused_by_name_and_changes_nothing(
    cstp: Caller, project: str, updates: dict[str, object], field: str
) -> None:
    decision_id = cstp.record(project=project, confidence=0.5)
    before = cstp.decision(decision_id)
    code, message = cstp.error("updateDecision", {"id": decision_id, "updates": updates})
    assert code == -32602
    assert message.startswith(f"Validation failed: {field}: must be ")
    assert cstp.decision(decision_id) == before
    assert cstp.calibration(project)["confidenceStats"]["count"] == 1


def test_row_2_a_confidence_changed_after_the_review_does_not_change_calibration(cstp: Caller, project: str) -> None:
    made = cstp.judge(project, [(0.9, "SSFFF")])
    before = cstp.calibration(project)["overall"]
    for decision_id in made:
        cstp.result("updateDecision", {"id": decision_id, "updates": {"confidence": 0.4}})
        cstp.result("reviewDecision", {"id": decision_id, "outcome": cstp.decision(decision_id)["outcome"]})
        assert cstp.decision(decision_id)["confidence"] == 0.4
    assert cstp.calibration(project)["overall"] == before


def test_a_confidence_changed_before_the_review_counts(cstp: Caller, project: str) -> None:
    decision_id = cstp.record(project=project, confidence=0.9)
    cstp.result("updateDecision", {"id": decision_id, "updates": {"confidence": 0.0}})
    cstp.result("reviewDecision", {"id": decision_id, "outcome": "failure"})
    assert cstp.calibration(project, minDecisions=1)["overall"]["brierScore"] == 0


def test_a_decision_posted_as_an_event_is_reviewed_under_its_own_id(cstp: Caller, project: str) -> None:
    cstp.events([recorded(project, confidence=0.7)])
    assert cstp.result("reviewDecision", {"id": project, "outcome": "success"})["path"] == f"decision/{project}"
