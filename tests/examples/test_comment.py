"""comment.py keeps one comment on the pull request that was evaluated, against a server that speaks GitHub's routes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "examples" / "ci" / "comment.py"
BOT = "github-actions[bot]"


class Forge(ThreadingHTTPServer):
    """One repository: open pull requests by head, and comments."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Interface)
        self.pulls = [{"number": 7, "head": {"label": "someone:fix/a&b", "sha": "abc"}}]
        self.comments: list[dict[str, Any]] = []
        self.written: list[tuple[str, str]] = []
        self.tokens: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Interface(BaseHTTPRequestHandler):
    server: Forge

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its caller names it so
        pass

    def _answer(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> str:
        text: str = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
        return text

    def do_GET(self) -> None:
        self.server.tokens.add(self.headers["Authorization"])
        at = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(at.query).items()}
        if at.path == "/repos/example/agent/pulls":
            assert asked["state"] == "open"
            self._answer([each for each in self.server.pulls if each["head"]["label"] == asked["head"]])  # type: ignore[index]
        else:
            assert at.path == "/repos/example/agent/issues/7/comments"
            first = (int(asked["page"]) - 1) * int(asked["per_page"])
            self._answer(self.server.comments[first : first + int(asked["per_page"])])

    def do_POST(self) -> None:
        assert self.path == "/repos/example/agent/issues/7/comments"
        text = self._body()
        self.server.written.append(("POST", text))
        self.server.comments.append({"id": len(self.server.comments) + 1, "user": {"login": BOT}, "body": text})
        self._answer(self.server.comments[-1])

    def do_PATCH(self) -> None:
        text = self._body()
        self.server.written.append((f"PATCH {self.path.rsplit('/', 1)[1]}", text))
        self._answer({})


@pytest.fixture
def forge() -> Iterator[Forge]:
    with Forge() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def comment(forge: Forge, report: Path, sha: str = "abc") -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(report)], capture_output=True, text=True, check=False,
        env={
            "GITHUB_API_URL": forge.url, "GITHUB_REPOSITORY": "example/agent", "GITHUB_TOKEN": "t0ken", "no_proxy": "*",
            "HEAD_OWNER": "someone", "HEAD_BRANCH": "fix/a&b", "HEAD_SHA": sha, "RUN_URL": "https://ci.example.com/9",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(folder: Path, text: str) -> Path:
    path = folder / "report.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_first_report_is_a_comment_and_the_next_rewrites_it(forge: Forge, tmp_path: Path) -> None:
    assert comment(forge, report(tmp_path, "one")) == "Commented on pull request 7.\n"
    comment(forge, report(tmp_path, "two"))
    mark = "<!-- tallystick evaluations -->\n"
    assert forge.written == [("POST", f"{mark}one"), ("PATCH 1", f"{mark}two")]
    assert forge.tokens == {"Bearer t0ken"}


def test_only_its_own_comment_is_rewritten_however_many_there_are(forge: Forge, tmp_path: Path) -> None:
    mark = "<!-- tallystick evaluations -->"
    people = [{"id": number, "user": {"login": "someone"}, "body": mark} for number in range(1, 151)]
    other = {"id": 151, "user": {"login": BOT}, "body": f"another job's comment, which quotes {mark}"}
    forge.comments = [*people, other]
    comment(forge, report(tmp_path, "one"))
    assert [how for how, _ in forge.written] == ["POST"]
    comment(forge, report(tmp_path, "two"))
    assert forge.written[1][0] == "PATCH 152"


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "pushed again"])
def test_nothing_is_written_where_the_pull_request_stands_elsewhere(closed: bool, forge: Forge, tmp_path: Path) -> None:
    if closed:
        forge.pulls = []
    assert "nothing was written" in comment(forge, report(tmp_path, "one"), sha="abc" if closed else "def")
    assert forge.written == []


def test_a_report_mentions_nobody_and_fits(forge: Forge, tmp_path: Path) -> None:
    comment(forge, report(tmp_path, "@everyone " + "x" * 100_000))
    text = forge.written[0][1]
    assert "@everyone" not in text
    assert "everyone" in text
    assert len(text) == 65_536
    assert text.endswith("... and more: https://ci.example.com/9")


def test_a_run_without_a_report_says_so(forge: Forge, tmp_path: Path) -> None:
    comment(forge, tmp_path / "none.md")
    assert "broke off" in forge.written[0][1]
