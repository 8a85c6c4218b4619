"""Automatic deliberation: what an agent queries and checks before a decision becomes its inputs and steps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cstp.client import Caller
from tests.api.cstp.thoughts import think
from tests.support.server import Served, served

AUTO = {"deliberation": "auto"}


def make_token(ledger: Path, agent: str, *options: str) -> str:
    return done(ledger, "token", "add", agent, *options).text.strip()


@pytest.fixture(scope="module")
def auto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server where the token of `scout` deliberates, and that of `plain` does not."""
    ledger = tmp_path_factory.mktemp("auto") / "ledger.db"
    tokens = {
        "scout": make_token(ledger, "scout", "--deliberation", "auto"),
        "plain": make_token(ledger, "plain"),
        "reader": make_token(ledger, "reader", "--scope", "read"),
    }
    with served(ledger) as server:
        server.tokens = tokens  # type: ignore[attr-defined]
        yield server


def caller(server: Served, agent: str) -> Caller:
    return Caller(server.url, f"Bearer {server.tokens[agent]}")  # type: ignore[attr-defined]


def deliberation(cstp: Caller, decision_id: str) -> dict[str, Any]:
    found: dict[str, Any] = cstp.decision(decision_id).get("deliberation", {})
    return found


@pytest.mark.slow
@pytest.mark.trial("D8")
def test_what_a_client_calls_before_a_decision_becomes_its_inputs(auto: Served) -> None:
    with caller(auto, "plain") as plain:
        earlier = plain.record(decision="Rotate the secrets of the broker", confidence=0.8)
    with caller(auto, "scout") as scout, caller(auto, "plain") as reader:
        query = scout.result("queryDecisions", {"query": "rotate secrets"})
        check = scout.result("checkGuardrails", {"action": {"description": "Rotate all secrets at once"}})
        lookup = scout.result("getDecision", {"id": earlier})
        stats = scout.result("getReasonStats", {})
        thought = think(scout, "one by one is safer")
        inputs = [*query["tracked"], *check["tracked"], *lookup["tracked"], *stats["tracked"], f"r-{thought}"]
        assert [name[:2] for name in inputs] == ["q-", "g-", "l-", "s-", "r-"]
        key = "rpc:scout"
        tracker = scout.result("debugTracker", {"key": key})
        assert tracker["detail"][key]["inputCount"] == 5
        shown = tracker["detail"][key]["inputs"]
        assert [entry["type"] for entry in shown] == ["query", "guardrail", "lookup", "stats", "reasoning"]
        assert shown[0]["source"] == "cstp:queryDecisions"
        made = scout.result("recordDecision", {
            "decision": "Fixed the rotation in 3 days for PR #42", "reasons": [{"text": "The queue in v1.2 drains it"}],
        })  # fmt: skip
        assert (made["deliberation_auto"], made["deliberation_inputs_count"], made["related_count"]) == (True, 5, 1)
        assert (made["bridge_auto"], made["bridge_method"]) == (True, "rule")
        stored = deliberation(reader, made["id"])
        assert [given["id"] for given in stored["inputs"]] == inputs
        assert stored["inputs"][0]["text"] == "Queried 'rotate secrets': 1 results (keyword)"
        assert stored["inputs"][1]["text"] == "Checked 'Rotate all secrets at once': allowed"
        assert [step["type"] for step in stored["steps"]] == [
            "analysis", "constraint", "analysis", "empirical", "reasoning",
        ]  # fmt: skip
        assert [step["inputs_used"] for step in stored["steps"]] == [[name] for name in inputs]
        assert [step["step"] for step in stored["steps"]] == [1, 2, 3, 4, 5]
        bridge = reader.decision(made["id"])["bridge"]
        assert bridge["structure"] == "Corrected the rotation in N time-units for a PR"
        assert bridge["function"] == "The queue in vX.Y drains it"
        after = scout.result("debugTracker", {"key": key, "includeConsumed": True})
        assert after["detail"] == {}
        assert (after["consumed"][0]["status"], after["consumed"][0]["inputCount"]) == ("consumed", 5)


