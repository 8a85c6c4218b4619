"""Verbs whose standard streams are closed or full: a plain error and exit code 2, and never a traceback."""

import json
import shlex
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest

from tests.api.cli.command import Value, command, done, environment
from tests.api.cli.lines import history
from tests.api.cli.test_one_ledger import ANSWER, NOTHING, READS, Words
from tests.support.paths import ROOT
from tests.support.server import POLL_S

pytestmark = [pytest.mark.slow, pytest.mark.trial("A9")]


def ended(ledger: Path, words: tuple[Value, ...], streams: str) -> tuple[int, str]:
    """The exit code of a command that a shell starts with changed streams, and its standard error."""
    line = f"exec {shlex.join(command(ledger, *words))} {streams}"
    shell = ["sh", "-c", line]
    process = subprocess.run(shell, input=ANSWER, capture_output=True, env=environment(), cwd=ROOT, check=False)
    return process.returncode, process.stderr.decode()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    ledger = tmp_path_factory.mktemp("streams") / "t.db"
    done(ledger, "append", given=history(8))
    return ledger


PRINTS: list[tuple[Value, ...]] = [
    *((*verb, *found[0]) for verb, found in READS.items() if found and verb[0] in {"calibration", "log", "inventory"}),
    ("decisions",), ("status",), ("verify", "--quick"), ("checkpoint",), ("record", "x"), ("replay",),
    *((*verb, *arguments) for verb, arguments in NOTHING.items()), ("--help",), ("calibration", "--help"),
    ("--version",),
]  # fmt: skip


@pytest.mark.parametrize("words", PRINTS, ids=lambda words: " ".join(map(str, words)))
def test_an_answer_that_cannot_be_printed_is_an_error(filled: Path, words: Words) -> None:
    code, err = ended(filled, words, ">&-")
    assert (code, err.splitlines()[-1]) == (2, "error: standard output: Bad file descriptor")
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [("calibration",), ("record", "x"), ("log",)], ids=str)
def test_an_answer_that_finds_no_space_is_an_error(filled: Path, words: Words) -> None:
    code, err = ended(filled, words, ">/dev/full")
    assert (code, err.splitlines()[-1]) == (2, "error: standard output: No space left on device")
    assert "Traceback" not in err


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full", "<&-", "<&- 2>&-"])
@pytest.mark.parametrize("words", [("calibration",), ("record", "x"), ("decisions", "--json"), ("schema",)], ids=str)
def test_nothing_but_the_answer_is_needed(filled: Path, words: Words, streams: str) -> None:
    line = f"exec {shlex.join(command(filled, *words))} {streams}"
    process = subprocess.run(["sh", "-c", line], capture_output=True, env=environment(), cwd=ROOT, check=False)
    assert process.returncode == 0
    assert process.stdout
    assert b"Traceback" not in process.stderr


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_an_error_without_standard_error_is_an_exit_code(filled: Path, streams: str) -> None:
    assert ended(filled, ("decisions", "--stakes", "huge"), streams)[0] == 2
    assert ended(filled, ("nosuch",), streams)[0] == 2
    assert ended(filled, ("calibration",), f">&- {streams}")[0] == 2


def test_input_that_is_closed_is_an_error(filled: Path) -> None:
    code, err = ended(filled, ("append",), "<&-")
    assert (code, err) == (2, "error: input: Bad file descriptor\n")


def test_no_file_of_the_ledger_gets_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """What a verb prints would be written into that file."""
    ledger = tmp_path / "t.db"
    assert ended(ledger, ("append", "/dev/stdin"), ">&- 2>&-")[0] == 2
    for number in range(3):
        assert ended(ledger, ("record", f"decision {number}"), "<&- >&- 2>&-")[0] == 2
    assert done(ledger, "log").out.count(b"\n") == 3
    assert done(ledger, "verify").text.count("Nothing is wrong: 3 events") == 1


def test_a_server_needs_no_standard_streams(tmp_path: Path) -> None:
    with httpx.Client(timeout=60) as http:
        ledger = tmp_path / "t.db"
        line = f"exec {shlex.join(command(ledger, 'serve', '--port', 0))} <&- >&- 2>&-"
        with subprocess.Popen(["sh", "-c", line], env=environment(), cwd=ROOT) as server:
            try:
                url = _address(Path(f"{ledger}.lock"), server)
                assert http.get(f"{url}/readyz").status_code == 200
                assert http.get(f"{url}/nowhere").status_code == 404
                server.send_signal(signal.SIGTERM)
                assert server.wait() in {0, -signal.SIGTERM}
            finally:
                server.kill()


def _address(lock: Path, server: subprocess.Popen[bytes]) -> str:
    """The address of a server that says nothing: the one in its lock file."""
    while True:
        assert server.poll() is None
        if lock.exists() and (held := lock.read_bytes()):
            address: str = json.loads(held)["address"]
            return address
        time.sleep(POLL_S)
