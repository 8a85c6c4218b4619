"""A command that finds the server of its ledger by the lock, and sends nothing to a server that is another one."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.api.cli.command import done, refused, tally
from tests.api.cli.lines import decided
from tests.support.held_lock import holding
from tests.support.http_stub import bind, listening
from tests.support.server import serving

pytestmark = pytest.mark.trial("A3")


@contextmanager
def recording(answer: bytes) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Run a server that answers the same to everything; its address, and the headers of each request."""
    requests: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append({"method": self.command, "path": self.path, **self.headers})
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class names it
            pass

    server = bind(Handler)
    with listening(server, Event()):
        yield f"http://127.0.0.1:{server.server_port}", requests


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    ledger = tmp_path / "t.db"
    done(ledger, "append", given=decided("a"))
    return ledger


def test_readme_works_beside_its_server(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    file = tmp_path / "decisions.csv"
    file.write_text("decision,agent,confidence,outcome\nKeep it,scout,0.9,success\n")
    with serving(ledger) as url:
        imported = done(ledger, "import", "decisions", file)
        assert imported.text.splitlines()[1].startswith("2 events appended")
        assert imported.err.splitlines() == [f"using the server at {url} that holds {ledger}"]
        assert done(ledger, "calibration", "--min-decisions", 1).err == ""
    assert done(ledger, "record", "after it").err.count("using the server") == 0


def test_a_link_to_the_ledger_finds_its_server(tmp_path: Path, filled: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(filled)
    with serving(filled) as url:
        assert done(link, "record", "by its link").err.startswith(f"using the server at {url} that holds {link}\n")


@pytest.mark.slow
def test_a_server_with_tokens_requires_one(filled: Path) -> None:
    token = done(filled, "token", "add", "ann").text.strip()
    with serving(filled) as url:
        ended = tally(filled, "record", "x")
        assert (ended.code, ended.out) == (2, b"")
        note, reason, advice = ended.err.splitlines()
        assert note == f"using the server at {url} that holds {filled}"
        assert reason.startswith("error: Authorization header required")
        assert advice.startswith("Give a token with --token, or in TALLYSTICK_TOKEN")
        done(filled, "record", "by ann", TALLYSTICK_TOKEN=token, TALLYSTICK_AGENT="bob")
        done(filled, "record", "by ann again", "--token", token)
    agents = [json.loads(line)["source"] for line in done(filled, "log").out.splitlines()]
    assert agents == ["/agents/anonymous", "/agents/ann", "/agents/ann"]


def test_a_server_that_listens_everywhere_is_found(filled: Path) -> None:
    token = done(filled, "token", "add", "ann").text.strip()
    with serving(filled, "--host", "0.0.0.0") as url:
        ended = done(filled, "record", "x", "--token", token)
        assert f"using the server at {url.replace('0.0.0.0', '127.0.0.1')} that holds" in ended.err


def test_nothing_is_sent_to_a_server_of_another_ledger(tmp_path: Path, filled: Path) -> None:
    other = tmp_path / "other.db"
    with serving(other) as url, holding(filled, address=url, instance="0" * 32):
        said = refused(filled, "record", "x", TALLYSTICK_TOKEN="secret")
        assert f"serving at {url}: another server answers there, which does not hold this ledger." in said
        assert "Name an address that reaches it from here with --url, or stop that process first." in said
        assert httpx.get(f"{url}/readyz").json()["head"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("answer", [b"", b"[]", b"{}", b'{"instance":"1"}', b'{"instance":7}', b"<html>", b"[" * 9_999])
def test_no_token_is_sent_before_the_server_has_named_itself(filled: Path, answer: bytes) -> None:
    with recording(answer) as (url, requests), holding(filled, address=url, instance="0" * 32):
        assert "another server answers there" in refused(filled, "record", "x", TALLYSTICK_TOKEN="secret")
    (request,) = requests
    assert (request["method"], request["path"]) == ("GET", "/")
    assert "secret" not in str(request)


@pytest.mark.slow
def test_an_endless_answer_is_not_read_to_its_end(filled: Path) -> None:
    with recording(b"x" * 10_000_000) as (url, _), holding(filled, address=url, instance="0" * 32):
        assert "more than 65,536 bytes" in refused(filled, "record", "x")


@pytest.mark.slow
def test_a_server_that_is_not_reached(filled: Path) -> None:
    with holding(filled, address="http://127.0.0.1:9", instance="0" * 32):
        said = refused(filled, "append", given=decided("b"))
        assert f"{filled} is being written by process {os.getpid()}, serving at http://127.0.0.1:9: " in said
        assert "it gives no answer: http://127.0.0.1:9 cannot be reached: " in said
    assert done(filled, "log").out.count(b"\n") == 1


def test_a_server_of_an_earlier_version_is_named(filled: Path) -> None:
    """Its lock file has no name to compare, so that the user has to say that it is the right one."""
    with serving(filled.with_name("other.db")) as url, holding(filled, address=url):
        assert f"Use --url {url}, or stop that process first." in refused(filled, "record", "x")


def test_a_process_that_does_not_serve_is_waited_for(filled: Path) -> None:
    with holding(filled):
        assert "Wait until it is done, or stop it first." in refused(filled, "record", "x")


def test_a_stale_lock_file_is_ignored(filled: Path) -> None:
    Path(f"{filled}.lock").write_text('{"pid":1,"address":"http://127.0.0.1:9","instance":"0"}')
    assert done(filled, "record", "x").err.count("using the server") == 0


def test_the_page_of_a_server_repeats_the_name_in_its_lock(filled: Path) -> None:
    with serving(filled) as url:
        index = httpx.get(url, headers={"accept": "application/json"}).json()
        assert index["instance"] == json.loads(Path(f"{filled}.lock").read_text())["instance"]
        assert len(index["instance"]) == 32