def test_a_call_that_does_not_ask_for_it_is_not_tracked(auto: Served) -> None:
    with caller(auto, "plain") as plain, caller(auto, "scout") as scout:
        assert "tracked" not in plain.result("queryDecisions", {"query": "secrets"})
        assert "tracked" not in scout.result("queryDecisions", {"query": "secrets", "deliberation": "off"})
        assert not deliberation(plain, plain.record(decision="Keep the queue"))
        answer = plain.result("queryDecisions", {"query": "secrets", **AUTO})
        made = plain.result("recordDecision", {"decision": "Keep the queue"})
        assert (made["deliberation_inputs_count"], "bridge_auto" in made) == (1, False)
        assert deliberation(plain, made["id"])["inputs"][0]["id"] == answer["tracked"][0]


def test_a_token_that_may_not_append_is_not_tracked(auto: Served, tmp_path: Path) -> None:
    with caller(auto, "reader") as reader:
        assert "tracked" not in reader.result("queryDecisions", {"query": "secrets"})
        frame = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {"query": "secrets", **AUTO}}
        answer = reader.http.post("/cstp", json=frame)
        assert answer.status_code == 403
        assert "append" in answer.json()["detail"]
    words = ("token", "add", "x", "--scope", "read", "--deliberation", "auto")
    assert "may not append" in refused(tmp_path / "l.db", *words)


def test_a_stated_deliberation_stays_first(cstp: Caller, agent: str) -> None:
    given = {
        "inputs": [{"id": "own", "text": "mine"}],
        "steps": [{"step": 3, "thought": "mine", "inputs_used": ["own"]}],
    }
    cstp.result("queryDecisions", {"query": "", "agentId": agent, **AUTO})
    made = cstp.result("recordDecision", {"decision": "Go on", "agentId": agent, "deliberation": given})
    assert (made["deliberation_inputs_count"], "related_count" in made) == (2, False)
    stored = deliberation(cstp, made["id"])
    assert [(step["step"], step["thought"][:4]) for step in stored["steps"]] == [(3, "mine"), (4, "Quer")]
    assert stored["inputs"][0]["id"] == "own"


def test_the_wish_of_another_word_is_refused(cstp: Caller) -> None:
    for method, params in (("queryDecisions", {}), ("recordDecision", {"decision": "x y"})):
        code, message = cstp.error(method, {**params, "deliberation": "always"})
        assert code == -32602
        assert "deliberation: must be" in message


def test_pre_action_tracks_its_query_and_its_check_once(cstp: Caller, agent: str) -> None:
    cstp.record(decision="Drop the old table", project=agent)
    params = {"action": {"description": "Drop the old table"}, "idempotencyKey": f"key-{agent}", **AUTO}
    first = cstp.result("preAction", params)
    again = cstp.result("preAction", params)
    assert first["recorded"]["deliberation_inputs_count"] == 2
    assert [name[:2] for name in first["tracked"]] == ["q-", "g-"]
    assert (again["decisionId"], again["tracked"]) == (first["decisionId"], [])
    assert "rpc:anonymous" not in cstp.result("debugTracker")["sessions"]


@pytest.mark.slow
def test_a_kill_loses_no_tracked_call_and_a_retry_repeats_the_answer(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with served(ledger) as first, Caller(first.url) as cstp:
        cstp.record(decision="Rotate the secrets")
        answer = cstp.result("queryDecisions", {"query": "secrets", **AUTO})
        first.process.kill()
        first.process.wait()
    with served(ledger) as second, Caller(second.url) as cstp:
        params = {"decision": "Rotate the secrets of the broker", "idempotencyKey": "once", **AUTO}
        made, again = cstp.result("recordDecision", params), cstp.result("recordDecision", params)
        assert deliberation(cstp, made["id"])["inputs"][0]["id"] == answer["tracked"][0]
        for name in ("id", "related_count", "deliberation_inputs_count", "bridge_auto", "bridge_method"):
            assert made[name] == again[name]
        replayed = httpx.get(f"{second.url}/projections/thoughts").json()
        assert replayed["view"]["by_agent"]["anonymous"] == {"thoughts": 1, "taken_up": 1}
    assert tally(ledger, "replay", "--check").code == 0
