"""The audit log: who read and wrote what, in a file of its own."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.http.posts import Json, post, recorded
from tests.api.http.tokened import tokened
from tests.support.server import COMMAND, Served, served
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow


def lines_of(path: Path, wanted: int, server: Served) -> list[Json]:
    """The lines of an audit log, once the server has written so many."""
    wait_until(lambda: len(path.read_bytes().splitlines()) >= wanted, server.process)
    lines = path.read_bytes().splitlines()
    assert len(lines) == wanted
    return [msgspec.json.decode(line) for line in lines]


def test_each_authenticated_request_has_a_line(tmp_path: Path) -> None:
    audit = tmp_path / "audit.ndjson"
    with tokened(tmp_path / "ledger.db", "--audit-log", str(audit)) as running:
        assert stat.S_IMODE(audit.stat().st_mode) == 0o600
        with running.client("greedy") as client:
            post(client, [recorded("a"), recorded("b"), recorded("c")])
            assert client.get("/events/2", headers={"x-request-id": "mine"}).status_code == 200
            assert client.get("/events", params={"after": 1}).status_code == 200
            assert client.get("/decisions/a").status_code == 200
            assert client.get("/calibration").status_code == 200
            assert client.get("/events/99").status_code == 404
            assert client.delete("/evidence/" + "0" * 64).status_code == 403
            call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.getDecision", "params": {"id": "b"}}
            assert client.post("/cstp", json=call).status_code == 200
            assert client.get("/healthz").status_code == 200
        with running.client(None) as stranger:
            assert stranger.get("/events").status_code == 401
        lines = lines_of(audit, 8, running.server)
        secret = running.secrets["greedy"]
        assert {line["agent"] for line in lines} == {"greedy"}
        assert {line["token"] for line in lines} == {running.ids["greedy"]}
    assert [(line["method"], line["route"], line["status"], line["written"], line["read"]) for line in lines] == [
        ("POST", "post_events", 201, [1, 3], None),
        ("GET", "get_event", 200, None, [2, 2]),
        ("GET", "get_events", 200, None, [2, 3]),
        ("GET", "get_decision", 200, None, [1, 1]),
        ("GET", "get_calibration", 200, None, [1, 3]),
        ("GET", "get_event", 404, None, None),
        ("DELETE", "delete_evidence", 403, None, None),
        ("POST", "post_cstp", 200, None, [2, 2]),
    ]
    assert lines[1]["request_id"] == "mine"
    assert list(lines[0]) == [
        "time", "request_id", "token", "agent", "method", "route", "status", "written", "read",
    ]  # fmt: skip
    assert secret not in audit.read_text()


def test_a_feed_has_a_line_when_it_ends(tmp_path: Path) -> None:
    audit = tmp_path / "audit.ndjson"
    with tokened(tmp_path / "ledger.db", "--audit-log", str(audit)) as running, running.client("other") as client:
        post(client, [recorded(), recorded()])
        with client.stream("GET", "/events", headers={"accept": "text/event-stream"}) as feed:
            assert sum(line.startswith("id: ") for line, _ in zip(feed.iter_lines(), range(8), strict=False)) == 2
        line = lines_of(audit, 2, running.server)[1]
        assert (line["route"], line["read"]) == ("get_events", [1, 2])


def test_the_file_is_opened_again_on_sighup(tmp_path: Path) -> None:
    audit, rotated = tmp_path / "audit.ndjson", tmp_path / "audit.ndjson.1"
    ledger = tmp_path / "ledger.db"
    with served(ledger, "--audit-log", str(audit)) as server, httpx.Client(base_url=server.url) as client:
        post(client, recorded())
        (line,) = lines_of(audit, 1, server)
        assert (line["token"], line["agent"]) == (None, "anonymous")
        audit.rename(rotated)
        post(client, recorded())
        lines_of(rotated, 2, server)
        os.kill(server.process.pid, signal.SIGHUP)
        wait_until(audit.exists, server.process)
        post(client, recorded())
        assert lines_of(audit, 1, server)[0]["written"] == [3, 3]
        lines_of(rotated, 2, server)
        assert client.get("/healthz").status_code == 200


def test_a_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    for path in (tmp_path / "nowhere" / "audit.ndjson", tmp_path, link):
        words = ["--ledger", str(tmp_path / "ledger.db"), "serve", "--port", "0", "--audit-log", str(path)]
        ended = subprocess.run([sys.executable, "-m", COMMAND, *words], capture_output=True, text=True, check=False)
        assert ended.returncode == 2
        assert "audit-log" in ended.stderr
        assert not (tmp_path / "ledger.db").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_full_disk_stops_no_request(tmp_path: Path) -> None:
    with served(tmp_path / "ledger.db", "--audit-log", "/dev/full") as server:
        with httpx.Client(base_url=server.url) as client:
            post(client, recorded())
            post(client, recorded())
        server.wait_for("audit log")
        assert [line["event"] for line in server.log()].count("audit log") == 1
