"""`make cluster`, as a person uses it: real servers, real losses, and nothing that is left at the end."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tallystick import Client
from tests.cluster.processes import processes_in
from tests.cluster.programs import missing_programs
from tests.support.paths import ROOT
from tests.support.wait import wait_until

pytestmark = pytest.mark.slow

MISSING = missing_programs()
needs_programs = pytest.mark.skipif(MISSING is not None, reason=MISSING or "")

READY = "Ctrl-C ends everything"
EVERY_S = 0.2
RETRY_S = 300.0


class Rehearsal:
    """The running command, what it prints, and its folder."""

    def __init__(self, folder: Path, output: Path) -> None:
        self.folder = folder
        self._output = output
        with output.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.cluster", "--port", "0", "--rate", "10", "--folder", str(folder)],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def printed(self) -> str:
        """What it has printed until now."""
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Wait until it prints a text."""
        wait_until(lambda: text in self.printed(), self.process, every_s=EVERY_S)

    def value(self, name: str) -> str:
        """A value that it printed, by its name."""
        (found,) = re.findall(rf"^{name} +(.+)$", self.printed(), re.MULTILINE)
        return str(found)

    def type(self, command: str) -> None:
        """Type a command, and wait until it is done."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        self.wait_for(f"done: {command}")

    def status(self) -> dict[str, Any]:
        """The state that it serves."""
        found: dict[str, Any] = httpx.get(self.value("status"), timeout=60).json()
        return found

    def postmaster(self, name: str | None) -> int:
        """The id of the first process of a node's PostgreSQL; 0 if it does not run."""
        try:
            return int((self.folder / str(name) / "data" / "postmaster.pid").read_text("utf-8").split()[0])
        except (FileNotFoundError, IndexError):
            return 0

    def wait_for_status(self, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait until something is true of the state; return the state."""
        seen: list[dict[str, Any]] = [{}]

        def is_so() -> bool:
            seen[0] = self.status()
            return bool(true(seen[0]))

        wait_until(is_so, self.process, every_s=EVERY_S)
        return seen[0]


@contextmanager
def rehearsing(folder: Path) -> Iterator[Rehearsal]:
    """Start the command; kill it at the end, if it runs, and wait until its guard has ended what it started."""
    rehearsal = Rehearsal(folder / "cluster", folder / "output")
    try:
        yield rehearsal
    finally:
        rehearsal.process.kill()
        rehearsal.process.communicate()
        wait_until(lambda: not processes_in(rehearsal.folder))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the user of the servers can reach: pytest's is closed to it."""
    with tempfile.TemporaryDirectory(prefix="tallystick-test-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def is_whole(status: dict[str, Any]) -> bool:
    states = sorted((node["database"] or {}).get("state", "") for node in status["nodes"])
    return states == ["running", "streaming", "streaming"] and all(node["ready"] for node in status["nodes"])


@needs_programs
def test_appends_go_on_after_each_loss_and_nothing_is_left_at_the_end(folder: Path) -> None:
    with rehearsing(folder) as rehearsal:
        rehearsal.wait_for(READY)
        first = rehearsal.wait_for_status(is_whole)
        page = httpx.get(rehearsal.value("page"), timeout=60).text
        assert re.search("<h1>n[123] leads</h1>", page)
        assert all(node["url"] in page for node in first["nodes"])
        urls, token = rehearsal.value("servers").split(), rehearsal.value("token")
        with Client(urls, token=token, retry_s=RETRY_S) as client:
            before = client.record("Before every loss").position

            killed = rehearsal.postmaster(first["leader"])
            assert killed
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda: rehearsal.postmaster(rehearsal.status()["leader"]) not in {0, killed}, every_s=EVERY_S)
            after_first = client.record("After the loss of PostgreSQL").position
            second = rehearsal.wait_for_status(is_whole)

            rehearsal.type(f"kill {second['leader']}")
            third = rehearsal.wait_for_status(lambda status: status["leader"] not in {None, second["leader"]})
            after_second = client.record("After the loss of a node").position
            rehearsal.wait_for_status(lambda status: status["load"]["appended"] > third["load"]["appended"])
            lost = next(node for node in rehearsal.status()["nodes"] if node["name"] == second["leader"])
            assert not lost["answers"]
            assert not lost["ready"]
            assert before < after_first < after_second
            rehearsal.type(f"start {second['leader']}")
            rehearsal.wait_for_status(is_whole)
        assert rehearsal.status()["load"]["pauses"]
        rehearsal.process.send_signal(signal.SIGINT)
        assert rehearsal.process.wait() == 0, rehearsal.printed()
        assert "lost 0, moved 0, twice 0" in rehearsal.printed()
        assert not processes_in(rehearsal.folder)
        assert not rehearsal.folder.exists()


@needs_programs
def test_no_process_is_left_when_the_command_is_killed(folder: Path) -> None:
    with rehearsing(folder) as rehearsal:
        rehearsal.wait_for("PostgreSQL has a leader")
        assert processes_in(rehearsal.folder)
        rehearsal.process.kill()
        wait_until(lambda: not rehearsal.folder.exists())
        assert not processes_in(rehearsal.folder)


def test_help_has_an_example() -> None:
    command = [sys.executable, "-m", "tests.cluster", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Example: make cluster ARGS=" in done.stdout
