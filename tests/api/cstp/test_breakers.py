"""Circuit breakers: states computed from reviews, in every interface, and as of any moment."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.cli.command import Ended, done, refused, tally
from tests.api.cstp.client import Caller
from tests.api.http.posts import head as newest
from tests.support.server import Served, served

CONFIG = """\
circuit_breakers:
  - scope: "stakes:high"
    failure_threshold: 3
    window_ms: 86400000
    cooldown_ms: 3600000
    notify: true
  - scope: "category:tooling"
    failure_threshold: 1
    cooldown_ms: 1
  - scope: "tag:deploy"
    failure_threshold: 2
    cooldown_ms: 3600000
  - scope: "agent:anonymous"
    failure_threshold: 50
"""


def configure(ledger: Path, text: str = CONFIG, *options: str) -> Ended:
    return tally(ledger, *options, "breakers", "set", "-", given=text.encode())


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Served]:
    """A server with the breakers above."""
    ledger = tmp_path / "ledger.db"
    assert configure(ledger).code == 0
    with served(ledger) as server:
        yield server


@pytest.fixture
def cstp(running: Served) -> Iterator[Caller]:
    with Caller(running.url) as caller:
        yield caller


def review(cstp: Caller, outcome: str, **decision: object) -> str:
    """Record a decision and review it."""
    made = cstp.record(decision)
    cstp.result("reviewDecision", {"id": made, "outcome": outcome})
    return made


def state(cstp: Caller, scope: str, **params: object) -> dict[str, Any]:
    return cstp.result("getCircuitState", {"scope": scope, **params})


def check(cstp: Caller, **action: object) -> dict[str, Any]:
    return cstp.result("checkGuardrails", {"action": {"description": "Deploy the queue", **action}})


def test_failures_open_a_breaker_that_then_blocks(cstp: Caller) -> None:
    rows = cstp.result("listBreakers")["breakers"]
    assert [row["scope"] for row in rows] == ["agent:anonymous", "category:tooling", "stakes:high", "tag:deploy"]
    assert rows[2] == {
        "scope": "stakes:high", "state": "closed", "failure_count": 0, "failure_threshold": 3, "window_ms": 86_400_000,
        "cooldown_ms": 3_600_000, "cooldown_remaining_ms": None, "from_config": True,
    }  # fmt: skip
    review(cstp, "failure", stakes="high")
    review(cstp, "failure", stakes="high")
    review(cstp, "success", stakes="high")
    assert state(cstp, "stakes:high")["failureCount"] == 0
    twice = review(cstp, "failure", stakes="high")
    cstp.result("reviewDecision", {"id": twice, "outcome": "failure"})
    review(cstp, "abandoned", stakes="high")
    assert check(cstp, stakes="high")["allowed"] is True
    review(cstp, "failure", stakes="high")
    found = state(cstp, "stakes:high")
    assert (found["state"], found["failureCount"], found["failureThreshold"]) == ("open", 3, 3)
    assert 0 < found["cooldownRemainingMs"] <= 3_600_000
    assert abs(float(found["openedAt"]) - time.time()) < 600
    blocked = check(cstp, stakes="high")
    (violation,) = blocked["violations"]
    assert (blocked["allowed"], violation["guardrailId"]) == (False, "circuit_breaker:stakes:high")
    assert (violation["type"], violation["state"], violation["failureRate"]) == ("circuit_breaker", "open", "3/3")
    assert violation["resetAt"]
    assert check(cstp, stakes="low")["allowed"] is True
    action = {"action": {"description": "Deploy the queue", "stakes": "high"}}
    refused_action = cstp.result("preAction", action)
    assert (refused_action["allowed"], refused_action["decisionId"]) == (False, None)
    assert refused_action["blockReasons"] == [violation["message"]]
    recorded = cstp.result("recordDecision", {"decision": "Deploy it", "stakes": "high", "idempotencyKey": "k"})
    assert recorded["guardrail_warnings"] == [
        {"guardrail_id": "circuit_breaker:stakes:high", "message": violation["message"], "severity": "block"}
    ]
    again = cstp.result("recordDecision", {"decision": "Deploy it", "stakes": "high", "idempotencyKey": "k"})
    assert again == recorded


@pytest.mark.slow
def test_a_half_open_breaker_lets_one_decision_through(cstp: Caller) -> None:
    review(cstp, "failure", category="tooling")
    time.sleep(0.01)
    assert state(cstp, "category:tooling")["state"] == "half_open"
    assert check(cstp, category="tooling")["allowed"] is True
    assert check(cstp, category="tooling")["allowed"] is True
    params = {"action": {"description": "Try again", "category": "tooling"}, "idempotencyKey": "probe"}
    probe = cstp.result("preAction", params)
    assert cstp.result("preAction", params)["decisionId"] == probe["decisionId"]
    waiting = state(cstp, "category:tooling")
    assert (waiting["state"], waiting["probe"]) == ("half_open", probe["decisionId"])
    assert "waits for its review" in check(cstp, category="tooling")["violations"][0]["message"]
    cstp.result("reviewDecision", {"id": probe["decisionId"], "outcome": "success"})
    assert state(cstp, "category:tooling")["state"] == "closed"


def test_a_breaker_is_reset_by_hand(cstp: Caller) -> None:
    for _ in range(2):
        review(cstp, "failure", tags=["deploy", "night"])
    half = cstp.result("resetCircuit", {"scope": "tag:deploy", "probeFirst": True})
    assert (half["previousState"], half["newState"], half["new_state"]) == ("open", "half_open", "half_open")
    assert half["message"]
    cstp.record(tags=["deploy"])
    assert check(cstp, tags=["deploy"])["allowed"] is False
    closed = cstp.result("resetCircuit", {"scope": "tag:deploy", "reason": "Repaired"})
    assert (closed["previousState"], closed["newState"]) == ("half_open", "closed")
    assert check(cstp, tags=["deploy"])["allowed"] is True
    assert cstp.error("resetCircuit", {"scope": "tag:deploy"}) == (
        -32602, "Can only reset OPEN breakers, current state: closed",
    )  # fmt: skip
    assert cstp.error("resetCircuit", {"scope": "tag:x"}) == (-32602, "No breaker found for scope: tag:x")
    assert cstp.error("getCircuitState", {"scope": "x"}) == (-32602, "No circuit breaker found for scope: x")


@pytest.mark.slow
def test_states_are_those_of_any_moment_in_every_interface(running: Served, cstp: Caller, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    for _ in range(2):
        review(cstp, "failure", tags=["deploy"])
    head = newest(cstp.http)
    assert state(cstp, "tag:deploy")["state"] == "open"
    before = state(cstp, "tag:deploy", as_of=str(head - 1))
    assert (before["state"], before["failureCount"]) == ("closed", 1)
    routed = httpx.get(f"{running.url}/breakers", params={"as_of": str(head)}).json()
    from_file = done(ledger, "--json", "breakers", "list", "--as-of", str(head)).text
    from_server = done(ledger, "--url", running.url, "--json", "breakers", "list", "--as-of", str(head)).text
    assert from_file == from_server
    assert httpx.Response(200, text=from_file).json() == routed
    assert [row["state"] for row in routed["breakers"]] == ["closed", "closed", "closed", "open"]
    assert "tag:deploy" in done(ledger, "breakers", "list").text
    assert configure(ledger, CONFIG.replace("cooldown_ms: 3600000", "cooldown_ms: 1"), "--url", running.url).code == 0
    time.sleep(0.01)
    assert state(cstp, "tag:deploy")["state"] == "half_open"
    assert state(cstp, "tag:deploy", asOf=str(head))["state"] == "open"
    assert configure(ledger, "circuit_breakers: []", "--url", running.url).code == 0
    assert cstp.result("listBreakers") == {"breakers": []}
    assert tally(ledger, "replay", "--check").code == 0


def test_only_an_operator_configures_breakers(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    token = done(ledger, "token", "add", "scout").text.strip()
    with served(ledger) as server:
        ended = tally(ledger, "--url", server.url, "--token", token, "breakers", "set", "-", given=CONFIG.encode())
        assert (ended.code, "admin" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("circuit_breakers: 5", "circuit_breakers"),
        ("guardrails: []", "circuit_breakers"),
        ("circuit_breakers: [", "not YAML"),
        ("- scope: stakes:high\n  failure_threshold: 0", "circuit_breakers[0]"),
        ("- scope: everything", "circuit_breakers[0]"),
        ("- scope: global\n  windows_ms: 5", "windows_ms"),
        ("- scope: global\n- scope: global", "occurs twice"),
        ("- 5", "circuit_breakers[0]"),
    ],
)
def test_a_wrong_configuration_writes_nothing(tmp_path: Path, text: str, said: str) -> None:
    ledger = tmp_path / "ledger.db"
    assert said in refused(ledger, "breakers", "set", "-", given=text.encode())
    assert not ledger.exists()


def test_a_decision_over_http_names_the_breakers_that_block_it(cstp: Caller) -> None:
    for _ in range(2):
        review(cstp, "failure", tags=["deploy"])
    (violation,) = check(cstp, tags=["deploy"])["violations"]
    answer = cstp.http.post("/decisions", json={"data": {"decision": "Deploy it", "tags": ["deploy"]}})
    assert answer.json()["guardrail_warnings"] == [
        {"guardrail_id": "circuit_breaker:tag:deploy", "message": violation["message"], "severity": "block"}
    ]
