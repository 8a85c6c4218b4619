"""Advice before deciding: GET /calibration/advice, and calibrationNote in the answers of recordDecision."""

from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed


@pytest.fixture
def past(cstp: Caller, project: str) -> str:
    """An agent of its own: thirty decisions stated at .9, of which eighteen succeeded."""
    agent = f"agent-{project[-12:]}"
    events = []
    for number in range(30):
        name = f"{agent}-{number}"
        about: dict[str, Any] = {"category": "tooling", "stakes": "high", "confidence": 0.9}
        events.append(recorded(name, None, f"/agents/{agent}", **about))
        events.append(reviewed(name, "success" if number < 18 else "failure", f"/agents/{agent}"))
    cstp.events(events)
    return agent


def test_what_such_decisions_came_to(cstp: Caller, past: str) -> None:
    asked: dict[str, Any] = {"agent": past, "category": "tooling", "stakes": "high", "confidence": 0.9}
    found = cstp.http.get("/calibration/advice", params=asked).json()
    assert (found["reviewed"], found["success"], found["confidence"]) == (30, 0.6, [0.85, 0.95])
    assert found["interval"] == pytest.approx([0.423, 0.754], abs=0.001)
    assert found["message"].endswith("came to 0.60 (0.42 to 0.75), n=30. Consider stating about 0.60.")
    assert found["as_of"]["position"] > 0
    assert (found["widened"], found["narrower"], found["correction"], found["consider"]) == ([], [], "less", 0.6)
    other = cstp.http.get("/calibration/advice", params={**asked, "confidence": 0.3}).json()
    assert (other["category"], other["confidence"], other["reviewed"]) == ("tooling", [0, 1], 30)
    assert (other["widened"], other["correction"]) == (["stakes", "confidence"], None)
    assert [scope["reviewed"] for scope in other["narrower"]] == [0, 0]
    assert set(other["predicted"]) == {"rate", "interval"}
    assert "predicted" not in found
    assert "These decisions are of any stakes and any confidence, because fewer than 20" in other["message"]
    before = cstp.http.get("/calibration/advice", params={**asked, "as_of": 0}).json()
    assert (before["reviewed"], before["as_of"]) == (0, {"position": 0, "time": None})


@pytest.mark.defect(5)
def test_unknown_names_are_named_with_the_nearest(cstp: Caller, past: str) -> None:
    asked: dict[str, Any] = {"agent": past, "category": "toolin", "confidence": 0.9}
    found = cstp.http.get("/calibration/advice", params=asked).json()
    assert [(name["parameter"], name["value"]) for name in found["unknown_names"]] == [("category", "toolin")]
    assert found["unknown_names"][0]["nearest"] == "tooling"
    assert found["message"].startswith("No decision here has the category 'toolin'. Did you mean 'tooling'? Decisions")
    nobody = cstp.http.get("/calibration/advice", params={"agent": f"{past}x"}).json()
    assert nobody["unknown_names"] == [{"parameter": "agent", "value": f"{past}x", "nearest": past}]
    assert nobody["message"].startswith(f"No decision here has the agent '{past}x'. Did you mean '{past}'?")
    known = cstp.http.get("/calibration/advice", params={**asked, "category": "tooling"}).json()
    assert "unknown_names" not in known


@pytest.mark.parametrize("text", ["1.01", "-0.1", "high", "", "nan", "inf", "0x1", "1_0", " 0.5", "50%", "1e999"])
def test_a_confidence_that_is_none(cstp: Caller, text: str) -> None:
    response = cstp.http.get("/calibration/advice", params={"confidence": text})
    assert response.status_code == 400
    assert response.json()["field"] == "confidence"
    assert "from 0 to 1" in response.json()["detail"]


@pytest.mark.parametrize("text", ["0", "1", "0.5", ".5", "1.0", "5e-1", "0.90"])
def test_a_confidence_that_is_one(cstp: Caller, text: str) -> None:
    assert cstp.http.get("/calibration/advice", params={"confidence": text}).status_code == 200


def test_a_decision_is_answered_with_what_such_came_to(cstp: Caller) -> None:
    """The agent here is the one that speaks; confidence .33 in security is of this test alone."""
    about = {"category": "security", "stakes": "critical", "confidence": 0.33}
    ids = []
    for number in range(5):
        answer = cstp.result("recordDecision", {"decision": f"Rotate key {number}", **about})
        assert "calibrationNote" not in answer, "nothing like it is reviewed yet"
        ids.append(answer["id"])
    for number, name in enumerate(ids):
        cstp.result("reviewDecision", {"id": name, "outcome": "failure" if number else "success"})
    note = cstp.result("recordDecision", {"decision": "Rotate the last key", **about})["calibrationNote"]
    assert "stated at 0.28 to 0.38 (0.33 on average) came to 0.20 (0.04 to 0.62), n=5." in note
    silent = cstp.result("recordDecision", {"decision": "Rotate nothing", "category": "security"})
    assert "calibrationNote" not in silent, "it stated no confidence"


def test_a_query_is_answered_with_what_such_decisions_came_to(cstp: Caller, past: str) -> None:
    filters = {"agent": past, "category": "tooling"}
    note = cstp.result("queryDecisions", {"query": "", "filters": filters})["calibrationNote"]
    assert note == (f"Decisions of {past} in tooling stated 0.90 on average and came to 0.60 (0.42 to 0.75), n=30.")
    unknown = cstp.result("queryDecisions", {"query": "cache", "filters": {"agent": "nobody"}})
    assert "calibrationNote" not in unknown
