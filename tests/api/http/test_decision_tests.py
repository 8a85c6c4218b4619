"""Tests of decisions over HTTP, and stated through every interface: the same statement gives the same event."""

from pathlib import Path

import httpx
import pytest

from tallystick import Client
from tests.api.cli.command import done
from tests.api.cstp.client import Caller
from tests.api.http.posts import Json, get, post
from tests.support.server import served

COMMIT, REPO = "a1" * 20, "ab" * 8


def observation(event_type: str, subject: str, occurred: str, **facts: object) -> Json:
    data = {"event_type": event_type, "source": "git", "subject": subject, "occurred": occurred, "facts": facts}
    return {"type": "observation.recorded.v2", "data": data}


def scan(through: str) -> Json:
    data = {
        "scan_id": "s1",
        "source": "git",
        "scope": REPO,
        "through": through,
        "head": "h",
        "reader": 1,
        "subjects": 1,
    }
    return {"type": "observation.scanned.v1", "data": data}


def test_a_decision_is_resolved_over_http(empty_client: httpx.Client) -> None:
    body = {"data": {"decision": "d", "decision_id": "d1"}, "test": f"git.kept:14d:subject=commit:{COMMIT[:8]}"}
    empty_client.post("/decisions", json=body).raise_for_status()
    landed = observation("git.landed", f"git:{REPO}:{COMMIT}", "2026-01-01T00:00:00Z", born=3)
    post(empty_client, landed)
    post(empty_client, scan("2026-01-15T00:00:00Z"))
    listed = empty_client.post("/tests/resolve?dry_run=true").json()
    assert get(empty_client, "/tests")["tests"][0]["reviewed_by"] is None
    resolved = empty_client.post("/tests/resolve").json()
    assert resolved == listed
    (test,) = get(empty_client, "/tests", state="succeeded")["tests"]
    assert resolved["resolved"] == [test]
    assert (test["decision_id"], test["outcome"], test["reviewed_by"]) == ("d1", "success", "/resolvers/git.kept.v1")
    review = get(empty_client, "/decisions/d1")["review"]
    assert (review["rule"], review["basis"], review["due"]) == ("git.kept", "deadline", "2026-01-15T00:00:00.000000Z")
    assert review["evidence"] == test["evidence"]
    assert empty_client.post("/tests/resolve").json()["resolved"] == []
    refused = empty_client.post("/decisions", json={"data": {"decision": "d"}, "test": "git.kep"}).json()
    assert (refused["detail"], refused["field"]) == ("'git.kep' is not a rule.", "test")


def test_every_interface_states_the_same_test(tmp_path: Path) -> None:
    text, ledger = "git.kept:7d:fixes=ignore", tmp_path / "t.db"
    with served(ledger) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        client.post("/decisions", json={"data": {"decision": "http"}, "test": text}).raise_for_status()
        Caller(client).result("recordDecision", {"decision": "cstp", "test": text})
        done(ledger, "record", "line", "--test", text)
        with Client(server.url, agent="a") as python:
            python.record("python", test=text)
        stated = [event["data"] for event in get(client, "/events", type="decision.test_stated.v1")["events"]]
        assert len(stated) == 4
        for data in stated:
            data.pop("decision_id")
            assert data == {"rule": "git.kept", "version": 1, "params": {"fixes": "ignore"}, "window_s": 604_800}


@pytest.mark.parametrize("rule", ["git.kept:14d", "git.kept"])
def test_a_posted_statement_is_completed(empty_client: httpx.Client, rule: str) -> None:
    post(empty_client, {"type": "decision.recorded.v1", "data": {"decision": "d", "decision_id": "d1"}})
    post(empty_client, {"type": "decision.test_stated.v1", "data": {"decision_id": "d1", "rule": rule}})
    assert [one["test"] for one in get(empty_client, "/tests")["tests"]] == ["git.kept:14d"]
