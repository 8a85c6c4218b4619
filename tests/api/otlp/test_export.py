"""Scores of an evaluation as OpenTelemetry events: to a file, to another ledger, and to a receiver that refuses."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.api.cli.command import done, tally
from tests.api.otlp.json_bodies import SPAN, TRACE, Json
from tests.support.server import serving

POINTS = 100 * 2 / 3
SCORES: list[Json] = [
    {
        "scenario_id": "dns", "attempt": 1, "state": "error", "failure": "rate_limit", "detail": "busy",
        "input_tokens": 3,
    },
    {
        "scenario_id": "dns", "attempt": 1, "retry": 1, "state": "scored", "total_score": POINTS, "pass_threshold": 57,
        "passed": True, "weight": 2, "input_tokens": 100, "output_tokens": 7, "cost_usd": 0.125, "elapsed_ns": 5,
        "reported_model": "small", "confidence": 0.75, "trace_id": TRACE, "span_id": SPAN, "fixture_digest": "ab" * 32,
    },
    {"scenario_id": "disk", "attempt": 1, "state": "scored", "total_score": 99, "passed": False},
    {"scenario_id": "disk", "attempt": 2, "state": "skipped"},
    {"scenario_id": "cert", "attempt": 1, "state": "error", "detail": "no answer"},
]  # fmt: skip
STARTED = {
    "run_id": "nightly", "suite": "incidents", "agent": "scout", "agent_version": "7", "scorer_id": "patterns",
    "scorer_version": "2",
}  # fmt: skip
RUN: list[Json] = [
    {"type": "eval.started.v1", "data": STARTED},
    *({"type": "eval.scored.v3", "data": {"run_id": "nightly", **score}} for score in SCORES),
    {"type": "eval.finished.v1", "data": {"run_id": "nightly"}},
]
LOST = ("as_of", "runs", "unfinished", "first_at", "last_at", "recorded_by")


def recorded(folder: Path) -> Path:
    ledger = folder / "from.db"
    lines = b"\n".join(msgspec.json.encode(event) for event in RUN)
    done(ledger, "append", "--agent", "scout", given=lines)
    return ledger


def board(ledger: Path) -> Json:
    """The scoreboard without what depends on who recorded it, and when."""
    answer: Json = msgspec.json.decode(done(ledger, "--json", "scoreboard").out)
    for suite in answer["suites"]:
        suite.pop("trend", None)
        for row in suite["rows"]:
            for name in LOST:
                row.pop(name, None)
    del answer["as_of"]
    return answer


@pytest.mark.slow
def test_an_export_posted_to_another_ledger_gives_the_same_figures_once(tmp_path: Path) -> None:
    ledger, file, other = recorded(tmp_path), tmp_path / "scores.jsonl", tmp_path / "to.db"
    done(ledger, "eval", "export", "night", "--to", str(file))
    with serving(other) as url:
        for line in file.read_bytes().splitlines():
            answer = httpx.post(f"{url}/v1/logs", content=line, headers={"content-type": "application/json"})
            assert (answer.status_code, answer.json()) == (200, {})
        head = httpx.get(f"{url}/events?limit=1").json()["head"]
        assert head == 6
        said = done(ledger, "eval", "export", "nightly", "--otlp", url)
        assert "Scores of nightly sent in 1 request" in said.err
        assert httpx.get(f"{url}/events?limit=1").json()["head"] == head
    assert board(other) == board(ledger)
    assert done(ledger, "eval", "export", "nightly").out == file.read_bytes()
    row = board(other)["suites"][0]["rows"][0]
    assert (row["scored"], row["passed"], row["errors"], row["skipped"]) == (2, 1, 1, 1)
    assert row["usage"]["input_tokens"]["total"] == 103


def test_mistakes_are_said_before_anything_is_written(tmp_path: Path) -> None:
    ledger = recorded(tmp_path)
    taken = tmp_path / "taken.jsonl"
    taken.write_text("mine")
    for words, said in (
        (("nosuch",), "Evaluation not found: nosuch"),
        (("nightly", "--to", str(taken)), "exists already"),
        (("nightly", "--to", str(tmp_path / "no" / "x")), "does not exist"),
        (("nightly", "--to", "x", "--otlp", "http://localhost:1"), "exclude each other"),
        (("nightly", "--otlp", "ftp://x"), "is not an address"),
        (("nightly", "--otlp", "http://localhost:1", "--header", "no value"), "is not NAME=VALUE"),
        (("nightly", "--header", "a=b"), "is for --otlp"),
    ):
        ended = tally(ledger, "eval", "export", *words)
        assert ended.code in (1, 2), words
        assert said in " ".join(ended.err.split()), (words, ended.err)
    assert taken.read_text() == "mine"


class Collector(http.server.BaseHTTPRequestHandler):
    """A receiver that gives its answers one after another, and keeps what it was sent."""

    answers: list[tuple[int, bytes]]
    heard: list[tuple[str, str | None]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.heard.append((self.path, self.headers.get("authorization")))
        status, body = self.answers.pop(0)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.send_header("retry-after", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def collector(*answers: tuple[int, bytes]) -> Iterator[tuple[str, type[Collector]]]:
    handler = type("Handler", (Collector,), {"answers": list(answers), "heard": []})
    with http.server.HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.slow
def test_a_busy_receiver_is_asked_again_and_what_it_rejects_is_said(tmp_path: Path) -> None:
    ledger = recorded(tmp_path)
    partial = b'{"partialSuccess": {"rejectedLogRecords": "2", "errorMessage": "too old"}}'
    with collector((503, b""), (429, b""), (200, partial)) as (url, receiver):
        ended = tally(ledger, "eval", "export", "nightly", "--otlp", url, "--header", "authorization=Bearer x")
    assert ended.code == 1
    assert "it rejected 2: too old" in ended.err
    assert receiver.heard == [("/v1/logs", "Bearer x")] * 3
    with collector((400, b"what is this")) as (url, receiver):
        ended = tally(ledger, "eval", "export", "nightly", "--otlp", f"{url}/v1/logs")
    assert ended.code == 1
    assert "answered 400: what is this" in " ".join(ended.err.split())
    assert len(receiver.heard) == 1
