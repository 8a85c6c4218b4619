"""The command line beside a running server, and through it."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import command, done, environment, refused
from tests.api.cli.lines import decided, history
from tests.api.cli.test_lock_holder import recording
from tests.support.paths import ROOT
from tests.support.server import POLL_S, served, serving


@pytest.mark.slow
def test_both_interfaces_give_the_same_answers(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with serving(ledger) as url, httpx.Client(base_url=url) as client:
        assert done(ledger, "append", "--url", url, given=history(30)).text.startswith("60 events appended, 0 there")
        assert done(ledger, "append", given=history(30)).text.startswith("0 events appended, 60")
        for words, path in (
            (
                ("calibration", "--group-by", "category", "--min-decisions", "3"),
                "/calibration?group_by=category&min_decisions=3",
            ),
            (("calibration", "--stakes", "high", "--as-of", "20"), "/calibration?stakes=high&as_of=20"),
            (
                ("decisions", "--outcome", "failure", "--sort", "confidence"),
                "/decisions?outcome=failure&sort=confidence",
            ),
            (("decision", "d3"), "/decisions/d3"),
            (("projections", "calibration"), "/projections/calibration"),
        ):
            assert done(ledger, *words, "--json").out == client.get(path).content + b"\n"
        lines = client.get("/events", headers={"accept": "application/x-ndjson"}).content
        assert done(ledger, "log").out == lines
        assert b'"same":true' in done(ledger, "replay", "--check", "--json").out


@pytest.mark.slow
def test_a_ledger_in_use_is_written_through_its_server_alone(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with serving(ledger) as url:
        assert "is being written by process" in refused(ledger, "serve", "--port", 0).splitlines()[-2]
        wrong = refused(ledger, "append", "--url", url, given=decided("a") + decided("b", confidence=3))
        assert "standard input, line 2: data.confidence" in wrong
        assert "is taken" in refused(
            ledger, "append", "--url", url, given=decided("a", id="k") + decided("b", id="k"), code=1
        )
        file = tmp_path / "table.csv"
        file.write_text("agent,decision,outcome\nx,one,1\ny,two,0\n")
        assert "4 events appended" in done(ledger, "import", "decisions", file, "--url", url).text
        assert "0 events appended, 4 there" in done(ledger, "import", "decisions", file, "--url", url).text
        nowhere = refused(ledger, "append", "--url", f"{url}/nowhere", given=decided("a"))
        assert "Nothing is at /nowhere/events." in nowhere
        token = done(ledger, "token", "add", "ann").text.strip()
        while httpx.get(f"{url}/events").status_code != 401:
            time.sleep(POLL_S)
        unknown = refused(ledger, "append", "--url", url, given=decided("c"))
        assert "Authorization header required" in unknown
        assert "Give a token with --token" in unknown
        done(ledger, "append", "--url", url, "--token", token, given=decided("c"))
        file.write_text("agent,decision,outcome\nx,three,1\n")
        assert "cannot append as /agents/x" in refused(
            ledger, "import", "decisions", file, "--url", url, TALLYSTICK_TOKEN=token
        )
        assert b'"source":"/agents/ann"' in done(ledger, "log", "--after", 4).out


@pytest.mark.slow
def test_following_sees_what_a_server_appends(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with (
        serving(ledger) as url,
        subprocess.Popen(
            command(ledger, "log", "--follow"), cwd=ROOT, env=environment(), stdout=subprocess.PIPE
        ) as following,
    ):
        assert following.stdout is not None
        try:
            for name in ("one", "two"):
                httpx.post(f"{url}/events", content=decided(name)).raise_for_status()
                assert f"do {name}".encode() in following.stdout.readline()
            following.send_signal(signal.SIGINT)
            assert following.wait(600) == 0
        finally:
            following.kill()


@pytest.mark.slow
def test_addresses_that_do_not_answer(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    gone = refused(ledger, "append", "--url", "http://127.0.0.1:9", given=decided("a"), code=1)
    assert "http://127.0.0.1:9 cannot be reached" in gone
    assert "--url: 'nonsense' is not the address" in refused(ledger, "append", "--url", "nonsense", given=decided("a"))


def test_serve_refuses_to_open_the_ledger_to_strangers(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    assert "--host: listening on 0.0.0.0 without any token" in refused(ledger, "serve", "--host", "0.0.0.0")
    assert "--log-level: 'loud'" in refused(ledger, "serve", "--log-level", "loud")
    assert "--port: " in refused(ledger, "serve", "--port", 70_000)


@pytest.mark.slow
def test_serve_says_where_and_ends_when_asked(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    with subprocess.Popen(
        command(ledger, "serve", "--port", 0), cwd=ROOT, env=environment(), stderr=subprocess.PIPE
    ) as server:
        assert server.stderr is not None
        try:
            said = msgspec.json.decode(server.stderr.readline())
            assert said["event"] == "serving"
            httpx.post(f"{said['address']}/events", content=decided("a")).raise_for_status()
            server.send_signal(signal.SIGTERM)
            rest = server.stderr.read().decode()
            assert server.wait(600) in {0, -signal.SIGTERM}
            assert "Traceback" not in rest
        finally:
            server.kill()
    assert done(ledger, "log").out.count(b"\n") == 1


@pytest.mark.slow
def test_a_server_works_before_its_views_are_folded_and_a_view_waits_for_that(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", "-", given=history(5_000))
    with served(ledger) as server:
        shown = httpx.get(f"{server.url}/decisions", params={"limit": 1}).json()
        assert (shown["total"], shown["as_of"]["position"]) == (5_000, 10_000)
        assert server.wait_for("folded")["position"] == 10_000
        said = [line["event"] for line in server.log()]
        assert said.index("serving") < said.index("folded")


@pytest.mark.slow
def test_a_log_that_finds_no_space_stops_no_server(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = command(tmp_path / "t.db", "serve", "--port", port)
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(words, cwd=ROOT, env=environment(), stderr=full) as server,
    ):
        try:
            with httpx.Client(transport=httpx.HTTPTransport(retries=10), base_url=f"http://127.0.0.1:{port}") as http:
                assert http.get("/nowhere").status_code == 404
            server.terminate()
            assert server.wait() == 0
        finally:
            server.kill()


@pytest.mark.slow
@pytest.mark.trial("A2")
def test_following_a_server_ends_with_it_and_says_where(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    words = command(other, "log", "--follow", "--limit", 1, "--url")
    with served(tmp_path / "t.db") as server:
        for name in ("one", "two"):
            httpx.post(f"{server.url}/events", content=decided(name)).raise_for_status()
        pipe = subprocess.PIPE
        with subprocess.Popen([*words, server.url], cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe) as following:
            assert following.stdout is not None
            assert following.stderr is not None
            try:
                assert b"do two" in following.stdout.readline()
                httpx.post(f"{server.url}/events", content=decided("three")).raise_for_status()
                assert b"do three" in following.stdout.readline()
                server.stop()
                assert following.wait() == 1
                said = following.stderr.read().decode()
            finally:
                following.kill()
    assert f"The feed of {server.url} broke off after position 3: " in said
    assert "Run it again with --after 3." in said
    assert not other.exists()


@pytest.mark.slow
@pytest.mark.trial("A2")
@pytest.mark.parametrize(
    "page",
    [b"{}", b'{"events":[{}],"next":null,"head":1}', b'{"events":[{"position":5}],"next":5,"head":1}',
     b'{"events":[{"position":1},{"position":2}],"next":2,"head":9}'],
    ids=str,
)  # fmt: skip
def test_events_that_no_server_sends_are_refused(tmp_path: Path, page: bytes) -> None:
    """Among them pages that would never end."""
    with recording(page) as (url, _):
        said = refused(tmp_path / "t.db", "log", "--limit", 1, "--url", url, code=1)
    assert f"{url}/events answered 200, but not as Tallystick does." in said
