"""Webhooks of guardrails that fired: a real server, a real receiver, and the package of Standard Webhooks."""

import time
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done
from tests.api.http.posts import Json
from tests.api.http.webhook_receiver import receiving
from tests.api.http.webhooked import MODULE, QUICK, added, ends_of, events_of, state_of
from tests.support.server import Served, served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

GUARDRAIL = ("--event", "guardrail", *QUICK)
RULES = b"""
- {id: stop, condition_stakes: high, action: block, message: Ask a person}
- {id: tell, condition_category: tooling, action: warn, message: Tell the team}
"""


def check(server: Served, **action: object) -> Json:
    """Check an action."""
    answer = httpx.post(f"{server.url}/guardrails/check", json={"action": {"description": "Do it", **action}})
    assert answer.status_code == 201
    found: Json = answer.json()
    return found


def test_each_evaluation_in_which_a_rule_fired_arrives_once_in_order_and_verifies(tmp_path: Path) -> None:
    package = pytest.importorskip("standardwebhooks")
    ledger = tmp_path / "l.db"
    done(ledger, "guardrail", "set", given=RULES)
    with receiving() as receiver:
        endpoint, secret = added(ledger, receiver.url, *GUARDRAIL)
        with served(ledger, module=MODULE) as server:
            check(server)
            blocked = check(server, stakes="high")
            check(server, stakes="low")
            warned = check(server, category="tooling")
            body = {"data": {"decision": "Do it", "stakes": "high", "category": "tooling"}}
            recorded = httpx.post(f"{server.url}/decisions", json=body).json()
            check(server)
            receiver.wait_for(3, server.process)
            wait_until(lambda: len(ends_of(ledger, endpoint)) == 3, server.process)
            assert state_of(ledger, endpoint)["waiting"] == 0
            wait_until(
                lambda: "tallystick_webhook_waiting_events 0.0" in httpx.get(f"{server.url}/metrics").text,
                server.process,
            )
            time.sleep(0.3)
    assert len(receiver.received) == 3
    first, second, third = receiver.received
    for message in (first, second, third):
        assert package.Webhook(secret).verify(message.body, message.headers) == message.event
        assert message.event["type"] == "guardrail.evaluated.v1"
    assert [first.position, second.position] == [blocked["position"], warned["position"]]
    assert (first.event["data"]["allowed"], second.event["data"]["allowed"]) == (False, True)
    assert third.event["data"]["decision_id"] == recorded["decision_id"]
    assert {row["guardrail_id"] for row in third.event["data"]["results"]} == {"stop", "tell"}
    assert ends_of(ledger, endpoint) == [("delivered", message.position) for message in receiver.received]


def test_a_receiver_that_was_down_gets_what_fired_and_only_that_is_counted(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    done(ledger, "guardrail", "set", given=RULES)
    with receiving() as receiver:
        port, url = receiver.port, receiver.url
    endpoint, _ = added(ledger, url, *GUARDRAIL)
    with served(ledger, module=MODULE) as server:
        for number in range(60):
            check(server, stakes="high" if number % 20 == 0 else "low")
        server.wait_for("webhook failed", failures=3)
        assert state_of(ledger, endpoint)["waiting"] == 3
        wait_until(
            lambda: "tallystick_webhook_waiting_events 3.0" in httpx.get(f"{server.url}/metrics").text, server.process
        )
        server.process.kill()
        server.process.wait()
    with served(ledger, module=MODULE) as server, receiving(port=port) as receiver:
        receiver.wait_for(3, server.process)
        wait_until(lambda: len(ends_of(ledger, endpoint)) == 3, server.process)
        positions = [event["position"] for event in fired(ledger)]
        assert receiver.first_positions() == positions
        wait_until(
            lambda: "tallystick_webhook_waiting_events 0.0" in httpx.get(f"{server.url}/metrics").text, server.process
        )


def test_what_is_older_than_the_limit_is_given_up_although_nothing_fired_between(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    done(ledger, "guardrail", "set", given=RULES)
    with receiving() as receiver:
        url = receiver.url
    endpoint, _ = added(ledger, url, "--event", "guardrail", "--allow-private", "--first-wait", "0.2",
                        "--longest-wait", "1", "--timeout", "1", "--give-up-after", "1")  # fmt: skip
    with served(ledger, module=MODULE) as server:
        for stakes in ("high", "low", "low", "high"):
            check(server, stakes=stakes)
        wait_until(lambda: len(ends_of(ledger, endpoint)) == 2, server.process)
        assert ends_of(ledger, endpoint) == [("abandoned", event["position"]) for event in fired(ledger)]
        wait_until(
            lambda: "tallystick_webhook_waiting_events 0.0" in httpx.get(f"{server.url}/metrics").text, server.process
        )


def test_a_webhook_of_another_kind_gets_no_evaluation(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    done(ledger, "guardrail", "set", given=RULES)
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "gate", *QUICK)
        everything, _ = added(ledger, receiver.url.replace("key=1", "key=2"), *QUICK)
        with served(ledger, module=MODULE) as server:
            check(server, stakes="high")
            (only,) = receiver.wait_for(1, server.process)
            wait_until(lambda: len(ends_of(ledger, everything)) == 1, server.process)
    assert only.path == "/hook?key=2"
    listed = msgspec.json.decode(done(ledger, "webhook", "list", "--json").out)
    assert "guardrail" in listed[1]["kinds"]


def fired(ledger: Path) -> list[Json]:
    """The evaluations of a ledger in which a rule fired."""
    events = events_of(ledger, "guardrail.evaluated.v1")
    return [event for event in events if any(row["outcome"] == "fired" for row in event["data"].get("results", ()))]
