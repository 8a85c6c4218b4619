"""Alerts: what a server finds out, records once, and sends: drift, overdue reviews, unsigned checkpoints, verdicts."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import done
from tests.api.http.posted_evaluations import failed, finished, fresh, scored, started
from tests.api.http.posts import Json
from tests.api.http.webhook_receiver import receiving
from tests.api.http.webhooked import MODULE, QUICK, added, events_of, judge, state_of
from tests.support.server import served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def decided(name: str, days_ago: float, outcome: str | None, confidence: float = 0.9) -> list[Json]:
    """A decision some days ago, and its review."""
    moment = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
    data = {"decision_id": name, "decision": name, "confidence": confidence}
    events: list[Json] = [{"type": "decision.recorded.v1", "time": moment, "source": "/agents/scout", "data": data}]
    if outcome is not None:
        review = {"decision_id": name, "outcome": outcome}
        events.append({"type": "decision.reviewed.v1", "time": moment, "source": "/agents/scout", "data": review})
    return events


def test_drift_is_reported_once(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "drift", *QUICK)
        with served(ledger) as server:
            good = [event for n in range(120) for event in decided(f"good-{n}", 100 - n / 2, "success")]
            bad = [event for n in range(40) for event in decided(f"bad-{n}", 20 - n / 4, "failure")]
            assert httpx.post(f"{server.url}/events", json=good + bad).status_code == 201
        for _ in range(2):
            with served(ledger, module=MODULE) as server:
                receiver.wait_for(2, server.process)
                wait_until(lambda: len(events_of(ledger, "webhook.delivered.v1")) == 2, server.process)
    found = [one.event["data"] for one in receiver.received]
    assert sorted(alert["score"] for alert in found) == ["accuracy_drop", "brier_degradation"]
    assert {alert["agent"] for alert in found} == {"scout"}
    assert {(alert["recent_reviews"], alert["historical_reviews"]) for alert in found} == {(40, 120)}
    assert all(alert["p"] <= alert["level"] / 2 == 0.001 for alert in found)
    until = {datetime.fromisoformat(alert["until"]) for alert in found}
    assert [(end.weekday(), end.hour, end <= datetime.now(UTC)) for end in until] == [(0, 0, True)]
    assert len(events_of(ledger, "alert.drift_detected.v1")) == 2


def test_a_change_that_may_be_chance_is_not_reported(tmp_path: Path) -> None:
    """CheckDrift reports it, at a level of 5%; a server checks every agent every week."""
    ledger = tmp_path / "l.db"
    old = [(f"old-{n}", 110 - n, "success" if n % 5 else "failure") for n in range(60)]
    new = [(f"new-{n}", 20 - n / 2, "success" if n >= 10 else "failure") for n in range(20)]
    events = [event for case in (*old, *new) for event in decided(*case)]
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "drift", *QUICK)
        with served(ledger, module=MODULE) as server:
            assert httpx.post(f"{server.url}/events", json=events).status_code == 201
            call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.checkDrift", "params": {}}
            drift = httpx.post(f"{server.url}/cstp", json=call).json()["result"]
            time.sleep(2)
    assert drift["driftDetected"] is True
    assert events_of(ledger, "alert.drift_detected.v1") == []
    assert receiver.connections == 0


def test_a_review_is_reported_when_it_becomes_overdue(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    yesterday = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    soon = (datetime.now(UTC) + timedelta(seconds=8)).isoformat()
    done(ledger, "record", "Old news", "--id", "old", "--review-by", yesterday)
    with receiving() as receiver:
        endpoint, _ = added(ledger, receiver.url, "--event", "overdue-review", *QUICK)
        done(ledger, "record", "Soon", "--id", "soon", "--review-by", soon)
        done(ledger, "record", "Reviewed", "--id", "reviewed", "--review-by", soon)
        done(ledger, "record", "Late already", "--id", "late", "--review-by", yesterday)
        done(ledger, "review", "reviewed", "--outcome", "success")
        for _ in range(2):
            with served(ledger, module=MODULE) as server:
                receiver.wait_for(2, server.process)
                wait_until(lambda: state_of(ledger, endpoint)["delivered"] == 2, server.process)
    found = sorted((one.event["data"] for one in receiver.received), key=lambda alert: str(alert["decision_id"]))
    assert [alert["decision_id"] for alert in found] == ["late", "soon"]
    assert found[0]["agent"] == "anonymous"
    assert datetime.fromisoformat(found[1]["review_by"]) == datetime.fromisoformat(soon)


def test_an_unsigned_checkpoint_is_reported(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    done(ledger, "record", "Use a pool")
    done(ledger, "checkpoint")
    key = ledger.with_name("l.db.key")
    kept = key.read_bytes()
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "unsigned-checkpoint", *QUICK)
        with served(ledger, module=MODULE):
            done(ledger, "record", "Signed")
        assert receiver.connections == 0
        key.write_bytes(b"not a key\n")
        for _ in range(2):
            with served(ledger, module=MODULE) as server:
                receiver.wait_for(1, server.process)
                wait_until(lambda: len(events_of(ledger, "webhook.delivered.v1")) == 1, server.process)
        (only,) = receiver.received
    assert only.event["type"] == "alert.checkpoint_unsigned.v1"
    assert "l.db.key" in only.event["data"]["reason"]
    assert only.event["data"]["head_position"] == 3
    assert len(events_of(ledger, "alert.checkpoint_unsigned.v1")) == 1
    key.write_bytes(kept)


def test_the_gate_judges_what_has_a_baseline(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "gate", *QUICK)
        with served(ledger, module=MODULE) as server:
            judge(server, 2)
            worse = fresh()
            events = [started(worse, "suite", agent="triage"), scored(worse, "one", 20.0), finished(worse)]
            httpx.post(f"{server.url}/events", json=events).raise_for_status()
            alone = fresh()
            events = [started(alone, "other"), scored(alone, "one", 20.0), finished(alone)]
            httpx.post(f"{server.url}/events", json=events).raise_for_status()
            passed, failed = receiver.wait_for(2, server.process)
    assert passed.event["data"]["verdict"] == "passed"
    assert failed.event["data"]["verdict"] == "unusable"  # one attempt at one scenario proves nothing
    assert failed.event["data"]["run_id"] == worse
    assert failed.event["data"]["regressions"] == 1
    assert failed.event["data"]["reasons"] == ["1 regression, and too few attempts to test for chance"]
    assert (failed.event["data"]["mean"], failed.event["data"]["baseline_mean"]) == (20.0, 80.0)
    assert len(events_of(ledger, "alert.gate_judged.v1")) == 2


def test_a_run_that_was_reopened_is_judged_at_each_end(tmp_path: Path) -> None:
    ledger = tmp_path / "l.db"
    with receiving() as receiver:
        added(ledger, receiver.url, "--event", "gate", *QUICK)
        with served(ledger, module=MODULE) as server:
            judge(server, 1)
            run = fresh()
            ends = [started(run, "suite", agent="triage"), failed(run, "one"), finished(run)]
            httpx.post(f"{server.url}/events", json=ends).raise_for_status()
            receiver.wait_for(1, server.process)
            reopened = {"type": "eval.reopened.v1", "data": {"run_id": run}}
            again = [reopened, scored(run, "one", 80.0), finished(run)]
            httpx.post(f"{server.url}/events", json=[*again, *again, reopened]).raise_for_status()
            other = fresh()
            later = [started(other, "suite", agent="triage"), scored(other, "one", 80.0), finished(other)]
            httpx.post(f"{server.url}/events", json=later).raise_for_status()
            wait_until(lambda: of_run(ledger, other), server.process)
        with served(ledger, module=MODULE) as server:
            httpx.post(f"{server.url}/events", json=[finished(run)]).raise_for_status()
            wait_until(lambda: len(of_run(ledger, run)) > 1, server.process)
    first, last = of_run(ledger, run)
    assert first["alert_id"] != last["alert_id"]
    assert (first["errors"], last["errors"], last["verdict"]) == (1, 0, "passed")


def of_run(ledger: Path, run: str) -> list[Json]:
    """The verdicts of the gate on a run."""
    found = events_of(ledger, "alert.gate_judged.v1")
    return [event["data"] for event in found if event["data"]["run_id"] == run]


@pytest.mark.parametrize("agent", [None, "tallystick"])
def test_only_the_server_appends_these_events(tmp_path: Path, agent: str | None) -> None:
    ledger = tmp_path / "l.db"
    headers = {}
    if agent is not None:
        words = ("token", "add", agent, "--scope", "admin", "--scope", "append", "--scope", "import")
        headers["authorization"] = f"Bearer {done(ledger, *words).text.strip()}"
    forged = {"endpoint_id": "x", "after": 0, "kinds": ["gate"]}
    with served(ledger) as server:
        body = {"type": "webhook.started.v1", "data": forged}
        answer = httpx.post(f"{server.url}/events", json=body, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["type"] == "urn:tallystick:problem:server-only"
        assert answer.json()["field"] == "type"
        alert = {"alert_id": "a", "decision_id": "d", "agent": "a", "review_by": "2026-01-01"}
        body = {"type": "alert.review_overdue.v1", "data": alert}
        assert httpx.post(f"{server.url}/events", json=[body], headers=headers).status_code == 403
        listed = httpx.get(f"{server.url}/projections/webhooks", headers=headers).json()
    assert listed["view"] == {"endpoints": []}
