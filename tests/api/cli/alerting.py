"""Alertmanagers on a real socket: Debian's own, and one that misbehaves as a test says."""

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx
import pytest

from tests.support.http_stub import bind, listening

Json = dict[str, Any]

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
CONFIGURATION = "route:\n  receiver: nobody\nreceivers:\n  - name: nobody\n"
POLL_S = 0.02

installed = pytest.mark.skipif(
    PROGRAM is None, reason="no Alertmanager is installed here: apt-get install prometheus-alertmanager"
)


def labelled(name: str, since: str = "2026-11-20T09:00:00Z", **labels: str) -> Json:
    """An alert, to be posted."""
    return {
        "labels": {"alertname": name, "namespace": "shop", "severity": "critical", **labels},
        "annotations": {"summary": f"{name} is firing"},
        "startsAt": since,
        "generatorURL": "http://prometheus.example/graph?g0.expr=up",
    }


class Firing:
    """A running Alertmanager: its address, and what it says is firing."""

    def __init__(self, url: str) -> None:
        self.url = url

    def post(self, *alerts: Json) -> list[Json]:
        """Let alerts fire, and wait until they do; what it says of them."""
        httpx.post(f"{self.url}/api/v2/alerts", json=alerts).raise_for_status()
        wanted = {alert["labels"]["alertname"] for alert in alerts}
        while True:
            reported: list[Json] = httpx.get(f"{self.url}/api/v2/alerts").json()
            if wanted <= {alert["labels"]["alertname"] for alert in reported}:
                return reported
            time.sleep(POLL_S)

    def silence(self, name: str) -> None:
        """Silence an alert by its name."""
        times = {"startsAt": "2026-11-20T09:00:00Z", "endsAt": "2099-01-01T00:00:00Z"}
        matcher = {"name": "alertname", "value": name, "isRegex": False, "isEqual": True}
        body = {"matchers": [matcher], "createdBy": "test", "comment": "known", **times}
        httpx.post(f"{self.url}/api/v2/silences", json=body).raise_for_status()


@contextmanager
def alertmanager(folder: Path, *arguments: str, path: str = "") -> Iterator[Firing]:
    """Run an Alertmanager without a cluster, which notifies nobody."""
    assert PROGRAM is not None
    (folder / "alertmanager.yml").write_text(CONFIGURATION)
    while True:
        port = _free_port()
        words = [
            PROGRAM,
            f"--config.file={folder / 'alertmanager.yml'}",
            f"--storage.path={folder / 'alerts'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
            *arguments,
        ]
        with (
            (folder / "alertmanager.log").open("wb") as log,
            subprocess.Popen(words, stderr=log, stdout=log) as process,
        ):
            try:
                url = f"http://127.0.0.1:{port}{path}"
                if _ready(process, url):
                    yield Firing(url)
                    return
            finally:
                process.kill()
        assert "address already in use" in (folder / "alertmanager.log").read_text()


def _ready(process: subprocess.Popen[bytes], url: str) -> bool:
    """Whether it came up; it does not where another took the port."""
    while process.poll() is None:
        with suppress(httpx.TransportError):
            if httpx.get(f"{url}/-/ready").status_code == 200 and process.poll() is None:
                return True
        time.sleep(POLL_S)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Reply(NamedTuple):
    """What a misbehaving one sends: whole, cut off in the middle, or not at all."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    how: Literal["whole", "cut", "stall"] = "whole"


class Misbehaving:
    """A running server that answers every GET alike. `asked` lists the path and the headers of each request."""

    def __init__(self, reply: Reply) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        self.server = bind(_handler(self, reply))
        self.address = f"127.0.0.1:{self.server.server_port}"


@contextmanager
def misbehaving(reply: Reply) -> Iterator[Misbehaving]:
    """Run it for as long as it is needed."""
    running = Misbehaving(reply)
    with listening(running.server, running.closing):
        yield running


def _handler(running: Misbehaving, reply: Reply) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            running.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            if reply.how == "stall":
                running.closing.wait()
                return
            with suppress(ConnectionError):
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body) + 1000 * (reply.how == "cut")))
                self.end_headers()
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server names it
            """A test's output is its own."""

    return Handler


def reported(*alerts: Json) -> Reply:
    """The reply of an Alertmanager with these alerts."""
    return Reply(json.dumps(alerts).encode())


def firing(names: Sequence[str], fingerprints: Sequence[str]) -> list[Json]:
    """Alerts as the API tells them, all firing since one moment."""
    return [
        {
            "labels": {"alertname": name, "severity": "warning"},
            "annotations": {},
            "fingerprint": fingerprint,
            "startsAt": "2026-11-20T09:00:00.000Z",
            "endsAt": "2026-11-20T09:05:00.000Z",
            "updatedAt": "2026-11-20T09:00:00.000Z",
            "receivers": [],
            "status": {"state": "active", "silencedBy": [], "inhibitedBy": []},
        }
        for name, fingerprint in zip(names, fingerprints, strict=True)
    ]
