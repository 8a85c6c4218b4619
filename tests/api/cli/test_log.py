"""log: the stored lines, by what they are."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.api.cli.command import command, done, environment, refused, tally
from tests.api.cli.lines import decided, history
from tests.api.cli.terminal import on_a_terminal
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "t.db"
    done(path, "append", "--agent", "ann", given=history(600))
    return path


def test_lines_are_whole_and_in_order(ledger: Path) -> None:
    lines = done(ledger, "log", "--json").out.splitlines()
    assert len(lines) == 1200
    assert done(ledger, "log").out.splitlines() == lines
    assert done(ledger, "log", "--after", 3, "--limit", 2).out.splitlines() == lines[3:5]
    assert done(ledger, "log", "--order", "desc", "--before", 1190).out.splitlines() == lines[:1189][::-1]


def test_filters(ledger: Path) -> None:
    lines = done(ledger, "log", "--type", "decision.reviewed.v1", "--subject", "decision/d1,decision/d2").out
    assert [b'"subject":"decision/d1"' in line for line in lines.splitlines()] == [True, False]
    assert done(ledger, "log", "--source", "ann", "--limit", 1).out.count(b"\n") == 1
    assert "There is no agent 'bob'" in refused(ledger, "log", "--source", "bob", code=1)
    assert done(ledger, "log", "--until", "2020-01-01").out == b""
    assert done(ledger, "log", "--since", "2020-01-01", "--limit", 1).out.count(b"\n") == 1


def test_refusals(ledger: Path, tmp_path: Path) -> None:
    assert "--type: 'x' is not one of the choices" in refused(ledger, "log", "--type", "x")
    assert "--limit: '0' is not a whole number from 1 to 1000" in refused(ledger, "log", "--limit", 0)
    assert "after: 9999 is beyond the head, 1200" in refused(ledger, "log", "--after", 9999)
    assert "--order: " in refused(ledger, "log", "--follow", "--order", "desc")
    assert "There is no ledger" in refused(tmp_path / "none.db", "log")
    other = tmp_path / "other.db"
    other.write_bytes(b"not a ledger" * 100)
    assert "is not a ledger" in refused(other, "log")


@pytest.mark.slow
def test_a_closed_pipe_is_quiet(ledger: Path) -> None:
    with subprocess.Popen(
        command(ledger, "log"), cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as printing:
        assert printing.stdout is not None
        assert printing.stderr is not None
        printing.stdout.readline()
        printing.stdout.close()
        assert printing.stderr.read() == b""


@pytest.mark.slow
def test_a_terminal_gets_a_table(ledger: Path) -> None:
    said = on_a_terminal(*command(ledger, "log"), NO_COLOR="1")
    assert said.count("decision/") == 100
    assert "0.60 do d0" in said
    assert "Next page: --after 100" in said
    assert "\x1b" not in said
    assert "\x1b[" in on_a_terminal(*command(ledger, "log", "--limit", 1), TERM="xterm", COLORTERM="truecolor")
    assert on_a_terminal(*command(ledger, "log", "--limit", 1, "--json")).startswith('{"specversion":"1.0"')


@pytest.mark.slow
def test_following_ends_well_when_interrupted(ledger: Path) -> None:
    with subprocess.Popen(
        command(ledger, "log", "--follow", "--after", 1199),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        try:
            assert b'"position":1200' in following.stdout.readline()
            following.send_signal(signal.SIGINT)
            assert following.wait(600) == 0
            assert following.stderr.read() == b""
        finally:
            following.kill()


@pytest.mark.slow
def test_words_that_a_terminal_would_obey_are_not_printed(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    done(path, "append", given=decided("a", context="x").replace(b"do a", b"\\u001b[2Jgone [bold]"))
    assert "\x1b" not in tally(path, "decisions").text
    assert "gone [bold]" in tally(path, "decisions").text
    assert "\x1b" not in on_a_terminal(*command(path, "log"), NO_COLOR="1")
