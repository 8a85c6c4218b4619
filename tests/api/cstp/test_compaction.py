"""Compaction: levels by age, what old decisions come to together, and decisions that are to be preserved."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.cstp.client import Caller, recorded, reviewed
from tests.api.http.posts import get, head
from tests.support.server import Served, served

LEVELS = ("full", "summary", "digest", "wisdom")
TEXT = "Cache the catalogue for an hour,\nbecause it changes once a night and is asked for by every request"


def ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as server:
        yield server


@pytest.fixture
def caller(server: Served) -> Iterator[Caller]:
    with Caller(server.url) as caller:
        yield caller


def made(caller: Caller, name: str, days: float, outcome: str | None = "success", **fields: object) -> str:
    """Post a decision of some days ago, and its review."""
    caller.events([recorded(name, ago(days), None, decision=TEXT, **{"category": "tooling", **fields})])
    if outcome is not None:
        caller.events([reviewed(name, outcome)])
    return name


def aged(caller: Caller) -> dict[str, str]:
    """One decision on each side of each limit, and two that stay full; the level of each."""
    full = {
        "confidence": 0.8, "stakes": "high", "pattern": "Cache what is asked twice", "context": "Load", "tags": ["t"],
        "reasons": [{"type": "analysis", "text": "r"}], "bridge": {"structure": "a cache", "function": "speed"},
        "deliberation": {"steps": [{"thought": "measure"}]},
    }  # fmt: skip
    levels = {
        "d6": "full", "d7": "summary", "d29": "summary", "d30": "digest", "d89": "digest", "d90": "wisdom",
        "d400": "wisdom",
    }  # fmt: skip
    for name in levels:
        made(caller, name, float(name[1:]) + 0.5, "partial", **full)
    made(caller, "pending", 400, None)
    made(caller, "kept", 400)
    assert caller.result("setPreserve", {"id": "kept"})["success"]
    return {**levels, "pending": "full", "kept": "full"}


def compacted(caller: Caller, **params: object) -> dict[str, dict[str, Any]]:
    answer = caller.result("getCompacted", params)
    assert answer["total"] == len(answer["decisions"])
    return {row["id"]: row for row in answer["decisions"]}


def test_a_row_shows_what_its_level_leaves(caller: Caller) -> None:
    levels = aged(caller)
    rows = compacted(caller)
    assert {name: row["level"] for name, row in rows.items()} == {
        name: level for name, level in levels.items() if level != "wisdom"
    }
    assert list(rows)[:5] == ["d6", "d7", "d29", "d30", "d89"], "the newest first"
    every = ["id", "level", "decision", "category", "date"]
    summary = [*every, "outcome", "confidence", "actualConfidence", "pattern", "stakes"]
    full = [*summary, "context", "reasons", "tags", "bridge", "deliberation"]
    assert {name: list(rows[name]) for name in ("d6", "d7", "d30", "pending", "kept")} == {
        "d6": full,
        "d7": summary,
        "d30": [*every, "oneLine"],
        "pending": every,
        "kept": [*every, "preserved", "outcome", "actualConfidence"],
    }
    assert rows["d6"]["deliberation"]["steps"][0]["thought"] == "measure"
    assert (rows["d7"]["confidence"], rows["d7"]["actualConfidence"], rows["d7"]["outcome"]) == (0.8, 0.5, "partial")
    line = rows["d30"]["oneLine"]
    assert (len(line), line) == (80, f"{' '.join(TEXT.split())[:77]}...")
    assert (rows["d30"]["decision"], rows["kept"]["preserved"]) == (TEXT, True)


def test_levels_are_counted_and_selected(caller: Caller) -> None:
    aged(caller)
    made(caller, "other", 50, category="security")
    counts = {"full": 3, "summary": 2, "digest": 2, "wisdom": 2}
    before = head(caller.http)
    for dry in (True, False):
        answer = caller.result("compact", {"category": "tooling", "dryRun": dry})
        assert answer == {"compacted": 9, "preserved": 1, "levels": counts, "dryRun": dry}
    assert caller.result("compact")["levels"] == {**counts, "digest": 3}
    assert caller.result("getCompacted", {"category": "tooling"})["levels"] == counts
    assert set(compacted(caller, category="security")) == {"other"}
    assert set(compacted(caller, level="digest")) == {"d30", "d89", "other"}
    wisdom = compacted(caller, level="wisdom", category="tooling")
    assert set(wisdom) == {"d90", "d400"}
    assert (wisdom["d90"]["level"], wisdom["d90"]["context"]) == ("wisdom", "Load")
    assert caller.result("getCompacted", {"level": "wisdom"})["levels"] == {**dict.fromkeys(LEVELS, 0), "wisdom": 2}
    assert set(compacted(caller, includePreserved=False, level="full")) == {"d6", "pending"}
    one = caller.result("getCompacted", {"limit": 1, "category": "tooling"})
    assert ([row["id"] for row in one["decisions"]], one["levels"]) == (["d6"], counts)
    assert head(caller.http) == before, "a view writes nothing"
    whole = get(caller.http, "/decisions/d400")
    assert (whole["decision"]["decision"], whole["decision"]["context"]) == (TEXT, "Load")


def test_other_answers_state_the_same_level(caller: Caller) -> None:
    levels = aged(caller)
    for query in ("", "catalogue"):
        answer = caller.result("queryDecisions", {"query": query, "limit": 50, "compacted": True})
        assert {row["id"]: row["compactionLevel"] for row in answer["decisions"]} == {
            name: level for name, level in levels.items() if level != "wisdom"
        }
    action = {"description": "Cache the catalogue", "category": "tooling"}
    answer = caller.result("preAction", {"action": action, "options": {"queryLimit": 50, "autoRecord": False}})
    assert {row["id"]: row["compactionLevel"] for row in answer["relevantDecisions"]} == levels
    for days, level in ((1, "full"), (8, "summary"), (31, "digest"), (91, "wisdom")):
        name = made(caller, f"late{days}", days, None)
        assert caller.result("reviewDecision", {"id": name, "outcome": "failure"})["compactionLevel"] == level
    assert caller.result("reviewDecision", {"id": "kept", "outcome": "failure"})["compactionLevel"] == "full"


def test_a_decision_is_preserved_until_it_is_not(caller: Caller) -> None:
    name = made(caller, "old", 100)
    for preserve in (True, False, True):
        before = head(caller.http)
        for _ in range(2):
            answer = caller.result("setPreserve", {"decisionId": name, "preserve": preserve})
            assert answer == {"success": True, "decisionId": name, "preserve": preserve}
        assert head(caller.http) == before + 1, "the second call says what is known"
        assert (name in compacted(caller)) is preserve
        assert get(caller.http, f"/decisions/{name}").get("preserve", False) is preserve
        assert caller.decision(name).get("preserve", False) is preserve
        assert caller.result("compact")["preserved"] == int(preserve)
    shown = get(caller.http, f"/decisions/{name}")
    assert [entry["data"].get("preserve") for entry in shown["history"]] == [None, None, True, False, True]
    assert "preserve" not in get(caller.http, f"/decisions/{name}", as_of=shown["history"][3]["position"])


def test_an_unknown_decision_is_a_result(caller: Caller) -> None:
    before = head(caller.http)
    for name in ("nowhere", "../x"):
        answer = caller.result("setPreserve", {"id": name})
        assert (answer.pop("error"), answer) == (
            f"Decision not found: {name}; nothing was written.",
            {"success": False, "decisionId": name, "preserve": True},
        )
    assert head(caller.http) == before
    made(caller, "gone", 1)
    caller.events([{"type": "decision.retracted.v1", "data": {"decision_id": "gone", "reason": "twice"}}])
    code, message = caller.error("setPreserve", {"id": "gone"})
    assert (code, "was closed by decision.retracted.v1" in message) == (-32603, True)


@pytest.mark.slow
def test_calls_at_once_and_retries_write_one_event(server: Served, caller: Caller) -> None:
    name = made(caller, "old", 100)
    before = head(caller.http)

    def call(_: int) -> bool:
        with Caller(server.url) as other:
            success: bool = other.result("setPreserve", {"id": name})["success"]
            return success

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(call, range(16))) == [True] * 16
    assert head(caller.http) == before + 1
    key = {"id": name, "preserve": False, "idempotencyKey": "once"}
    assert caller.result("setPreserve", key)["success"]
    assert caller.result("setPreserve", {"id": name})["success"]
    assert caller.result("setPreserve", key)["success"], "a retry of what was written before"
    assert head(caller.http) == before + 3
    assert get(caller.http, f"/decisions/{name}")["preserve"] is True


def test_only_the_agent_of_a_decision_or_an_owner_preserves_it(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "ledger.db")
    scopes = {"ada": ("append", "read"), "bo": ("append", "read"), "owner": ("admin",), "reader": ("read",)}
    secrets = {name: tokens.add(name, given, system_clock())[1] for name, given in scopes.items()}  # type: ignore[arg-type]
    with served(tmp_path / "ledger.db") as server:
        callers = {name: Caller(server.url, f"Bearer {secret}") for name, secret in secrets.items()}
        name = callers["ada"].record()
        foreign = callers["bo"].error("updateDecision", {"id": name, "updates": {"pattern": "p"}})
        said = callers["bo"].error("setPreserve", {"id": name})
        assert said == (foreign[0], foreign[1].replace("decision.amended", "decision.preserved"))
        assert "belongs to ada" in said[1]
        call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.setPreserve", "params": {"id": name}}
        refused = callers["reader"].http.post("/cstp", json=call)
        assert (refused.status_code, "append" in refused.text) == (403, True)
        assert "preserve" not in callers["ada"].decision(name)
        assert callers["ada"].result("setPreserve", {"id": name})["success"]
        assert callers["owner"].result("setPreserve", {"id": name, "preserve": False})["success"]
        assert "preserve" not in callers["ada"].decision(name)
        for caller in callers.values():
            caller.http.close()


def test_wisdom_is_what_old_decisions_come_to(caller: Caller) -> None:
    assert caller.result("getWisdom") == {"wisdom": [], "totalDecisions": 0, "categoriesAnalyzed": 0}
    old = [
        ("success", 0.9, "Cache what is asked twice"),
        ("success", 0.8, "Cache what is asked twice"),
        ("failure", 0.7, "Cache what is asked twice"),
        ("partial", None, "Trust the profile"),
        ("failure", 0.6, "Trust the profile"),
        ("abandoned", 0.5, "Rewrite it"),
    ]  # fmt: skip
    for number, (outcome, confidence, pattern) in enumerate(old):
        stated = {} if confidence is None else {"confidence": confidence}
        made(caller, f"old{number}", 200 - number, outcome, pattern=pattern, **stated)
    made(caller, "young", 89, pattern="Trust the profile")
    made(caller, "pending", 200, None, pattern="Trust the profile")
    made(caller, "kept", 200, pattern="Trust the profile")
    caller.result("setPreserve", {"id": "kept"})
    for number in range(4):
        made(caller, f"few{number}", 100, "failure", category="security", confidence=1.0)
    caller.events([recorded("nameless", ago(100)), reviewed("nameless", "success")])
    caller.result("updateDecision", {"id": "old0", "updates": {"confidence": 0.1}})
    tooling = {
        "category": "tooling",
        "decisions": 6,
        "successRate": 0.333,
        "keyPrinciples": [
            {"text": "Cache what is asked twice", "confirmations": 3, "exampleIds": ["old0", "old1", "old2"]},
            {"text": "Trust the profile", "confirmations": 2, "exampleIds": ["old3", "old4"]},
        ],
        "commonFailureMode": "Trust the profile",
        "avgConfidence": 0.7,
        "brierScore": 0.23,
    }
    assert caller.result("getWisdom") == {"wisdom": [tooling], "totalDecisions": 6, "categoriesAnalyzed": 1}
    answer = caller.result("getWisdom", {"minDecisions": 1})
    assert answer["wisdom"] == [
        {"category": "security", "decisions": 4, "successRate": 0.0, "avgConfidence": 1.0, "brierScore": 1.0},
        tooling,
    ]
    assert (answer["totalDecisions"], answer["categoriesAnalyzed"]) == (10, 2)
    assert caller.result("getWisdom", {"category": "security"})["wisdom"] == []
    assert caller.result("getWisdom", {"category": "tooling", "min_decisions": 6})["wisdom"] == [tooling]
    assert caller.result("getSessionContext", {"include": ["wisdom"]})["wisdom"] == [tooling]
    assert "wisdom" not in caller.result("getSessionContext")
    text = caller.result("getSessionContext", {"include": ["wisdom"], "format": "markdown"})["markdown"]
    assert "### Wisdom\n\n- tooling (6 decisions, 33% success)\n  - Cache what is asked twice (3 decisions)" in text
    assert "  - Most failures: Trust the profile" in text


def test_a_posted_event_says_the_same(caller: Caller) -> None:
    name = made(caller, "old", 100)
    caller.events([{"type": "decision.preserved.v1", "data": {"decision_id": name, "preserve": True}}])
    assert compacted(caller)[name]["level"] == "full"
    refused = {"type": "decision.preserved.v1", "data": {"decision_id": "nowhere", "preserve": True}}
    assert caller.http.post("/events", json=refused).status_code == 409
    for data in ({"decision_id": name}, {"decision_id": name, "preserve": "yes"}):
        body = {"type": "decision.preserved.v1", "data": data}
        assert caller.http.post("/events", json=body).status_code == 422
