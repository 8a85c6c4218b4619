"""Automatic deliberation links a decision to those that its agent's queries found."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.command import done, tally
from tests.api.cstp.client import Caller
from tests.api.http.posts import head
from tests.support.server import Served, served

AUTO = {"deliberation": "auto"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "ledger.db") as running:
        yield running


@pytest.fixture
def cstp(server: Served) -> Iterator[Caller]:
    with Caller(server.url) as caller:
        yield caller


def links(cstp: Caller) -> list[dict[str, Any]]:
    """The events that link decisions, in the order of the log."""
    page = cstp.http.get("/events", params={"type": "decision.linked.v1", "limit": "1000"}).json()
    found: list[dict[str, Any]] = page["events"]
    return found


@pytest.mark.trial("D8")
def test_a_decision_is_linked_once_to_each_decision_that_a_query_found(cstp: Caller) -> None:
    keys = cstp.record(decision="Rotate the keys of the broker")
    certificates = cstp.record(decision="Rotate the certificates of the gateway")
    cstp.record(decision="Buy a bigger lamp")
    rows: dict[str, float] = {}
    for query in ("rotate keys broker", "rotate certificates"):
        for row in cstp.result("queryDecisions", {"query": query, "retrievalMode": "keyword", **AUTO})["decisions"]:
            rows[row["id"]] = min(rows.get(row["id"], 2.0), row["distance"])
    assert set(rows) == {keys, certificates}
    before = head(cstp.http)
    made = cstp.result("recordDecision", {"decision": "Rotate the tokens", **AUTO})
    assert (made["related_count"], made["graph_edges_created"]) == (2, 2)
    stored = links(cstp)
    assert head(cstp.http) == before + 5, "the decision, two adoptions and two links"
    nearest = sorted(rows, key=lambda name: (rows[name], name))
    assert [event["data"]["target_id"] for event in stored] == nearest
    for event in stored:
        data = event["data"]
        assert (data["source_id"], data["edge_type"], data["created_by"]) == (made["id"], "relates_to", "auto-link")
        assert data["weight"] == max(0.01, round(1 - rows[data["target_id"]], 3))
        assert event["time"] == cstp.http.get(f"/events/{before + 1}").json()["time"], "one append"
    around = cstp.result("getNeighbors", {"nodeId": made["id"]})["neighbors"]
    assert {row["node"]["id"] for row in around} == {keys, certificates}
    assert {row["edge"]["createdBy"] for row in around} == {"auto-link"}
    related = cstp.decision(made["id"])["related_to"]
    assert {row["id"]: row["distance"] for row in related} == {
        name: pytest.approx(min(rows[name], 0.99), abs=0.001) for name in rows
    }


def test_a_listing_and_an_empty_answer_link_nothing(cstp: Caller) -> None:
    """The reference server relates a listing at distance 0, which links every decision to the five newest ones."""
    for number in range(6):
        cstp.record(decision=f"Decision {number}")
    cstp.result("queryDecisions", {"query": "", **AUTO})
    cstp.result("queryDecisions", {"query": "   ", **AUTO})
    cstp.result("queryDecisions", {"query": "nothing-like-this", **AUTO})
    made = cstp.result("recordDecision", {"decision": "Go on", **AUTO})
    assert made["deliberation_inputs_count"] == 3
    assert "related_count" not in made
    assert "graph_edges_created" not in made
    assert links(cstp) == []


def test_without_automatic_deliberation_nothing_is_linked(cstp: Caller) -> None:
    cstp.record(decision="Rotate the keys")
    cstp.result("queryDecisions", {"query": "rotate"})
    made = cstp.result("recordDecision", {"decision": "Rotate the tokens", **AUTO})
    assert "graph_edges_created" not in made
    assert links(cstp) == []


def test_a_stated_relation_is_kept_and_not_linked_twice(cstp: Caller) -> None:
    keys, tokens = cstp.record(decision="Rotate the keys"), cstp.record(decision="Rotate the tokens")
    cstp.result("queryDecisions", {"query": "rotate", **AUTO})
    stated = [{"id": keys, "summary": "as then", "distance": 0.4}]
    made = cstp.result("recordDecision", {"decision": "Rotate all", "relatedTo": stated, **AUTO})
    assert (made["related_count"], made["graph_edges_created"]) == (2, 2)
    found = {event["data"]["target_id"]: event["data"] for event in links(cstp)}
    assert set(found) == {keys, tokens}
    assert (found[keys]["weight"], found[keys]["context"], "created_by" in found[keys]) == (0.6, "as then", False)
    assert found[tokens]["created_by"] == "auto-link"


def test_only_the_five_nearest_of_a_query_are_linked(cstp: Caller) -> None:
    for number in range(8):
        cstp.record(decision=f"Rotate the keys of service {number}")
    assert len(cstp.result("queryDecisions", {"query": "rotate keys", **AUTO})["decisions"]) == 8
    assert cstp.result("recordDecision", {"decision": "Rotate them all"})["graph_edges_created"] == 5
    assert len(links(cstp)) == 5


@pytest.mark.slow
@pytest.mark.trial("D8")
def test_repeated_calls_link_once_also_after_a_kill(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    params = {"decision": "Rotate the tokens", "idempotencyKey": "once", **AUTO}
    action = {"action": {"description": "Rotate the keys again"}, "idempotencyKey": "acted", **AUTO}
    with served(ledger) as first, Caller(first.url) as cstp:
        cstp.record(decision="Rotate the keys")
        cstp.result("queryDecisions", {"query": "rotate", **AUTO})
        made = cstp.result("recordDecision", params)
        acted = cstp.result("preAction", action)
        assert acted["recorded"]["graph_edges_created"] == 2
        assert {event["data"]["source_id"] for event in links(cstp)} == {made["id"], acted["decisionId"]}
        before = head(cstp.http)
        first.process.kill()
        first.process.wait()
    with served(ledger) as second, Caller(second.url) as cstp:
        again = cstp.result("recordDecision", params)
        assert (again["id"], again["graph_edges_created"]) == (made["id"], 1)
        assert cstp.result("preAction", action)["recorded"] == acted["recorded"]
        assert head(cstp.http) == before
        other = {**params, "relatedTo": [{"id": made["id"]}]}
        assert "is taken" in cstp.error("recordDecision", other)[1]
        assert head(cstp.http) == before
    assert tally(ledger, "replay", "--check").code == 0
    assert tally(ledger, "verify").code == 0


def test_a_decision_that_is_recorded_over_http_or_by_command_is_linked_too(server: Served, tmp_path: Path) -> None:
    with Caller(server.url) as cstp:
        earlier = cstp.record(decision="Rotate the keys")
        cstp.result("queryDecisions", {"query": "rotate", **AUTO})
        body = {"data": {"decision": "Rotate the tokens", "decision_id": "over-http"}}
        first, again = cstp.http.post("/decisions", json=body), cstp.http.post("/decisions", json=body)
        assert (first.status_code, again.status_code) == (201, 200)
        assert (first.json()["links"], again.json()["links"]) == (1, 1)
        cstp.result("queryDecisions", {"query": "keys", **AUTO})
        said = done(tmp_path / "x.db", "record", "Rotate others", "--id", "by-command", "--url", server.url)
        assert "linked to 1 earlier decision" in said.err
        assert [(event["data"]["source_id"], event["data"]["target_id"]) for event in links(cstp)] == [
            ("over-http", earlier), ("by-command", earlier),
        ]  # fmt: skip
        plain = cstp.http.post("/decisions", json={"data": {"decision": "Rotate no more"}}).json()
        assert "links" not in plain
