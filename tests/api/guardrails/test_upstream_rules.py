"""The rules that CSTP's reference server ships block here what its documents say, and each evaluation is in the log."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.api.cstp.client import Caller
from tests.api.guardrails.upstream_actions import ACTIONS, RECORDED, TOOLING, Case
from tests.support.paths import ROOT
from tests.support.server import Served, served

RULES = ROOT / "examples" / "guardrails" / "cstp.yaml"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("ruled") / "ledger.db") as running:
        answer = httpx.post(f"{running.url}/guardrails", json={"yaml": RULES.read_text("utf-8")}, timeout=None)
        assert answer.status_code == 200, answer.text
        yield running


@pytest.fixture(scope="module")
def cstp(ruled: Served) -> Iterator[Caller]:
    with Caller(ruled.url) as caller:
        yield caller


def check_of(cstp: Caller, check_id: str) -> dict[str, Any]:
    """The payload of an evaluation, from the log."""
    (event,) = cstp.http.get(f"/streams/check/{check_id}").json()["events"]
    assert event["type"] == "guardrail.evaluated.v1"
    data: dict[str, Any] = event["data"]
    return data


def digest_in_force(cstp: Caller) -> str:
    """The digest of the rules, computed from the log alone, as the manual says."""
    events = cstp.http.get("/events", params={"type": "guardrail.set.v1", "limit": "1000"}).json()["events"]
    latest = {event["data"]["guardrail_id"]: event["data"] for event in events}
    return sha256(msgspec.json.encode([latest[name] for name in sorted(latest)])).hexdigest()


def blockers(rows: list[dict[str, Any]]) -> set[str]:
    return {row["guardrailId"] for row in rows if row["severity"] == "block"}


def test_there_are_at_least_forty_actions() -> None:
    assert len(ACTIONS) >= 40


@pytest.mark.trial("D2")
@pytest.mark.parametrize("case", ACTIONS, ids=lambda case: "-".join(map(str, case.action.values()))[:60])
def test_check_guardrails_blocks_what_the_rules_block(cstp: Caller, case: Case) -> None:
    answer = cstp.result("checkGuardrails", {"action": case.action})
    assert (answer["allowed"], blockers(answer["violations"])) == (not case.blocked_by, set(case.blocked_by))
    assert answer["evaluated"] == 9
    stored = check_of(cstp, answer["checkId"])
    assert (stored["phase"], stored["allowed"], stored["rules"]) == ("check", answer["allowed"], 9)
    assert stored["rules_digest"] == answer["rulesDigest"] == digest_in_force(cstp)
    assert stored["description"] == case.action["description"]
    asked = dict(case.action.get("context", {}))
    if "code_review" in case.action:
        asked["code_review"] = case.action["code_review"]
    assert stored.get("context", {}) == {name: value for name, value in asked.items() if value is not None}
    fired = {row["guardrail_id"] for row in stored.get("results", ()) if row["outcome"] == "fired"}
    assert fired == set(case.blocked_by)


@pytest.mark.trial("D2")
@pytest.mark.parametrize("case", ACTIONS, ids=lambda case: "-".join(map(str, case.action.values()))[:60])
def test_pre_action_and_http_say_the_same(cstp: Caller, case: Case) -> None:
    asked = {"action": case.action, "options": {"autoRecord": False}}
    answer = cstp.result("preAction", asked)
    assert (answer["allowed"], blockers(answer["guardrailResults"])) == (not case.blocked_by, set(case.blocked_by))
    assert ("blockReasons" in answer) is bool(case.blocked_by)
    assert len(answer.get("blockReasons", ())) == len(case.blocked_by)
    assert check_of(cstp, answer["checkId"])["phase"] == "pre_action"
    plain = {name: value for name, value in case.action.items() if name != "code_review"}
    if "code_review" in case.action:
        plain["context"] = {"code_review": case.action["code_review"]}
    reply = cstp.http.post("/guardrails/check", json={"action": plain})
    assert (reply.status_code, reply.json()["allowed"]) == (201, answer["allowed"])
    assert {row["guardrail_id"] for row in reply.json()["violations"]} == set(case.blocked_by)


@pytest.mark.trial("D2")
@pytest.mark.parametrize(("decision", "expected"), RECORDED)
def test_record_decision_warns_and_refuses_nothing(cstp: Caller, decision: dict[str, Any], expected: set[str]) -> None:
    answer = cstp.result("recordDecision", decision)
    rows = answer.get("guardrail_warnings", [])
    assert {row["guardrail_id"] for row in rows} == expected
    assert all(row["message"] for row in rows)
    newest = cstp.http.get("/events", params={"type": "guardrail.evaluated.v1", "order": "desc", "limit": "1"})
    stored = newest.json()["events"][0]["data"]
    assert stored["decision_id"] == answer["id"]
    assert stored["phase"] == "record"
    assert stored["allowed"] is not any(row["severity"] == "block" for row in rows)


def test_the_check_of_a_planned_action_counts_for_its_decision(cstp: Caller) -> None:
    action = {"description": "Renew the linter", "category": "tooling", "context": {"code_review": True}}
    check = cstp.result("checkGuardrails", {"action": action})
    beside = {"decision": "Renew the linter", "category": "tooling"}
    unchecked = cstp.result("recordDecision", beside)["guardrail_warnings"]
    checked = cstp.result("recordDecision", {**beside, "checkId": check["checkId"]})["guardrail_warnings"]
    assert TOOLING in {row["guardrail_id"] for row in unchecked}
    assert TOOLING not in {row["guardrail_id"] for row in checked}
    code, message = cstp.error("recordDecision", {**beside, "check_id": "nosuch"})
    assert (code, message.startswith("Check not found: nosuch")) == (-32602, True)


def test_an_allowed_action_is_recorded_and_a_blocked_one_is_not(cstp: Caller) -> None:
    before = cstp.result("getStats")["total"]
    blocked = cstp.result("preAction", {"action": {"description": "Drop it", "stakes": "high", "confidence": 0.3}})
    assert (blocked["allowed"], blocked["decisionId"], "recorded" in blocked) == (False, None, False)
    assert blocked["blockReasons"] == ["High stakes need a confidence of 50% or more; it is 0.3."]
    allowed = cstp.result(
        "preAction",
        {"action": {"description": "Review it", "category": "tooling", "context": {"code_review": True}}},
    )
    assert allowed["decisionId"] == allowed["recorded"]["id"]
    assert TOOLING not in {row["guardrail_id"] for row in allowed["recorded"]["guardrail_warnings"]}
    assert cstp.result("getStats")["total"] == before + 1


def test_a_retry_of_an_action_writes_once_whatever_the_rules_are_then(cstp: Caller, project: str) -> None:
    asked = {"action": {"description": f"Do {project}"}, "idempotencyKey": project}
    first = cstp.result("preAction", asked)
    head = cstp.http.get("/readyz").json()["head"]
    again = cstp.result("preAction", asked)
    assert (again["decisionId"], again["checkId"]) == (first["decisionId"], first["checkId"])
    assert cstp.http.get("/readyz").json()["head"] == head


def test_a_value_that_a_rule_cannot_compare_is_an_error_and_nothing_is_written(cstp: Caller) -> None:
    head = cstp.http.get("/readyz").json()["head"]
    for value in ("abc", "nan", [1], {"a": 1}):
        action = {"description": "x", "stakes": "high", "context": {"confidence": value}}
        for method in ("checkGuardrails", "preAction"):
            code, message = cstp.error(method, {"action": action})
            assert code == -32602
            assert "is not a number, and the guardrail no-high-stakes-low-confidence compares it" in message
    assert cstp.http.get("/readyz").json()["head"] == head


def test_what_a_rule_would_compare_and_is_not_stated_is_named(cstp: Caller) -> None:
    answer = cstp.result("checkGuardrails", {"action": {"description": "x", "stakes": "high"}})
    assert answer["allowed"] is True
    undecided = {row["guardrailId"]: row["missing"] for row in answer["undecided"]}
    assert undecided.pop("no-high-stakes-low-confidence") == ["confidence"]
    assert undecided.pop("no-trading-strategy-without-backtest") == ["category", "decision_type"]
    assert set(map(tuple, undecided.values())) == {("category",)}
    action = {"description": "x", "stakes": "low", "category": "process", "confidence": 0.5}
    assert "undecided" not in cstp.result("checkGuardrails", {"action": action})


def test_the_rules_are_listed_as_the_protocol_lists_them(cstp: Caller) -> None:
    answer = cstp.result("listGuardrails")
    assert (answer["count"], answer["agent"]) == (9, "cognition-engines")
    rows = {row["id"]: row for row in answer["guardrails"]}
    first = rows["no-high-stakes-low-confidence"]
    assert list(first) == ["id", "description", "action", "scope", "conditions", "requirements"]
    assert first["conditions"] == [
        {"field": "stakes", "operator": "eq", "value": "high"},
        {"field": "confidence", "operator": "lt", "value": 0.5},
    ]
    assert rows[TOOLING]["requirements"] == [{"field": "code_review", "expected": True}]
    assert rows["no-trading-strategy-without-backtest"]["scope"] == ["CryptoTrader"]
    assert rows["low-quality-recording"]["conditions"][1] == {"field": "quality_score", "operator": "lt", "value": 0.5}
    assert cstp.result("listGuardrails", {"scope": "Shop"})["count"] == 8
    assert cstp.result("listGuardrails", {"scope": "CryptoTrader"})["count"] == 9
    context = cstp.result("getSessionContext")
    assert context["activeGuardrails"] == answer["guardrails"]
    assert cstp.result("getSessionContext", {"include": ["ready"]})["activeGuardrails"] == []
    assert "- require-deliberation (block): " in cstp.result("getSessionContext", {"format": "markdown"})["markdown"]


@pytest.mark.trial("D2")
def test_without_rules_the_answer_says_that_nothing_was_evaluated(tmp_path: Path) -> None:
    action = {"description": "Drop the table", "stakes": "high", "confidence": 0.3}
    with served(tmp_path / "ledger.db") as running, Caller(running.url) as cstp:
        answer = cstp.result("checkGuardrails", {"action": action})
        assert list(answer)[:6] == ["allowed", "violations", "warnings", "evaluated", "evaluatedAt", "agent"]
        assert (answer["allowed"], answer["violations"], answer["evaluated"]) == (True, [], 0)
        (warning,) = answer["warnings"]
        assert "nothing was evaluated" in warning["message"]
        assert check_of(cstp, answer["checkId"])["rules"] == 0
        quiet = cstp.result("preAction", {"action": action, "options": {"autoRecord": False}})
        assert quiet["guardrailResults"] == [warning]
        assert "guardrail_warnings" not in cstp.result("recordDecision", {"decision": "x"})
        assert cstp.error("checkGuardrails", {}) == (-32602, "Missing required parameter: action")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"action": "go"}, "Validation failed: action: must be an object, got string"),
        ({"action": {"stakes": "low"}}, "Validation failed: action.description: required"),
        ({"action": {"description": "d", "confidence": 2}}, "Validation failed: action.confidence"),
        ({"action": {"description": "d", "context": "c"}}, "Validation failed: action.context: must be an object"),
    ],
)
def test_what_is_wrong_is_named(cstp: Caller, params: dict[str, object], message: str) -> None:
    code, reported = cstp.error("checkGuardrails", params)
    assert (code, reported.startswith(message)) == (-32602, True)
