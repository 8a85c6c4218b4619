"""POST /alertmanager: what fires is captured once for each incident, with its investigation; nothing else is stored."""

import asyncio
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.principal import Scope
from api.service.evaluation import alert_receiver
from api.token_store import TokenStore
from ledger.clock import system_clock
from tests.api.cli.capturing import scenarios
from tests.api.cli.command import done
from tests.api.http.posts import head
from tests.support.server import served

Json = dict[str, Any]

ADDRESS = "/alertmanager"
SECRET = "hunter2secret"
"""The credential of a URL, which must be nowhere."""
ID = "20261120T090000.123000Z-KubePodNotReady-c04b4d550f89c90e"

ALERT: Json = {
    "status": "firing",
    "labels": {
        "alertname": "KubePodNotReady", "cluster": "eu-1", "family": "pod_not_healthy", "namespace": "shop",
        "pod": "web-1", "severity": "critical",
    },
    "annotations": {
        "description": "Pod shop/web-1 is not ready for 15 minutes.",
        "runbook_url": "https://runbooks.example/kubepodnotready",
    },
    "startsAt": "2026-11-20T09:00:00.123Z",
    "endsAt": "0001-01-01T00:00:00Z",
    "generatorURL": f"http://ada:{SECRET}@prometheus.example/graph?g0.expr=up&token={SECRET}",
    "fingerprint": "c04b4d550f89c90e",
}  # fmt: skip

WEBHOOK: Json = {
    "receiver": "tallystick",
    "status": "firing",
    "alerts": [ALERT],
    "groupLabels": {"alertname": "KubePodNotReady"},
    "commonLabels": ALERT["labels"],
    "commonAnnotations": ALERT["annotations"],
    "externalURL": "http://alertmanager.example:9093",
    "version": "4",
    "groupKey": '{}:{alertname="KubePodNotReady"}',
    "truncatedAlerts": 0,
    "notificationReason": "a field of a newer Alertmanager",
}


def changed(**fields: object) -> Json:
    """The alert with other values; None removes one."""
    return {name: value for name, value in deepcopy({**ALERT, **fields}).items() if value is not None}


def sent(client: httpx.Client, *alerts: Json, **fields: object) -> Json:
    """What is answered to a webhook with some alerts."""
    response = client.post(ADDRESS, json={**WEBHOOK, "alerts": alerts, **fields})
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


def answered(*captured: str, known: int = 0, resolved: int = 0, truncated: int = 0) -> Json:
    return {"captured": list(captured), "known": known, "resolved": resolved, "truncated": truncated}


def stream(client: httpx.Client, scenario_id: str) -> list[Json]:
    response = client.get(f"/streams/scenario/{scenario_id}")
    assert response.status_code == 200, response.text
    events: list[Json] = response.json()["events"]
    return events


def test_a_firing_alert_is_captured_with_its_investigation(empty_client: httpx.Client) -> None:
    response = empty_client.post(ADDRESS, json=WEBHOOK)
    assert (response.status_code, response.json()) == (200, answered(ID))
    (event,) = stream(empty_client, ID)
    data = event["data"]
    assert event["type"] == "eval.scenario_captured.v1"
    assert (data["name"], data["family"], data["source"]) == ("KubePodNotReady", "pod_not_healthy", "alertmanager")
    assert (data["description"], data["fingerprint"]) == (ALERT["annotations"]["description"], ALERT["fingerprint"])
    assert not {"failure_type", "captured_by", "expectation_digest", "mode"} & data.keys()
    investigation = empty_client.get(f"/evidence/{data['investigation_digest']}").json()
    assert investigation["alert"] == {
        "fingerprint": ALERT["fingerprint"],
        "labels": ALERT["labels"],
        "annotations": ALERT["annotations"],
        "starts_at": "2026-11-20T09:00:00.123000Z",
        "ends_at": None,
        "generator_url": "http://prometheus.example/graph?g0.expr=up&token=[redacted]",
        "state": "active",
    }
    target = {"target_type": "pod", "namespace": "shop", "pod": "web-1", "cluster": "eu-1"}
    assert investigation["target"] == target
    assert investigation["time_window"]["window"] == "1h"


def test_a_repetition_with_other_annotations_writes_nothing(empty_client: httpx.Client) -> None:
    sent(empty_client, ALERT)
    written = head(empty_client)
    later = changed(annotations={"description": "Pod shop/web-1 is not ready for 4 hours."})
    assert sent(empty_client, later) == answered(known=1)
    elsewhere = changed(startsAt="2026-11-20T11:00:00.123+02:00")
    assert sent(empty_client, elsewhere, elsewhere) == answered(known=2)
    assert head(empty_client) == written


def test_an_alert_that_fires_again_is_another_incident(empty_client: httpx.Client) -> None:
    again = changed(startsAt="2026-11-21T09:00:00Z", generatorURL="", annotations={})
    other = "20261121T090000.000000Z-KubePodNotReady-c04b4d550f89c90e"
    assert sent(empty_client, ALERT, ALERT, again) == answered(ID, other, known=1)
    (event,) = stream(empty_client, other)
    assert "description" not in event["data"]


