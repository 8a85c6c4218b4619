"""What eval run tells: a table, how far it is, and reports."""

import os
import pty
import subprocess
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.api.cli.command import command, environment, refused
from tests.api.cli.evaluating import (
    agent,
    asked,
    evaluate,
    scenario,
    suite,
)
from tests.support.paths import ROOT
from tests.support.server import served

pytestmark = pytest.mark.slow


def test_the_table_tells_failures_first_with_what_was_missed(ledger: Path, tmp_path: Path) -> None:
    wanted = {"root_cause": {"patterns": ["disk"], "match_type": "substring", "none_of": ["network"]}}
    fixtures = suite(tmp_path / "suite", ("good", "bad"))
    scenario(fixtures, "worse", expected_outcomes=wanted, scoring={"pass_threshold": 80})
    scenario(fixtures, "zapped")
    code = """
        match case:
            case "good": answer("the cause of good")
            case "bad": answer("no idea")
            case "worse": answer("a full disk, or the network")
            case "zapped": sys.exit("Traceback:\\n  no quota left")
        """
    ended = evaluate(
        ledger, fixtures, "--agent", agent(tmp_path / "notes", code), "--run", "mixed", "--name", "mixed suite"
    )
    assert ended.code == 1
    rows = [line.split() for line in ended.text.splitlines()]
    assert [row[0] for row in rows[1:5]] == ["bad", "worse", "good", "zapped"]
    assert rows[1] == ["bad", "0.0", "-", "-", "-", "0.0", "70.0", "failed"]
    assert rows[3] == ["good", "100.0", "-", "-", "-", "100.0", "70.0", "passed"]
    assert rows[4][-1] == "error"
    assert "bad: 0.0 of the 70.0 to pass\n  root_cause.patterns[0] 'cause of bad' (substring) not found" in ended.text
    assert "root_cause.none_of[0] 'network' (substring) found in rca.root_cause: 'network'" in ended.text
    assert "zapped, attempt 1: crash, " in ended.text
    assert "  | Traceback:\n  |   no quota left" in ended.text
    assert "run mixed" in ended.text
    assert "4 scenarios: 1 passed, 2 failed, 1 error" in ended.text
    assert "Mean 25.0 of 100" in ended.text
    assert "The agent's errors count 0; without them the mean is 33.3." in ended.text
    assert "[1/4] bad #1: 0.0 failed (" in ended.err


def test_a_flaky_scenario_without_a_failed_answer_is_reported(ledger: Path, tmp_path: Path) -> None:
    fixtures = suite(tmp_path / "suite", ("good", "torn"))
    code = """
        if case == "torn" and number == 1:
            sys.exit(3)
        answer(f"the cause of {case}")
        """
    ended = evaluate(ledger, fixtures, "--agent", agent(tmp_path / "notes", code), "--attempts", "2")
    assert ended.code == 2
    assert "torn, attempt 1: crash, " in ended.text
    assert "flaky 1/2" in ended.text


def test_reports_are_written_where_they_are_asked_for(ledger: Path, fixtures: Path, tmp_path: Path) -> None:
    line = agent(tmp_path / "notes", "answer('nothing much' if case == 'image-pull' else given['evidence']['log'])")
    files = {option: tmp_path / f"report.{option}" for option in ("junit", "html", "markdown")}
    options = [word for option, path in files.items() for word in (f"--{option}", path)]
    assert evaluate(ledger, fixtures, "--agent", "true", "--agent-name", "me", "--agent-version", "1").code == 1
    with served(ledger) as server:
        reach = ("--url", server.url, "--agent-name", "me", "--agent-version", "2")
        assert evaluate(tmp_path / "unused.db", fixtures, "--agent", line, *reach, *options).code == 1
    suites = ET.parse(files["junit"]).getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("3", "1", "0")
    page = files["html"].read_text()
    assert "cause of crash-loop" in page
    assert "<h2>By version</h2>" in page
    assert "image-pull" in files["markdown"].read_text()
    said = refused(ledger, "eval", "run", fixtures, "--agent", line, "--html", tmp_path / "nowhere" / "x.html")
    assert "--html: " in said
    assert len(asked(tmp_path / "notes")) == 3


def test_a_terminal_is_shown_how_far_it_is_before_anybody_has_answered(
    ledger: Path, fixtures: Path, tmp_path: Path
) -> None:
    line = agent(tmp_path / "notes")
    (tmp_path / "notes" / "hold-crash-loop").touch()
    words = command(ledger, "eval", "run", fixtures, "--no-baselines", "--agent", line)
    ours, theirs = pty.openpty()
    said = b""
    with subprocess.Popen(words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        while b"0/3" not in said:
            said += os.read(ours, 65_536)
        (tmp_path / "notes" / "go-crash-loop").touch()
        with suppress(OSError):
            while True:
                said += os.read(ours, 65_536)
        os.close(ours)
        assert process.wait() == 0
    assert b"scoring" in said
    assert b"[1/3]" not in said
