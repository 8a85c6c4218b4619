"""Row D11: faults in parameters, answers and paths of CSTP, now as its reference server or its documents have them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import head

pytestmark = pytest.mark.trial("D11")

BLANKS = (" ", "   ", "\t\n", "\u00a0")


def ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_decision_is_missing(cstp: Caller, blank: str) -> None:
    made = cstp.record()
    before = head(cstp.http)
    for method, params, said in (
        ("recordDecision", {"decision": blank}, "Validation failed: decision: required field"),
        (
            "recordDecision",
            {"decision": "x", "reasons": [{"text": blank}]},
            "Validation failed: reasons[0].text: required",
        ),
        ("preAction", {"action": {"description": blank}}, "Validation failed: action.description: required"),
        ("recordThought", {"text": blank}, "Missing required parameter: text"),
    ):
        assert cstp.error(method, params) == (-32602, said)
    answer = cstp.result("updateDecision", {"id": made, "updates": {"decision": blank}})
    assert answer == {"success": False, "error": "No valid fields to update"}
    assert head(cstp.http) == before
    kept = cstp.decision(cstp.record(decision="  spaces around it stay "))
    assert kept["decision"] == "  spaces around it stay "


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("ready", {"actionTypes": [5]},
         "actionTypes: must be a list, each item one of {calibration_drift, review_outcome, stale_pending}"),
        ("getSessionContext", {"include": 5}, "include: must be a list, each item one of {"),
        ("queryDecisions", {"filters": {"stakes": [5]}},
         "stakes: must be a list, each item one of {critical, high, low, medium}"),
    ],
)  # fmt: skip
def test_a_list_without_a_limit_is_not_said_to_have_one(
    cstp: Caller, method: str, params: dict[str, object], said: str
) -> None:
    code, message = cstp.error(method, params)
    assert (code, "None" in message) == (-32602, False)
    assert message.startswith(f"Validation failed: {said}")


@pytest.fixture
def spread(cstp: Caller, project: str) -> str:
    """A project with five reviewed decisions 10 days ago, five 45 days ago, and five 400 days ago."""
    for days in (10, 45, 400):
        names = [f"{project[-10:]}-{days}-{number}" for number in range(5)]
        cstp.events(recorded(name, ago(days).isoformat(), project=project, confidence=0.5) for name in names)
        cstp.events(reviewed(name, "success") for name in names)
    return project


def calibration(cstp: Caller, project: str, **params: object) -> tuple[dict[str, Any], list[str]]:
    answer = cstp.result("getCalibration", {"project": project, **params})
    return answer["overall"], answer.get("ignored", [])


def test_a_window_of_days_overrides_both_ends_and_says_so(cstp: Caller, spread: str) -> None:
    """A window with an `until` before it was refused, and one with an `until` within it was cut."""
    for params, ignored in (
        ({"until": ago(40).isoformat()}, ["until"]),
        ({"until": ago(5).date().isoformat()}, ["until"]),
        ({"since": ago(500).isoformat(), "until": ago(40).isoformat()}, ["since", "until"]),
        ({}, []),
    ):
        overall, named = calibration(cstp, spread, window="30d", **params)
        assert (overall["totalDecisions"], overall["window"], named) == (5, "30d", ignored)


def test_the_window_of_all_time_keeps_the_ends(cstp: Caller, spread: str) -> None:
    for params, found in (
        ({}, 15),
        ({"since": ago(60).isoformat()}, 10),
        ({"until": ago(20).isoformat()}, 10),
        ({"since": ago(60).isoformat(), "until": ago(20).isoformat()}, 5),
    ):
        overall, named = calibration(cstp, spread, window="all", **params)
        assert (overall["totalDecisions"], overall["window"], named) == (found, "all", [])
        assert ("periodStart" in overall) == ("since" in params)


def test_empty_updates_are_missing(cstp: Caller) -> None:
    made = cstp.record()
    before = head(cstp.http)
    calls: tuple[dict[str, object], ...] = ({"updates": {}}, {"updates": None}, {})
    for params in calls:
        said = cstp.error("updateDecision", {"id": made, **params})
        assert said == (-32602, "Missing required parameter: updates")
    assert head(cstp.http) == before


def test_the_path_may_end_with_a_slash(cstp: Caller) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getStats"}
    plain, slashed = cstp.http.post("/cstp", json=call), cstp.http.post("/cstp/", json=call)
    assert (slashed.status_code, slashed.content) == (200, plain.content)
    refused = cstp.http.get("/cstp/")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert list(cstp.http.get("/openapi.json").json()["paths"]).count("/cstp/") == 0
    assert cstp.http.post("/cstp/more", json=call).status_code == 404


def test_dates_are_dates_where_the_reference_server_has_dates(cstp: Caller, spread: str) -> None:
    made = cstp.record(reviewIn="7d", project=spread)
    for row in (cstp.decision(made), cstp.result("listDecisions", {"project": spread, "limit": 1})["decisions"][0]):
        due = datetime.fromisoformat(row["review_due"])
        assert due - datetime.fromisoformat(row["created_at"]) == timedelta(days=7)
        assert row["review_by"] == due.date().isoformat()
        assert (len(row["date"]), len(row["review_by"])) == (10, 10)
    overall, _ = calibration(cstp, spread, window="30d")
    today = datetime.now(UTC).date()
    assert overall["periodEnd"] in {day.isoformat() for day in (today, today - timedelta(days=1))}
    start, end = (datetime.fromisoformat(overall[name]).date() for name in ("periodStart", "periodEnd"))
    assert (end - start, len(overall["periodStart"])) == (timedelta(days=30), 10)
