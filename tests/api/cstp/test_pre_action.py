"""preAction: what an agent asks before it acts, and the decision it makes."""

import pytest

from tests.api.cstp.client import Caller
from tests.api.http.posts import head

FIELDS = [
    "allowed", "decisionId", "relevantDecisions", "guardrailResults", "calibrationContext", "patternsSummary",
    "queryTimeMs", "checkId",
]  # fmt: skip
QUIET = {"options": {"autoRecord": False}}


def action(project: str, **more: object) -> dict[str, object]:
    """An action in words that no other test uses."""
    return {"action": {"description": f"Split {project} in two", "category": "security", **more}}


def test_what_is_known_of_actions_like_it(empty_cstp: Caller, project: str) -> None:
    about = {"decision": f"Split {project} by hand", "category": "security", "pattern": f"Split {project} early"}
    ids = empty_cstp.judge(project, [(0.7, "SSF")], **about, reasons=[{"text": "r"}], tags=["t"])
    empty_cstp.record(decision=f"Split {project} for tooling", category="tooling")
    before = head(empty_cstp.http)
    answer = empty_cstp.result("preAction", {**action(project, stakes="high", confidence=0.8), **QUIET})
    assert head(empty_cstp.http) == before + 1, "only the evaluation was written"
    assert list(answer) == FIELDS
    assert (answer["allowed"], answer["decisionId"]) == (True, None)
    (warning,) = answer["guardrailResults"]
    assert (warning["guardrailId"], warning["severity"]) == ("no-guardrails", "warn")
    assert {row["id"] for row in answer["relevantDecisions"]} == set(ids), "those of its category"
    assert answer["relevantDecisions"][0]["reasons"]
    (pattern,) = answer["patternsSummary"]
    assert (pattern["pattern"], pattern["count"], set(pattern["exampleIds"])) == (f"Split {project} early", 3, set(ids))
    assert answer["calibrationContext"]["reviewedDecisions"] >= 3
    options = {"include_patterns": False, "query_limit": 1, "auto_record": False}
    less = empty_cstp.result("preAction", {**action(project), "options": options})
    assert (len(less["relevantDecisions"]), less["patternsSummary"]) == (1, [])


def test_the_calibration_of_its_category(cstp: Caller, project: str) -> None:
    with_scores = {"brierScore", "accuracy", "calibrationGap", "interpretation", "supported", "reviewedDecisions"}
    cstp.judge(project, [(0.9, "FFFSS")], category="integration")
    context = cstp.result("preAction", {**action(project, category="integration"), **QUIET})["calibrationContext"]
    assert set(context) == with_scores
    assert (context["reviewedDecisions"], context["brierScore"], context["interpretation"]) == (
        5,
        0.49,
        "overconfident",
    )
    nothing = cstp.result("preAction", {**action(project, category="unheard of"), **QUIET})
    assert nothing["calibrationContext"] == {"reviewedDecisions": 0}
    assert nothing["relevantDecisions"] == nothing["patternsSummary"] == []


def test_it_is_recorded_as_record_decision_would(cstp: Caller, project: str) -> None:
    cstp.result("recordThought", {"text": "Halves are easier", "agentId": project})
    beside = {
        "reasons": [{"type": "analysis", "text": "r"}],
        "tags": ["t"],
        "pattern": "Halve",
        "project": project,
        "reviewIn": "1w",
        "agentId": project,
    }
    answer = cstp.result("preAction", {**action(project, stakes="high", confidence=0), **beside})
    assert list(answer) == [*FIELDS, "recorded"]
    assert answer["recorded"]["id"] == answer["decisionId"]
    assert answer["recorded"]["deliberation_auto"] is True
    found = cstp.decision(answer["decisionId"])
    assert (found["decision"], found["category"], found["stakes"]) == (f"Split {project} in two", "security", "high")
    assert (found["confidence"], found["tags"], found["pattern"], found["project"]) == (0, ["t"], "Halve", project)
    assert found["reasons"] == [{"type": "analysis", "text": "r"}]
    assert found["deliberation"]["steps"][0]["thought"] == "Halves are easier"
    assert "review_by" in found
    assert answer["decisionId"] not in {row["id"] for row in answer["relevantDecisions"]}, "asked before it was made"
    later = cstp.result("preAction", {**action(project), **QUIET})
    assert answer["decisionId"] in {row["id"] for row in later["relevantDecisions"]}, "it waits, and is found"


def test_row_1_a_confidence_that_is_not_stated_stays_unknown(cstp: Caller, project: str) -> None:
    answer = cstp.result("preAction", {"action": {"description": f"Guess {project}"}})
    found = cstp.decision(answer["decisionId"])
    assert "confidence" not in found
    assert (found["category"], found["stakes"]) == ("process", "medium"), "as recordDecision assumes"


@pytest.mark.parametrize("name", ["idempotencyKey", "idempotency_key"])
def test_row_17_a_retry_writes_once(cstp: Caller, project: str, name: str) -> None:
    asked = {**action(project, confidence=0.8), "project": project, "reviewIn": "2d", name: f"{project}-{name}"}
    first = cstp.result("preAction", asked)
    before = head(cstp.http)
    assert cstp.result("preAction", asked)["decisionId"] == first["decisionId"]
    assert head(cstp.http) == before
    assert cstp.result("getStats", {"project": project})["total"] == 1
    code, _ = cstp.error("preAction", {**asked, "tags": ["other"]})
    assert code != 0
    assert head(cstp.http) == before


def test_row_17_two_decisions_alike_are_two(cstp: Caller, project: str) -> None:
    ids = {cstp.result("preAction", {**action(project), "project": project})["decisionId"] for _ in range(20)}
    assert len(ids) == cstp.result("getStats", {"project": project})["total"] == 20
    assert all(len(decision_id) == 8 and decision_id.isalnum() for decision_id in ids)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Missing required parameter: action"),
        ({"action": None}, "Missing required parameter: action"),
        ({"action": {"category": "security"}}, "Validation failed: action.description: required"),
        ({"action": {"description": "d", "confidence": 1.5}}, "Validation failed: action.confidence: must be between"),
        ({"action": {"description": "d", "category": "art"}}, "Validation failed: action.category: must be one of {"),
        ({"action": {"description": "d"}, "reasons": [{"type": "x"}]}, "Validation failed: reasons[0].type: must be"),
        ({"action": {"description": "d"}, "options": 1}, "Validation failed: options: must be an object, got number"),
        ({"action": {"description": "d"}, "options": {"autoRecord": 1}}, "Validation failed: options.autoRecord: must"),
        ({"action": {"description": "d"}, "auto_record": "no"}, "Validation failed: auto_record: must be true or fal"),
        ({"action": {"description": "d"}, "options": {"queryLimit": 0}}, "Validation failed: options.queryLimit: must"),
        ({"action": {"description": "d"}, "reviewIn": "abc"}, "Validation failed: reviewIn: must be days, weeks"),
        ({"action": {"description": " ".join(map(str, range(1001)))}}, "action.description: 1001 different words"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_recorded(cstp: Caller, params: dict[str, object], message: str) -> None:
    before = head(cstp.http)
    code, reported = cstp.error("preAction", params)
    assert code == -32602
    assert reported.startswith(message)
    assert head(cstp.http) == before
