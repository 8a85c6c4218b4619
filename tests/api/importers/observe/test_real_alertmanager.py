"""Alerts of a real Alertmanager resolve decisions: what it sends by its webhook, and what it says when it is asked."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from examples import recompute_reviews
from tests.api.cli.command import done
from tests.support.server import served

PROGRAM = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason="needs Alertmanager")]

WAIT_S = 120.0
CONFIG = """\
route: {{receiver: t, group_by: [alertname], group_wait: 0s, group_interval: 1s, repeat_interval: 1s}}
receivers:
- name: t
  webhook_configs: [{{url: "{url}/observe/alertmanager", send_resolved: true}}]
"""


@contextmanager
def alertmanager(folder: Path, url: str) -> Iterator[httpx.Client]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "am.yml").write_text(CONFIG.format(url=url), encoding="utf-8")
    words = [f"--config.file={folder / 'am.yml'}", f"--storage.path={folder / 'am'}", "--cluster.listen-address="]
    with (folder / "am.log").open("wb") as log:
        process = subprocess.Popen([str(PROGRAM), *words, f"--web.listen-address={address}"], stderr=log)
    try:
        with httpx.Client(base_url=f"http://{address}") as client:
            wait_until(lambda: is_ready(client))
            yield client
    finally:
        process.terminate()
        process.wait()


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/-/ready").status_code == 200
    except httpx.ConnectError:
        return False


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.1)


def fire(client: httpx.Client, *names: str) -> None:
    alerts = [{"labels": {"alertname": name}} for name in names]
    client.post("/api/v2/alerts", json=alerts).raise_for_status()


def test_alerts_that_are_sent_resolve_decisions(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with (
        served(ledger) as server,
        alertmanager(tmp_path, server.url) as sent,
        httpx.Client(base_url=server.url) as client,
    ):
        fire(sent, "Watchdog")
        wait_until(lambda: b"alert:Watchdog" in client.get("/events").content)
        for name in ("Disk", "Net"):
            test = f"alert.silent:10s:subject=alert:{name};heartbeat_s=60"
            body = {"data": {"decision": f"restart {name}", "decision_id": name, "confidence": 0.8}, "test": test}
            client.post("/decisions", json=body).raise_for_status()
        fire(sent, "Net")

        def outcomes() -> dict[str, str | None]:
            return {one["decision_id"]: one["outcome"] for one in client.get("/tests").json()["tests"]}

        wait_until(lambda: None not in outcomes().values())
        assert outcomes() == {"Disk": "success", "Net": "failure"}
    done(ledger, "export", "--output", tmp_path / "audit")
    assert recompute_reviews.main(tmp_path / "audit" / "events.ndjson") == 0


def test_an_alertmanager_is_asked(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "record", "Begin")
    with alertmanager(tmp_path, "http://127.0.0.1:9") as asked:
        assert done(ledger, "observe", "alertmanager", str(asked.base_url)).text == (
            "alertmanager:main: 0 firing, without Watchdog\n"
        )
        fire(asked, "Watchdog", "Disk")
        silence = {
            "matchers": [{"name": "alertname", "value": "Disk", "isRegex": False}], "startsAt": "2026-01-01T00:00:00Z",
            "endsAt": "2100-01-01T00:00:00Z", "createdBy": "agent", "comment": "hush",
        }  # fmt: skip
        asked.post("/api/v2/silences", json=silence).raise_for_status()
        seen = json.loads(done(ledger, "observe", "alertmanager", str(asked.base_url), "--name", "eu", "--json").out)
        assert seen[0]["observed"] == "2 firing, with Watchdog"
    logged = [json.loads(line)["data"] for line in done(ledger, "log", "--json").text.splitlines()]
    first, second = [one for one in logged if one.get("event_type") == "alert.polled"]
    assert (first["subject"], "facts" in first) == ("alertmanager:main", False)
    assert second["subject"] == "alertmanager:eu"
    assert {"Disk", "Watchdog"} < set(second["facts"]["firing"])  # a silence hides nothing
