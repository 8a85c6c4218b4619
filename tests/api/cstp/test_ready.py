"""ready: it lists decisions that need attention, and uses only the decisions themselves."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.support.server import served

NAMES = ["type", "priority", "reason", "suggestion", "decisionId", "category", "date", "title", "detail"]


def ago(**span: float) -> str:
    return (datetime.now(UTC) - timedelta(**span)).isoformat()


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    """Decisions that wait for their outcomes in every way."""
    with served(tmp_path_factory.mktemp("waiting") / "ledger.db") as server, Caller(server.url) as caller:
        caller.events(
            [
                recorded("due-low", ago(days=9), stakes="low", category="tooling", review_by=ago(days=2, hours=1)),
                recorded("due-high", ago(days=8), stakes="high", category="security", review_by=ago(days=3, hours=1)),
                recorded("due-unsaid", ago(days=7), review_by=ago(minutes=1)),
                recorded("due-critical", ago(days=90), stakes="critical", review_by=ago(hours=1)),
                recorded("due-medium", ago(days=70), stakes="medium", review_by=ago(hours=1)),
                recorded("due-later", ago(days=99), stakes="high", review_by=ago(days=-1)),
                recorded("due-done", ago(days=99), stakes="high", review_by=ago(days=50)),
                reviewed("due-done", "partial"),
                recorded("stale-long", ago(days=60, hours=1), category="tooling"),
                recorded("stale", ago(days=59, hours=23), stakes="critical"),
                recorded("stale-barely", ago(days=30, hours=1)),
                recorded("fresh", ago(days=29, hours=23)),
                recorded("stale-done", ago(days=80)),
                reviewed("stale-done", "abandoned"),
            ]
        )
        yield caller


def names(answer: dict[str, object]) -> list[str]:
    actions = answer["actions"]
    assert isinstance(actions, list)
    return [action["decisionId"] for action in actions]


def test_the_most_pressing_comes_first(waiting: Caller) -> None:
    answer = waiting.result("ready")
    assert list(answer) == ["actions", "total", "filtered"]
    assert names(answer) == [
        "due-critical", "due-high", "stale-long", "due-medium", "due-unsaid", "stale", "stale-barely", "due-low",
    ]  # fmt: skip
    assert (answer["total"], answer["filtered"]) == (8, 0)
    assert [action["priority"] for action in answer["actions"]] == ["high"] * 3 + ["medium"] * 4 + ["low"]
    assert {action["type"] for action in answer["actions"]} == {"review_outcome", "stale_pending"}
    due = answer["actions"][1]
    assert list(due) == NAMES
    assert due["detail"] == f"review by {ago(days=3, hours=1)[:10]} (3d overdue)"
    assert (due["title"], due["date"], due["category"]) == ("Use the queue", ago(days=8)[:10], "security")
    assert "category" not in answer["actions"][0], "the decision has no category, and null does not count as one"
    assert answer["actions"][2]["detail"] == "pending 60 days"


@pytest.mark.parametrize(
    ("params", "found", "filtered"),
    [
        ({"minPriority": "high"}, ["due-critical", "due-high", "stale-long"], 5),
        ({"min_priority": "high", "limit": 1}, ["due-critical"], 5),
        ({"actionTypes": ["stale_pending"]}, ["stale-long", "stale", "stale-barely"], 0),
        ({"action_types": ["review_outcome"], "minPriority": "high"}, ["due-critical", "due-high"], 3),
        ({"category": "tooling"}, ["stale-long", "due-low"], 0),
        ({"category": "process"}, [], 0),
        ({"actionTypes": ["calibration_drift"]}, [], 0),
        ({"limit": 0, "category": None}, ["due-critical"], 0),
    ],
)
def test_what_is_asked_for(waiting: Caller, params: dict[str, object], found: list[str], filtered: int) -> None:
    answer = waiting.result("ready", params)
    assert (names(answer), answer["filtered"]) == (found, filtered)


def test_a_category_that_drifts_is_named(cstp: Caller) -> None:
    """Twenty of twenty before, none of twenty now: what checkDrift says, ready says."""
    for when, outcome in ((60.0, "success"), (5.0, "failure")):
        names_of = [f"drift-{outcome}-{number}" for number in range(20)]
        cstp.events(recorded(name, ago(days=when), category="integration", confidence=0.9) for name in names_of)
        cstp.events(reviewed(name, outcome) for name in names_of)
    alerts = cstp.result("checkDrift", {"category": "integration"})["alerts"]
    answer = cstp.result("ready", {"actionTypes": ["calibration_drift"], "category": "integration"})
    assert len(answer["actions"]) == answer["total"] == len(alerts) == 2
    for action in answer["actions"]:
        assert list(action) == ["type", "priority", "reason", "suggestion", "category"]
        assert (action["type"], action["priority"], action["category"]) == ("calibration_drift", "high", "integration")
    assert "the success rate went from 1.00 to 0.00" in answer["actions"][1]["reason"]
    assert cstp.result("ready", {"actionTypes": ["stale_pending"], "category": "integration"})["total"] == 0


def test_a_day_of_review_that_came_by_review_in_counts(waiting: Caller) -> None:
    now = waiting.record(category="process", review_in="0d")
    waiting.record(category="process", review_in="1d")
    assert names(waiting.result("ready", {"category": "process"})) == [now]
    waiting.result("reviewDecision", {"id": now, "outcome": "success"})
    assert names(waiting.result("ready", {"category": "process"})) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"minPriority": 5}, "minPriority: must be one of {high, low, medium}, got number"),
        ({"actionTypes": [5]}, "actionTypes: must be a list, each item one of {"),
        ({"actionTypes": "stale_pending"}, "actionTypes: must be a list"),
        ({"limit": "five"}, "limit: must be a whole number, got string"),
        ({"category": 1}, "category: must be a text, got number"),
    ],
)
def test_what_is_wrong_is_named(waiting: Caller, params: dict[str, object], message: str) -> None:
    code, reported = waiting.error("ready", params)
    assert code == -32602
    assert reported.startswith(f"Validation failed: {message}")
