"""The command as users run it: a process of its own. In the gate it runs in this process."""

import os
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from tests.support import gate_guard, in_process, warm_process
from tests.support.paths import ROOT

ENDS_S = 600
"""Far more than any verb needs here; a command that hangs ends the test."""

Value = str | float | Path
OURS = ("TALLYSTICK_LEDGER", "TALLYSTICK_URL", "TALLYSTICK_TOKEN", "NO_COLOR", "FORCE_COLOR", "COLUMNS")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


def environment(**variables: str) -> dict[str, str]:
    """The environment without what would change the command's answers."""
    kept = {name: value for name, value in os.environ.items() if name not in (*OURS, *PROXIES)}
    return kept | {"COLUMNS": "160"} | variables


def command(ledger: Path, *arguments: Value) -> list[str]:
    """The words of a command."""
    return [sys.executable, "-m", "tallystick", "--ledger", str(ledger), *map(str, arguments)]


def tally(ledger: Path, *arguments: Value, given: bytes = b"", **variables: str) -> Ended:
    """Run a verb to its end."""
    words = ["--ledger", str(ledger), *map(str, arguments)]
    if gate_guard.guard.on:
        if threading.current_thread() is not threading.main_thread():
            gate_guard.guard.refuse("runs commands beside one another")
        code, out, err = in_process.command(words, given, environment(**variables))
        return Ended(code, out, err.decode())
    done = warm_process.run(words, given, environment(**variables), ROOT, ENDS_S)
    return Ended(done.returncode, done.stdout, done.stderr.decode())


def done(ledger: Path, *arguments: Value, given: bytes = b"", **variables: str) -> Ended:
    """Run a verb that must succeed."""
    ended = tally(ledger, *arguments, given=given, **variables)
    assert ended.code == 0, ended.err
    return ended


def refused(ledger: Path, *arguments: Value, given: bytes = b"", code: int = 2, **variables: str) -> str:
    """Run a verb that must refuse, in plain lines; what it says."""
    ended = tally(ledger, *arguments, given=given, **variables)
    assert ended.code == code, (ended.code, ended.err)
    assert ended.out == b""
    assert ended.err.startswith("error: ")
    assert "Traceback" not in ended.err
    return ended.err