def test_replicas_that_send_at_the_same_time_capture_once(empty_client: httpx.Client) -> None:
    alerts = [ALERT, changed(fingerprint="0123456789abcdef")]

    async def all_at_once() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=empty_client.base_url) as client:
            posts = [client.post(ADDRESS, json={**WEBHOOK, "alerts": alerts[:count]}) for count in (1, 2) * 4]
            return await asyncio.gather(*posts)

    responses = asyncio.run(all_at_once())
    assert {response.status_code for response in responses} == {200}, [response.text for response in responses]
    captured = [captured for response in responses for captured in response.json()["captured"]]
    assert sorted(captured) == sorted([ID, ID.replace("c04b4d550f89c90e", "0123456789abcdef")])
    assert head(empty_client) == 4


def test_more_than_one_batch_is_captured(empty_client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_receiver, "SCENARIOS_PER_BATCH", 2)
    alerts = [changed(fingerprint=f"{number:016x}") for number in range(5)]
    answer = sent(empty_client, *alerts, truncatedAlerts=7)
    assert (len(answer["captured"]), answer["truncated"]) == (5, 7)
    assert sent(empty_client, *alerts) == answered(known=5)


def test_resolved_alerts_are_counted_and_not_stored(empty_client: httpx.Client) -> None:
    resolved = changed(status="resolved", endsAt="2026-11-20T10:00:00Z")
    assert sent(empty_client, resolved, status="resolved") == answered(resolved=1)
    assert sent(empty_client) == answered()
    assert head(empty_client) == 0
    assert sent(empty_client, ALERT, resolved) == answered(ID, resolved=1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "version"),
        ({**WEBHOOK, "version": "5"}, "version"),
        ({"version": "4", "receiver": "tallystick"}, "alerts"),
        ({**WEBHOOK, "alerts": [ALERT, changed(fingerprint=None)]}, "alerts[1].fingerprint"),
        ({**WEBHOOK, "alerts": [ALERT, changed(fingerprint="../x")]}, "alerts[1].fingerprint"),
        ({**WEBHOOK, "alerts": [ALERT, changed(startsAt="2026-11-20T09:00:00")]}, "alerts[1].startsAt"),
        ({**WEBHOOK, "alerts": [ALERT, changed(startsAt="0001-01-01T00:00:00+02:00")]}, "alerts[1].startsAt"),
        ({**WEBHOOK, "alerts": [ALERT, changed(status="pending")]}, "alerts[1].status"),
    ],
)
def test_what_is_no_webhook_is_refused_by_its_field(empty_client: httpx.Client, body: Json, field: str) -> None:
    response = empty_client.post(ADDRESS, json=body)
    assert response.status_code == 422, response.text
    problem = response.json()
    assert problem["field"] == field
    assert problem["advice"].endswith("Nothing was written.")
    assert head(empty_client) == 0


def test_labels_that_an_event_cannot_hold_stay_in_the_evidence_alone(empty_client: httpx.Client) -> None:
    labels = {"alertname": "../Pod not ready: " + "x" * 300, "family": "  "}
    answer = sent(empty_client, changed(labels=labels), changed(labels={}, fingerprint="0123456789abcdef"))
    assert answer["captured"] == [
        "20261120T090000.123000Z-...Pod-not-ready--xxxxx-c04b4d550f89c90e",
        "20261120T090000.123000Z--0123456789abcdef",
    ]
    for scenario_id in answer["captured"]:
        (event,) = stream(empty_client, scenario_id)
        assert not {"name", "family"} & event["data"].keys()
    (event,) = stream(empty_client, answer["captured"][0])
    kept = empty_client.get(f"/evidence/{event['data']['investigation_digest']}").json()
    assert kept["alert"]["labels"] == labels


def test_only_a_token_with_the_scope_append_may_send(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    tokens = TokenStore(path)
    held: dict[str, tuple[Scope, ...]] = {"reader": ("read",), "alerts": ("append",), "other": ("append", "read")}
    secrets = {name: tokens.add(name, scopes, system_clock())[1] for name, scopes in held.items()}
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None) as client:

        def send(name: str) -> httpx.Response:
            return client.post(ADDRESS, json=WEBHOOK, headers={"authorization": f"Bearer {secrets[name]}"})

        assert client.post(ADDRESS, json=WEBHOOK).status_code == 401
        assert send("reader").status_code == 403
        assert send("alerts").json() == answered(ID)
        assert send("other").json() == answered(known=1)
    ((_, data),) = scenarios(path)
    assert data["captured_by"] == "alerts"


def test_a_captured_alert_becomes_a_scenario_with_files(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with served(path) as server, httpx.Client(base_url=server.url, timeout=None) as client:
        sent(client, ALERT)
        assert SECRET not in client.get("/events").text
    assert not any(SECRET.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    ((_, data),) = scenarios(path)
    investigation = done(path, "evidence", "get", data["investigation_digest"]).out
    capture = ("eval", "capture", "--output", tmp_path / "captured" / ID, "--scenario-name", "Not ready")
    done(path, *capture, "--failure-type", "ImagePullBackOff", "--investigation", "-", given=investigation)
    (_, (kind, revised)) = scenarios(path)
    assert (kind, revised["scenario_id"], revised["failure_type"]) == ("revised", ID, "ImagePullBackOff")
    assert revised["investigation_digest"] == data["investigation_digest"]
