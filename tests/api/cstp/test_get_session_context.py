"""getSessionContext: what an agent should know when it begins."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.api.cstp.client import Caller, recorded, reviewed
from tests.support.server import served

PROFILE = ["totalDecisions", "reviewed", "overallAccuracy", "brierScore", "tendency"]
EMPTY = {
    "agentProfile": {"totalDecisions": 0, "reviewed": 0},
    "relevantDecisions": [],
    "activeGuardrails": [],
    "calibrationByCategory": {},
    "readyQueue": [],
    "confirmedPatterns": [],
    "confirmedPatternsTotal": 0,
}


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with served(tmp_path_factory.mktemp("session") / "ledger.db") as server, Caller(server.url) as caller:
        yield caller


@pytest.fixture(scope="module")
def known(caller: Caller) -> Caller:
    """Five tooling decisions that went well, three of security that did not, by scout; one that waits, by another."""
    answer = caller.result("getSessionContext", {"task_description": "anything at all"})
    assert answer.pop("queryTimeMs") >= 0
    assert answer == EMPTY
    scout = "/agents/scout"
    for number in range(5):
        about = {"category": "tooling", "confidence": 0.9, "pattern": "Cache what is asked twice", "tags": ["cache"]}
        caller.events(
            [
                recorded(f"tool{number}", ago(40 - number), scout, **about, decision=f"Cache the lookup {number}"),
                reviewed(f"tool{number}", "success"),
            ]
        )
    for number in range(3):
        caller.events(
            [
                recorded(f"sec{number}", ago(9), scout, category="security", confidence=0.6, pattern="Alone"),
                reviewed(f"sec{number}", "failure"),
            ]
        )
    waits = {"category": "process", "pattern": "Cache what is asked twice", "review_by": ago(2.1)}
    caller.events([recorded("waits", ago(3), "/agents/other", **waits, decision="Ship | the\n\n# queue")])
    return caller


def test_everything_about_everybody(known: Caller) -> None:
    answer = known.result("getSessionContext", {"taskDescription": "cache the lookup"})
    assert set(answer) == {*EMPTY, "queryTimeMs"}
    profile = answer["agentProfile"]
    assert [profile[name] for name in PROFILE] == [9, 8, 0.625, 0.141, "overconfident"]
    assert profile["tendencySupported"] is False
    assert (profile["strongestCategory"], profile["weakestCategory"]) == ("tooling", "security")
    assert profile["activeSince"] == ago(40)[:10]
    assert {row["id"] for row in answer["relevantDecisions"][:5]} == {f"tool{number}" for number in range(5)}
    first = answer["relevantDecisions"][0]
    assert {"id", "title", "category", "confidence", "stakes", "status", "date", "distance"} <= set(first)
    assert list(answer["calibrationByCategory"]) == ["tooling"], "three reviews make no verdict"
    tooling = answer["calibrationByCategory"]["tooling"]
    assert (tooling["brierScore"], tooling["accuracy"], tooling["calibrationGap"]) == (0.01, 1.0, 0.1)
    assert (tooling["totalDecisions"], tooling["reviewedDecisions"]) == (5, 5)
    (waiting,) = answer["readyQueue"]
    assert list(waiting) == ["id", "title", "reason", "date", "detail"]
    assert (waiting["id"], waiting["reason"]) == ("waits", "overdue_review")
    assert waiting["detail"].endswith("(2d overdue)")
    most, second = answer["confirmedPatterns"]
    assert most == {
        "pattern": "Cache what is asked twice",
        "count": 6,
        "categories": ["process", "tooling"],
        "exampleIds": [f"tool{number}" for number in range(5)],
    }
    assert (second["pattern"], second["count"], answer["confirmedPatternsTotal"]) == ("Alone", 3, 2)


def test_one_agents_own_figures(known: Caller) -> None:
    for name in ("agent", "agentId", "agent_id"):
        answer = known.result("getSessionContext", {name: "other"})
        assert answer["agentProfile"] == {
            "totalDecisions": 1, "reviewed": 0, "agent": "other", "activeSince": ago(3)[:10],
        }  # fmt: skip
        assert answer["calibrationByCategory"] == {}
        assert len(answer["confirmedPatterns"]) == 2, "patterns are everybody's"


def test_only_what_is_included(known: Caller) -> None:
    answer = known.result("getSessionContext", {"taskDescription": "cache", "include": ["patterns"]})
    assert len(answer["confirmedPatterns"]) == 2
    assert answer["relevantDecisions"] == answer["readyQueue"] == answer["activeGuardrails"] == []
    assert answer["calibrationByCategory"] == {}
    assert answer["agentProfile"]["totalDecisions"] == 9
    one = known.result("getSessionContext", {"taskDescription": "cache", "decisions_limit": 1, "readyLimit": 0})
    assert (len(one["relevantDecisions"]), len(one["readyQueue"])) == (1, 1)
    assert known.result("getSessionContext", {"taskDescription": " ?! "})["relevantDecisions"] == []


def test_an_amended_pattern_is_the_one_that_counts(known: Caller) -> None:
    known.result("updateDecision", {"id": "sec0", "updates": {"pattern": "Cache what is asked twice"}})
    found = known.result("getSessionContext", {"include": ["patterns"]})["confirmedPatterns"]
    assert [one["count"] for one in found] == [7, 2]
    known.result("updateDecision", {"id": "sec0", "updates": {"pattern": "Alone"}})
    found = known.result("getSessionContext", {"include": ["patterns"]})["confirmedPatterns"]
    assert [one["count"] for one in found] == [6, 3]


def test_markdown_for_a_prompt(known: Caller) -> None:
    answer = known.result("getSessionContext", {"format": "markdown", "task_description": "cache the lookup"})
    assert set(answer) == {"markdown", "queryTimeMs"}
    text = answer["markdown"]
    assert text.startswith("## Decisions of everybody\n\n### Profile\n\n- 9 decisions, 8 reviewed\n- 62% went well;")
    assert "- Tendency: overconfident (too few reviews to be sure)\n" in text
    assert "|tooling|100%|0.01|5|\n" in text
    assert "- waits: Ship | the # queue (review by" in text, "a text of several lines stays in its place"
    assert "- Cache what is asked twice (6 decisions)\n" in text
    assert "Cache the lookup 4 (success, stated 0.9)\n" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "## Decisions of everybody", "### Profile", "### Calibration by category", "### Waiting for an outcome",
        "### Shared patterns", "### Earlier decisions",
    ]  # fmt: skip
    nobody = known.result("getSessionContext", {"format": "markdown", "agent": "nobody", "include": []})
    assert nobody["markdown"] == "## Decisions of nobody\n\n### Profile\n\n- 0 decisions, 0 reviewed\n"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"include": [5]}, "Validation failed: include: must be a list, each item one of {"),
        ({"include": "ready"}, "Validation failed: include: must be a list"),
        ({"format": 5}, "Validation failed: format: must be one of {json, markdown}, got number"),
        ({"decisionsLimit": "five"}, "Validation failed: decisionsLimit: must be a whole number, got string"),
        ({"task_description": 5}, "Validation failed: task_description: must be a text, got number"),
        ({"taskDescription": " ".join(map(str, range(1001)))}, "taskDescription: 1001 different words are more than"),
    ],
)
def test_what_is_wrong_is_named(caller: Caller, params: dict[str, object], message: str) -> None:
    code, reported = caller.error("getSessionContext", params)
    assert code == -32602
    assert reported.startswith(message)
