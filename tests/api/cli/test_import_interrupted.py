"""Imports that Ctrl-C ends: what they keep and print, and how they go on; progress on a terminal and in a pipe."""

import re
import signal
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from api.cli import output
from tests.api.cli.command import command, done, environment
from tests.api.cli.terminal import on_a_terminal
from tests.support.paths import ROOT

POLL_S = 0.005
ROWS = 30_000

_escape = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def table(file: Path, rows: int = ROWS) -> Path:
    file.write_text("agent,decision,outcome\n" + "".join(f"a,{number},{number % 2}\n" for number in range(rows)))
    return file


def start(ledger: Path, *arguments: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(ledger, *arguments),
        cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def interrupted(process: subprocess.Popen[bytes]) -> str:
    """Send Ctrl-C; return what is printed on standard error."""
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate()
    finally:
        process.kill()
    assert (process.returncode, out) == (130, b""), err.decode()
    return err.decode()


@pytest.mark.slow
@pytest.mark.trial("A7")
def test_ctrl_c_keeps_what_was_written_and_says_how_to_go_on(tmp_path: Path) -> None:
    ledger, file = tmp_path / "t.db", table(tmp_path / "table.csv")
    process = start(ledger, "import", "decisions", file)
    wal = ledger.with_name(f"{ledger.name}-wal")
    while process.poll() is None and not (wal.exists() and wal.stat().st_size > 1_000_000):
        time.sleep(POLL_S)
    said = re.fullmatch(
        r"Stopped: kept ([\d,]+) rows; run the same command again to continue\.\n", interrupted(process)
    )
    assert said is not None
    kept = int(said[1].replace(",", ""))
    assert 0 < kept < ROWS
    lines = done(ledger, "log", "--json", "--type", "decision.recorded.v1").out.count(b"\n")
    assert lines == kept
    answer = msgspec.json.decode(done(ledger, "import", "decisions", file, "--json").out)
    assert (answer["new_decisions"], answer["unchanged"]) == (ROWS - kept, kept)
    assert answer["appended"] + answer["duplicates"] == answer["last"] == 2 * ROWS


@pytest.mark.slow
@pytest.mark.trial("A7")
def test_ctrl_c_before_anything_is_written(tmp_path: Path) -> None:
    ledger = tmp_path / "t.db"
    process = start(ledger, "import", "decisions", "-")
    assert process.stdin is not None
    process.stdin.write(b"agent,decision\n" + b"a,one\n" * 100_000)  # more than a pipe holds: it is being read
    process.stdin.flush()
    assert interrupted(process) == "Stopped: kept 0 rows; run the same command again to continue.\n"
    assert not ledger.exists()


@pytest.mark.slow
@pytest.mark.trial("A7")
def test_the_bar_keeps_to_one_line_of_80_columns(tmp_path: Path) -> None:
    file = table(tmp_path / "a-file-with-quite-a-long-name-of-a-table-2026.csv")
    said = on_a_terminal(
        *command(tmp_path / "t.db", "import", "decisions", file), COLUMNS="80", TERM="xterm", NO_COLOR="1"
    )
    lines = [_escape.sub("", line) for line in re.split(r"[\r\n]+", said)]
    bars = [line for line in lines if "━" in line or ("rows/s" in line and "/30,000" in line)]
    assert bars, said
    assert max(map(len, bars)) <= 80
    assert "\x1b[1A\x1b[2K\x1b[1A" not in said, "the bar took several lines"


@pytest.mark.trial("A7")
def test_in_a_pipe_there_is_a_line_at_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter([0.0, 4.0, 10.0, 14.0, 21.0])
    monkeypatch.setattr("api.cli.output.time.monotonic", lambda: next(seconds))
    with output.show_progress("importing table.csv", "rows") as report:
        for done_rows in (10, 500, 600, 1000):
            report(done_rows, 1000)
    assert capsys.readouterr().err == (
        "importing table.csv: 500 of 1,000 rows (50%), 50 rows/s\n"
        "importing table.csv: 1,000 of 1,000 rows (100%), 48 rows/s\n"
    )
    with output.show_progress("scoring", "answers", piped=False) as report:
        report(1, 2)
    assert capsys.readouterr().err == ""
