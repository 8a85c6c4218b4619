"""Errors under --json are problems as HTTP has them; receipts are JSON; a full standard output is named."""

import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ledger.transparency.receipt import Receipt
from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.cli.lines import decided, history
from tests.support.paths import ROOT
from tests.support.server import serving

pytestmark = pytest.mark.trial("A10")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("problems") / "t.db"
    done(path, "append", given=history(3))
    return path


def problem(ledger: Path, *words: str, code: int) -> dict[str, Any]:
    """The problem that a command prints on standard error."""
    ended = tally(ledger, *words)
    assert (ended.code, ended.out) == (code, b""), ended.err
    assert ended.err.count("\n") == 1
    return msgspec.json.decode(ended.err, type=dict[str, Any])


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("log", "--limit", "x"), 2, {"type": "invalid-query", "status": 400, "field": "limit"}),
        (("log", "--nope"), 2, {"type": "invalid-query", "status": 400, "field": "nope"}),
        (("calibration", "--stakes", "x"), 2, {"type": "invalid-query", "status": 400, "field": "stakes"}),
        (("bogus",), 2, {"type": "invalid-query", "status": 400}),
        (("decision",), 2, {"type": "invalid-query", "status": 400}),
        (("decision", "none"), 1, {"type": "not-found", "status": 404}),
        (("eval", "gate", "--run", "none", "--baseline", "none"), 2, {"type": "not-found", "status": 404}),
        (("receipt", "99"), 1, {"type": "not-found", "status": 404}),
        (("receipt", "--check", "/none/there", "--key", "x"), 2, {}),
        (("backup", "/none/there/b.db"), 2, {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_is_a_problem(ledger: Path, words: tuple[str, ...], code: int, expected: dict[str, object]) -> None:
    found = problem(ledger, "--json", *words, code=code)
    assert {"type", "title", "status", "detail"} <= set(found)
    assert found["type"].startswith("urn:tallystick:problem:")
    found["type"] = found["type"].rpartition(":")[2]
    assert found == {**found, **expected}
    plain = tally(ledger, *words)
    assert plain.code == code
    assert not plain.err.startswith("{")


def test_both_sides_say_the_same(ledger: Path) -> None:
    with serving(ledger) as url:
        ended = tally(ledger, "receipt", "99", "--json", "--url", url)
    assert ended.code == 1
    here, there = problem(ledger, "receipt", "99", "--json", code=1), msgspec.json.decode(ended.err)
    for name in ("type", "title", "status", "detail", "advice"):
        assert there[name] == here[name]


def test_a_receipt_is_json(ledger: Path, tmp_path: Path) -> None:
    encoded = done(ledger, "receipt", 2).out
    found = msgspec.json.decode(done(ledger, "receipt", 2, "--json").out)
    assert (found["position"], found["size"]) == (2, 6)
    assert found["receipt"].encode() == encoded
    assert found["event"].encode() == Receipt.parse(encoded).line
    with_file = done(ledger, "receipt", 2, "--json", "--output", tmp_path / "2.tlog-proof")
    assert msgspec.json.decode(with_file.out) == found
    assert (tmp_path / "2.tlog-proof").read_bytes() == encoded


@pytest.mark.slow
@pytest.mark.parametrize("verb", [("log",), ("calibration",), ("decisions", "--json"), ("receipt", "1"), ("schema",)])
def test_a_full_standard_output_is_named(ledger: Path, verb: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            command(ledger, *verb), cwd=ROOT, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert ended.returncode == 2
    assert b"standard output: No space left on device" in ended.stderr
    assert ended.stderr.count(b"\n") == 1


def test_choices_and_ranges_are_said(ledger: Path) -> None:
    assert refused(ledger, "decisions", "--status", "done").endswith("Choose one of pending, reviewed, retracted.\n")
    assert refused(ledger, "decisions", "--outcome", "x").endswith(
        "Choose one of success, partial, failure, abandoned.\n"
    )
    for port in ("99999", "-1", "65536"):
        said = refused(ledger, "serve", f"--port={port}")
        assert said == f"error: --port: {port} is not a port.\nChoose one of 0..65535; 0 is any free one.\n"


@pytest.mark.slow
def test_a_verb_without_url_does_not_advise_it(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    done(ledger, "append", given=history(1))
    with serving(ledger):
        said = refused(ledger, "serve", "--port", "0")
        assert "--url" not in said
        assert "stop that process first" in said


@pytest.mark.slow
def test_following_begins_with_the_newest(ledger: Path) -> None:
    """As `tail -n 2 -f` does: two lines of before, then what is new."""
    words = command(ledger, "log", "--follow", "--limit", "2")
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=pipe, stderr=pipe) as following:
        assert following.stdout is not None
        try:
            old = [msgspec.json.decode(following.stdout.readline())["position"] for _ in range(2)]
            done(ledger, "append", given=decided("new", id="new"))
            new = msgspec.json.decode(following.stdout.readline())["position"]
        finally:
            following.kill()
    assert old == [new - 2, new - 1]
