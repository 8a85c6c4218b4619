"""Webhooks of Alertmanager, GitHub and GitLab: who may send them, what is recorded, and that every body is stored."""

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from hmac import new as hmac_of
from pathlib import Path

import httpx
import pytest

from api.importers.observe.alerts import firing_facts
from api.importers.observe.registered import read_registered
from api.token_store import TokenStore
from instruments.errors import SourceUnreadable
from instruments.evals.capture.alertmanager import FiringAlert
from ledger.clock import system_clock
from ledger.errors import InvalidQuery
from projections.changes.recorded_requests import check_digest
from tests.support.server import served

Json = dict[str, object]

SECRET, REPO = "0123456789abcdef", "ab" * 8
HEAD, COMMIT = "a1" * 20, "c3" * 20
AT = 1_767_225_600
FINGERPRINT = "c04b4d550f89c90e"
FILE = f"""\
[webhooks.shop]
forge = "github"
secret_file = "shop.secret"
project = "acme/shop"
repository = "{REPO}"

[webhooks.lab]
forge = "gitlab"
secret_file = "shop.secret"
project = "acme/shop"
repository = "{REPO}"
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    (tmp_path / "observers.toml").write_text(FILE, encoding="utf-8")
    (tmp_path / "shop.secret").write_text(f"{SECRET}\n", encoding="utf-8")
    with (
        served(tmp_path / "t.db", "--observers", str(tmp_path / "observers.toml")) as server,
        httpx.Client(base_url=server.url, timeout=None) as client,
    ):
        yield client


def send(client: httpx.Client, path: str, body: object, headers: Mapping[str, str], status: int = 200) -> Json:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    if path.endswith("/shop"):
        headers = {"x-hub-signature-256": f"sha256={hmac_of(SECRET.encode(), content, sha256).hexdigest()}", **headers}
    response = client.post(path, content=content, headers={"content-type": "application/json", **headers})
    assert response.status_code == status, response.text
    answer: Json = response.json()
    return answer


def observed(client: httpx.Client) -> list[Json]:
    """What was observed of subjects, in the order of the log."""
    events = client.get("/events?limit=100").json()["events"]
    return [one["data"] for one in events if one["type"] == "observation.recorded.v2" and "subject" in one["data"]]


def seen(client: httpx.Client) -> list[tuple[object, object, object, object]]:
    return [(one["event_type"], one["subject"], one["occurred"], one.get("facts", {})) for one in observed(client)]


def alert(status: str, name: str | None = "Disk", ends: str = "0001-01-01T00:00:00Z") -> Json:
    labels = {} if name is None else {"alertname": name}
    return {
        "status": status, "labels": labels, "startsAt": "2026-01-01T00:00:00Z", "endsAt": ends,
        "fingerprint": FINGERPRINT,
    }  # fmt: skip


def test_alerts_begin_and_end(client: httpx.Client) -> None:
    alerts = [alert("firing"), alert("resolved", "Net", "2026-01-01T01:00:00Z"), alert("firing", None)]
    body = {"version": "4", "alerts": alerts, "receiver": "t"}
    answer = send(client, "/observe/alertmanager", body, {})
    content = json.dumps(body).encode()
    assert answer == {"digest": sha256(content).hexdigest(), "observed": 3}
    facts = {"fingerprint": FINGERPRINT, "since": AT}
    (fired, ended, unnamed) = seen(client)
    assert (fired[0], fired[1], fired[3]) == ("alert.fired", "alert:Disk", facts)
    assert ended == ("alert.resolved", "alert:Net", "2026-01-01T01:00:00.000000Z", facts)
    assert unnamed[1] == f"alert:{FINGERPRINT}"
    assert client.get(f"/evidence/{answer['digest']}").content == content
    send(client, "/observe/alertmanager", body, {})  # again: the body is stored once, what fires is seen again
    assert sum(one[0] == "alert.resolved" for one in seen(client)) == 1


def test_two_that_send_the_same_are_both_recorded(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "t.db")
    secrets = [tokens.add(name, ("append", "observe"), system_clock())[1] for name in ("am1", "am2")]
    reader = tokens.add("ann", ("read",), system_clock())[1]
    with served(tmp_path / "t.db") as server, httpx.Client(base_url=server.url, timeout=None) as client:
        body = {"version": "4", "alerts": [alert("resolved", ends="2026-01-01T01:00:00Z")]}
        for number in (1, 0):
            for secret in secrets:
                headers = {"authorization": f"Bearer {secret}"}
                assert send(client, "/observe/alertmanager", body, headers)["observed"] == number
        client.headers["authorization"] = f"Bearer {reader}"
        assert [one[1] for one in seen(client)] == ["alert:Disk", "alert:Disk"]


def test_an_end_that_is_not_stated_is_when_it_comes(client: httpx.Client) -> None:
    send(client, "/observe/alertmanager", {"version": "4", "alerts": [alert("resolved")]}, {})
    ((event_type, _, occurred, _),) = seen(client)
    assert (event_type, str(occurred) > "2026") == ("alert.resolved", True)


def test_a_body_that_is_not_understood_is_stored(client: httpx.Client) -> None:
    for path, body, headers in (
        ("alertmanager", b"{", {}),
        ("alertmanager", b'{"version": "5", "alerts": []}', {}),
        ("forge/shop", b'{"pull_request": {"number": 3}}', {"x-github-event": "pull_request"}),
        ("forge/lab", b'{"object_kind": "merge_request"}', {"x-gitlab-token": SECRET}),
        (
            "forge/lab",
            json.dumps(merge_request("open", "opened", 1, created_at="0001-01-01T00:00:00+14:00")).encode(),
            {"x-gitlab-token": SECRET},
        ),
    ):
        answer = send(client, f"/observe/{path}", body, headers, 400)
        digest = sha256(body).hexdigest()
        assert str(answer["detail"]).startswith(f"The body is stored as evidence {digest}, and is not understood: ")
        assert client.get(f"/evidence/{digest}").content == body
    assert seen(client) == []


def test_who_does_not_know_the_secret_writes_nothing(client: httpx.Client) -> None:
    for name, headers, status in (
        ("shop", {"x-hub-signature-256": "sha256=00"}, 401),
        ("shop", {"x-hub-signature-256": ""}, 401),
        ("lab", {"x-gitlab-token": "other"}, 401),
        ("lab", {}, 401),
        ("other", {}, 404),
    ):
        send(client, f"/observe/forge/{name}", {"zen": 100_000 * "."}, headers, status)
    assert client.get("/events").json()["events"] == []
    assert 'tallystick_limit_use{limit="body-bytes"} 0.0' in client.get("/metrics").text


SHOP: Json = {"repository": {"full_name": "acme/shop"}, "project": {"path_with_namespace": "acme/shop"}}


def pull(action: str, updated: int, **fields: object) -> Json:
    request = {
        "number": 3, "created_at": "2026-01-01T00:00:00Z", "updated_at": f"2026-01-01T0{updated}:00:00Z",
        "closed_at": None, "merged_at": None, "merge_commit_sha": "f0" * 20, "user": {"login": "Copilot"},
        "head": {"ref": "copilot/x", "sha": HEAD},
    }  # fmt: skip
    return {"action": action, "number": 3, "pull_request": request | fields, **SHOP}


def check(name: str, conclusion: str | None, head: str = HEAD) -> Json:
    return {
        "action": "completed",
        "check_run": {
            "name": name, "head_sha": head, "conclusion": conclusion, "completed_at": "2026-01-01T01:00:00Z",
            "pull_requests": [],
        },
        **SHOP,
    }  # fmt: skip


def test_requests_and_failed_checks_of_github(client: httpx.Client) -> None:
    def github(kind: str, body: Json) -> object:
        return send(client, "/observe/forge/shop", body, {"x-github-event": kind})["observed"]

    assert github("ping", {"zen": "."}) == 0
    opened = pull("opened", 0)
    assert github("pull_request", opened) == 1
    assert [github("check_run", check("test", result)) for result in ("failure", "success", None)] == [1, 0, 0]
    at = "2026-01-01T02:00:00Z"
    merged = pull("closed", 2, closed_at=at, merged_at=at, merge_commit_sha=COMMIT)
    assert [github("pull_request", body) for body in (merged, merged, opened)] == [1, 0, 0]  # the last one came late
    subject = f"pr:{REPO}:3"
    assert seen(client) == [
        ("forge.opened", subject, "2026-01-01T00:00:00.000000Z", {
            "agents": ["copilot"], "marks": ["author", "branch"], "head": HEAD, "sent": AT}),
        ("forge.check_failed", f"check:{REPO}:{HEAD}", "2026-01-01T01:00:00.000000Z", {"check": check_digest("test")}),
        ("forge.merged", subject, "2026-01-01T02:00:00.000000Z", {"commit": COMMIT, "sent": AT + 7_200}),
    ]  # fmt: skip
    assert {one["source"] for one in observed(client)} == {"forge"}


def test_a_head_that_comes_back_is_the_head_again(client: httpx.Client) -> None:
    for hour, head in enumerate((HEAD, COMMIT, HEAD, HEAD)):
        body = pull("synchronize", hour, head={"ref": "copilot/x", "sha": head})
        send(client, "/observe/forge/shop", body, {"x-github-event": "pull_request"})
    assert [one[3]["head"] for one in seen(client)] == [HEAD, COMMIT, HEAD]  # type: ignore[index]


def test_what_was_sent_before_and_comes_late_changes_nothing(client: httpx.Client) -> None:
    closed = {"closed_at": "2026-01-01T03:00:00Z"}
    pushed = {"head": {"ref": "x", "sha": COMMIT}}
    for body in (pull("synchronize", 2, **pushed), pull("opened", 0), pull("closed", 3, **closed, **pushed)):
        send(client, "/observe/forge/shop", body, {"x-github-event": "pull_request"})
    for body in (pull("reopened", 4, **pushed), pull("closed", 3, **closed, **pushed)):
        send(client, "/observe/forge/shop", body, {"x-github-event": "pull_request"})
    assert [one[0] for one in seen(client)] == ["forge.opened", "forge.closed", "forge.reopened"]


def test_what_is_about_something_else_or_no_request_is_not_recorded(client: httpx.Client) -> None:
    other = {**pull("opened", 0), "repository": {"full_name": "evil/other"}}
    for body, said in (
        (other, "It is about 'evil/other', the webhook about 'acme/shop'"),
        (pull("opened", 0, number=None), "Expected `int`, got `null`"),
        (pull("opened", 0, number=-3), "Expected `int` >= 1"),
        (pull("opened", 0, number=10**400), "Expected `int` <= 9007199254740991"),
        (pull("opened", 0, head={"ref": "a", "sha": "a:b"}), "Expected `str` matching regex"),
    ):
        answer = send(client, "/observe/forge/shop", body, {"x-github-event": "pull_request"}, 400)
        assert said in str(answer["detail"]), answer
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/observe/forge/shop", content=b"payload=", headers=form).status_code == 415
    assert seen(client) == []


def test_what_is_sent_again_is_recorded_though_its_body_was_erased(client: httpx.Client) -> None:
    body = {"version": "4", "alerts": [alert("resolved", ends="2026-01-01T01:00:00Z")]}
    digest = send(client, "/observe/alertmanager", body, {})["digest"]
    client.delete(f"/evidence/{digest}").raise_for_status()
    assert send(client, "/observe/alertmanager", body, {}) == {"digest": digest, "observed": 0}
    assert client.get(f"/evidence/{digest}").status_code == 410


def test_a_look_at_many_alerts_has_several_lists() -> None:
    def firing(number: int) -> list[FiringAlert]:
        return [
            FiringAlert(
                fingerprint=f"{one:016x}", labels={"alertname": f"a{one}"}, annotations={}, starts_at="", ends_at=None,
                generator_url=None, state="active",
            )
            for one in range(number)
        ]  # fmt: skip

    facts, text = firing_facts(firing(200))
    assert [*facts, text] == ["firing", "firing_1", "200 firing, without Watchdog"]
    assert [len(some) for some in facts.values() if isinstance(some, tuple)] == [256, 144]
    with pytest.raises(InvalidQuery, match="over 7,680 in one look"):
        firing_facts(firing(4_000))


def merge_request(action: str, state: str, updated: int, **fields: object) -> Json:
    attributes = {
        "iid": 3, "created_at": "2026-01-01 00:00:00 UTC", "updated_at": f"2026-01-01 0{updated}:00:00 UTC",
        "state": state, "action": action, "source_branch": "x", "last_commit": {"id": HEAD}, "merge_commit_sha": None,
    }  # fmt: skip
    return {
        "object_kind": "merge_request",
        "user": {"username": "Copilot"},
        "object_attributes": attributes | fields,
        **SHOP,
    }


def pipeline(*builds: Json) -> Json:
    return {
        "object_kind": "pipeline",
        "object_attributes": {"sha": HEAD},
        "builds": builds,
        "merge_request": None,
        **SHOP,
    }


def test_requests_and_failed_checks_of_gitlab(client: httpx.Client) -> None:
    def gitlab(body: Json) -> object:
        return send(client, "/observe/forge/lab", body, {"x-gitlab-token": SECRET})["observed"]

    build: Json = {"name": "test", "status": "failed", "finished_at": "2026-01-01 01:00:00 UTC"}
    assert gitlab({"object_kind": "note", **SHOP}) == 0
    assert gitlab(merge_request("open", "opened", 0)) == 1
    # another user pushes: whose request it is, is not known from that
    other = {**merge_request("update", "opened", 1, last_commit={"id": HEAD}), "user": {"username": "ann"}}
    assert gitlab(other) == 0
    assert (
        gitlab(pipeline(build, {**build, "name": "lint", "allow_failure": True}, {**build, "status": "success"})) == 1
    )
    assert gitlab(merge_request("merge", "merged", 2, merge_commit_sha=COMMIT)) == 1
    assert gitlab(merge_request("update", "merged", 5)) == 0
    assert [(one[0], one[2]) for one in seen(client)] == [
        ("forge.opened", "2026-01-01T00:00:00.000000Z"),
        ("forge.check_failed", "2026-01-01T01:00:00.000000Z"),
        ("forge.merged", "2026-01-01T02:00:00.000000Z"),
    ]
    assert gitlab(merge_request("reopen", "opened", 6)) == 1
    assert gitlab(merge_request("close", "closed", 7)) == 1
    assert seen(client)[-1][:3] == ("forge.closed", f"pr:{REPO}:3", "2026-01-01T07:00:00.000000Z")


def test_secrets_are_files_of_some_length(tmp_path: Path) -> None:
    file, secret = tmp_path / "observers.toml", tmp_path / "shop.secret"
    file.write_text(FILE, encoding="utf-8")
    webhook = read_registered(file).webhooks["shop"]
    with pytest.raises(SourceUnreadable, match=r"shop.secret cannot be read"):
        webhook.secret(tmp_path)
    secret.write_text("short\n", encoding="utf-8")
    with pytest.raises(SourceUnreadable, match="at least 16 characters"):
        webhook.secret(tmp_path)
    secret.write_text(f" {SECRET}\n", encoding="utf-8")
    assert webhook.secret(tmp_path) == SECRET.encode()
