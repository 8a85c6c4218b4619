"""Whichever interface records a decision, the guardrails in force are evaluated, and the evaluation is in the log."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from api.mcp.decision_tools import DECISION_TOOLS, planned_action
from api.service.guardrails.action_check import PlannedAction
from tallystick import AsyncClient, Client
from tests.api.cli.command import done, refused
from tests.api.cstp.client import Caller
from tests.api.guardrails.test_permissions import YAML, Guarded
from tests.api.http.posts import head
from tests.support.server import Served, served, serving

RULES = b"""
- {id: careful, condition_stakes: high, condition_confidence: "< 0.5", action: block, message: "Only {confidence}."}
- {id: labels, condition_phase: record, condition_has_tags: false, action: warn, message: Add tags}
"""
EXPECTED = {"careful": ("Only 0.3.", "block"), "labels": ("Add tags", "warn")}
DECISION = {"decision": "Drop the table", "stakes": "high", "confidence": 0.3}
Rows = list[dict[str, Any]]
Record = Callable[[Served, Path, str], Rows]


def over_cstp(server: Served, ledger: Path, name: str) -> Rows:
    with Caller(server.url) as cstp:
        params = {**DECISION, "agentId": name, "idempotencyKey": name}
        warnings: Rows = cstp.result("recordDecision", params)["guardrail_warnings"]
    return warnings


def over_http(server: Served, ledger: Path, name: str) -> Rows:
    body = {"data": {**DECISION, "decision_id": name}, "source": f"/agents/{name}"}
    warnings: Rows = httpx.post(f"{server.url}/decisions", json=body).json()["guardrail_warnings"]
    return warnings


def by_command(server: Served, ledger: Path, name: str) -> Rows:
    words = ("record", "Drop the table", "--stakes", "high", "--confidence", 0.3, "--id", name, "--agent", name)
    said = done(ledger, *words, "--url", server.url)
    assert "Guardrail (block): Only 0.3. (careful)" in said.err
    assert said.text == f"{name}\n"
    answer = msgspec.json.decode(done(ledger, *words, "--url", server.url, "--json").out)
    warnings: Rows = answer["guardrail_warnings"]
    return warnings


def by_client(server: Served, ledger: Path, name: str) -> Rows:
    with Client(server.url, agent=name) as client:
        event = client.record("Drop the table", stakes="high", confidence=0.3, decision_id=name)
    return [msgspec.structs.asdict(warning) for warning in event.guardrail_warnings]


def by_async_client(server: Served, ledger: Path, name: str) -> Rows:
    async def record() -> Rows:
        async with AsyncClient(server.url, agent=name) as client:
            event = await client.record(
                "Drop the table", stakes="high", confidence=0.3, decision_id=name, question="drop?", thoughts=["Hm."]
            )
        return [msgspec.structs.asdict(warning) for warning in event.guardrail_warnings]

    return asyncio.run(record())


def over_events(server: Served, ledger: Path, name: str) -> Rows:
    data = {**DECISION, "decision_id": name}
    event = {"type": "decision.recorded.v1", "id": name, "source": f"/agents/{name}", "data": data}
    answer = httpx.post(f"{server.url}/events?guardrails=true", json=event)
    assert {"position", "id", "subject", "streamversion", "duplicate"} < answer.json().keys()
    warnings: Rows = answer.json()["guardrail_warnings"]
    return warnings


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    ledger = tmp_path_factory.mktemp("ruled") / "ledger.db"
    with served(ledger) as server:
        httpx.post(f"{server.url}/guardrails", json={"yaml": RULES.decode()}).raise_for_status()
        yield server, ledger


def evaluations(server: Served, agent: str) -> Rows:
    """The evaluations of an agent, in the order of the log."""
    query = {"type": "guardrail.evaluated.v1", "source": agent, "limit": "1000"}
    found: Rows = httpx.get(f"{server.url}/events", params=query).json()["events"]
    return found


@pytest.mark.trial("D2")
@pytest.mark.parametrize("record", [over_cstp, over_http, by_command, by_client, by_async_client, over_events])
def test_what_fires_is_answered_and_the_evaluation_is_in_the_log_once(
    ruled: tuple[Served, Path], record: Record
) -> None:
    server, ledger = ruled
    name = record.__name__.replace("_", "-")
    rows = record(server, ledger, name)
    assert {row["guardrail_id"]: (row["message"], row["severity"]) for row in rows} == EXPECTED
    (event,) = evaluations(server, name)
    data = event["data"]
    assert (data["phase"], data["allowed"], data["rules"]) == ("record", False, 2)
    assert {row["guardrail_id"] for row in data["results"]} == set(EXPECTED)
    state = httpx.get(f"{server.url}/decisions/{data['decision_id']}").json()
    assert (state["agent"], state["decision"]["decision"]) == (name, "Drop the table")
    position = httpx.get(f"{server.url}/readyz").json()["head"]
    assert record(server, ledger, name) == rows, "a repetition has the first answer"
    assert httpx.get(f"{server.url}/readyz").json()["head"] == position


def test_each_decision_of_a_batch_is_evaluated_with_the_thoughts_that_it_adopts(tmp_path: Path) -> None:
    rules = "- {id: think, condition_has_deliberation: false, action: block, message: Think first}"
    with served(tmp_path / "l.db") as server, httpx.Client(base_url=server.url) as http:
        http.post("/guardrails", json={"yaml": rules}).raise_for_status()
        http.post("/events", json={"type": "thought.recorded.v1", "data": {"thought_id": "t", "text": "x"}})
        events = [
            {"type": "decision.recorded.v1", "data": {"decision_id": "a", "decision": "x"}},
            {"type": "decision.recorded.v1", "data": {"decision_id": "b", "decision": "y"}},
            {"type": "thought.adopted.v1", "data": {"thought_id": "t", "decision_id": "b"}},
        ]
        answer = http.post("/events", params={"guardrails": "true"}, json=events).json()
        assert (answer["count"], len(answer["events"])) == (3, 3)
        assert answer["guardrail_warnings"] == [
            {"guardrail_id": "think", "message": "Think first", "severity": "block", "decision_id": "a"}
        ]
        assert head(http) == 1 + 1 + 3 + 2
        wrong = http.post("/events", params={"guardrails": "maybe"}, json=events[:1])
        assert (wrong.status_code, wrong.json()["field"]) == (400, "guardrails")
        assert head(http) == 7
        plain = http.post("/events", json={"type": "decision.recorded.v1", "data": {"decision": "z"}}).json()
        assert list(plain) == ["position", "id", "subject", "streamversion", "duplicate"]
        assert head(http) == 8, "without the parameter nothing is evaluated"


@pytest.mark.parametrize("written", ["file", "server"])
def test_without_rules_nothing_is_added_and_with_them_the_file_does_the_same(tmp_path: Path, written: str) -> None:
    ledger = tmp_path / "l.db"
    words = ("record", "Drop the table", "--stakes", "high", "--confidence", 0.3)

    def run(*options: str) -> None:
        plain = msgspec.json.decode(done(ledger, *words, *options, "--json").out)
        assert "guardrail_warnings" not in plain
        assert plain["position"] == 1
        done(ledger, "guardrail", "set", *options, given=RULES)
        answer = msgspec.json.decode(done(ledger, *words, *options, "--json").out)
        assert answer["position"] == 4, "one event for the decision before, and two rules"
        assert {row["guardrail_id"] for row in answer["guardrail_warnings"]} == set(EXPECTED)
        done(ledger, "guardrail", "retire", "careful", *options)
        done(ledger, "guardrail", "retire", "labels", *options)
        assert "guardrail_warnings" not in msgspec.json.decode(done(ledger, *words, *options, "--json").out)

    if written == "file":
        run()
    else:
        with serving(ledger) as url:
            run("--url", url)


def test_a_value_that_a_rule_cannot_compare_is_a_warning(tmp_path: Path) -> None:
    rules = '- {id: number, condition_amount: "> 3", action: block}'
    with served(tmp_path / "l.db") as server, Caller(server.url) as cstp:
        cstp.http.post("/guardrails", json={"yaml": "{id: other, condition_stakes: low}"}).raise_for_status()
        action = {"description": "x", "context": {"amount": "many"}}
        check_id = cstp.result("checkGuardrails", {"action": action})["checkId"]
        cstp.http.post("/guardrails", json={"yaml": rules}).raise_for_status()
        (warning,) = cstp.result("recordDecision", {"decision": "x", "checkId": check_id})["guardrail_warnings"]
        assert (warning["guardrail_id"], warning["severity"]) == ("not-evaluated", "block")
        assert "is not a number" in warning["message"]


@pytest.mark.trial("N6")
def test_every_interface_says_what_is_noticeable_about_the_rules_it_sets(tmp_path: Path) -> None:
    rules = '- {id: typo, condition_confidense: "< 0.5"}\n- {id: never, condition_confidence: "> 1"}'
    with served(tmp_path / "l.db") as server, httpx.Client(base_url=server.url) as http:
        over_http = http.post("/guardrails", json={"yaml": rules}).json()["warnings"]
        (tmp_path / "rules.yaml").write_text(rules)
        words = ("guardrail", "set", tmp_path / "rules.yaml", "--url", server.url)
        assert msgspec.json.decode(done(tmp_path / "l.db", *words, "--json").out)["warnings"] == over_http
        said = done(tmp_path / "l.db", *words).err
    assert [row["guardrail_id"] for row in over_http] == ["typo", "never"]
    assert "warning: typo: No action has stated confidense so far: is confidence meant?" in said
    assert "warning: never: It never fires" in said


@pytest.mark.trial("N5")
def test_what_the_context_overrides_is_named(tmp_path: Path) -> None:
    action = {"description": "x", "stakes": "high", "confidence": 0.1, "context": {"stakes": "low", "confidence": 0.1}}
    with served(tmp_path / "l.db") as server, Caller(server.url) as cstp:
        cstp.http.post("/guardrails", json={"yaml": RULES.decode()}).raise_for_status()
        answer = cstp.http.post("/guardrails/check", json={"action": action}).json()
        assert (answer["allowed"], answer["overridden"]) == (True, ["stakes"])
        assert cstp.result("checkGuardrails", {"action": action})["overridden"] == ["stakes"]
        words = ("guardrail", "check", "x", "--stakes", "high", "--context", "stakes=low", "--url", server.url)
        assert "read from --context instead of the option: stakes" in done(tmp_path / "l.db", *words).text


@pytest.mark.trial("N5")
def test_in_mcp_an_argument_wins_over_the_context() -> None:
    given = {"description": "x", "stakes": "high", "context": {"stakes": "low", "owner": "ann"}}
    (params,) = (tool.params for tool in DECISION_TOOLS if tool.name == "check_action")
    stated = planned_action(msgspec.convert(given, params))
    assert stated == PlannedAction(description="x", stakes="high", context={"owner": "ann"})


@pytest.mark.trial("N4")
def test_an_action_that_could_not_be_stored_is_refused_before_any_rule_reads_it(tmp_path: Path) -> None:
    conditions = ", ".join(["{field: description, operator: contains, value: xyz}"] * 100)
    many = "\n".join(f"- {{id: r{number}, conditions: [{conditions}]}}" for number in range(50))
    with served(tmp_path / "l.db") as server, httpx.Client(base_url=server.url) as http:
        http.post("/guardrails", json={"yaml": many}).raise_for_status()
        answer = http.post("/guardrails/check", json={"action": {"description": "z" * 300_000}})
        assert (answer.status_code, answer.json()["type"]) == (413, "urn:tallystick:problem:line-too-long")
        assert answer.json()["detail"].startswith("The action is 300,")
        assert http.get("/status").json()["head"]["position"] == 50


def test_a_token_that_may_only_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path)
    body = {"action": {"description": "Drop the table"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.checkGuardrails", "params": body}
    with serving(guarded.ledger) as guarded.url:
        without = guarded.send("reader", "POST", "/guardrails/check", body)
        assert (without.status_code, without.json()["allowed"], without.json()["check_id"]) == (201, True, None)
        assert guarded.send("reader", "POST", "/cstp", call).json()["result"]["allowed"] is True
        assert guarded.send("owner", "POST", "/guardrails", {"yaml": YAML}).status_code == 200
        before = guarded.head()
        for path, sent in (("/guardrails/check", body), ("/cstp", call)):
            answer = guarded.send("reader", "POST", path, sent)
            problem = answer.json()
            assert answer.status_code == 403
            assert problem["detail"].startswith("reader asked whether an action is allowed. 1 guardrail would be")
            assert "the token of reader lacks the scope 'append'" in problem["detail"]
            assert "tallystick token add reader --scope append" in problem["detail"]
        assert guarded.head() == before


def test_the_command_checks_as_an_agent(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with served(ledger) as server:
        done(ledger, "guardrail", "check", "Do it", "--agent", "over-http", "--url", server.url)
    done(ledger, "guardrail", "check", "Do it", "--agent", "in-file")
    checks = [msgspec.json.decode(line) for line in done(ledger, "log", "--json").out.splitlines()]
    assert [event["source"] for event in checks] == ["/agents/over-http", "/agents/in-file"]
    assert "cannot be the name of an agent" in refused(ledger, "guardrail", "check", "x", "--agent", "no name")


def test_a_rule_names_the_decisions_that_were_recorded_although_it_fired(ruled: tuple[Served, Path]) -> None:
    server, ledger = ruled
    for name in ("named-1", "named-2"):
        over_http(server, ledger, name)
    httpx.post(f"{server.url}/reviews", json={"data": {"decision_id": "named-1", "outcome": "failure"}})
    row = httpx.get(f"{server.url}/guardrails/careful").json()
    assert row["latest_fired"][:2] == ["named-2", "named-1"]
    shown = done(ledger, "guardrail", "show", "careful", "--url", server.url).text
    assert "named-2, named-1" in shown
    assert "recorded nevertheless: 1 failure, " in shown
    assert "latest_fired" not in httpx.get(f"{server.url}/guardrails").json()["guardrails"][0]
