"""A server as users run it: a process of its own, a real socket, and what it says on standard error.

In the gate it is the application in this process instead, whose address only httpx here knows.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.support import gate_guard
from tests.support.in_process import Application, served_application
from tests.support.paths import ROOT
from tests.support.warm_process import Warm

COMMAND = "tallystick"
NULL = Path(os.devnull)
POLL_S = 0.02
STOP_S = 300.0
"""How long a server that was asked to stop is given before it is killed."""


class Served:
    """A running server: its address, its process, and the lines of its log.

    `ledger` is a file, or the address of a database; then `logs` is needed, the folder of its log. `module` is what is
    run as the command, `environment` what it finds beside ours. With a module or an environment of its own it starts
    cold, as for a user; without, and for a test, warm. In the gate it has neither a process nor a log.
    """

    def __init__(
        self,
        ledger: Path | str,
        *serve_args: str,
        module: str = "",
        environment: Mapping[str, str] | None = None,
        logs: Path | None = None,
    ) -> None:
        self._application: Application | None = None
        if gate_guard.guard.on and not module and not environment:
            self._application = served_application(ledger, serve_args)
            self.url = self._application.url
            return
        self.errors = (logs or Path(ledger).parent) / f"{Path(ledger).name}.{time.monotonic_ns()}.stderr"
        words = ["--ledger", str(ledger), "serve", "--port", "0", *serve_args]
        self._process: Warm | subprocess.Popen[bytes]
        if module or environment or "PYTEST_VERSION" not in os.environ:
            command = [sys.executable, "-m", module or COMMAND, *words]
            reported = {**os.environ, **(environment or {})}
            with self.errors.open("wb") as errors:
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=reported, stdin=subprocess.DEVNULL, stderr=errors
                )
        else:
            self.errors.touch()
            self._process = Warm(words, os.environ, ROOT, NULL, NULL, self.errors)
        try:
            self.url = self.wait_for("serving")["address"]
            while httpx.get(f"{self.url}/readyz").status_code != 200:
                time.sleep(POLL_S)
        except BaseException:
            self.stop()
            raise

    @property
    def process(self) -> Warm | subprocess.Popen[bytes]:
        if self._application is not None:
            gate_guard.guard.refuse("needs the process of a server")
        return self._process

    def log(self) -> list[dict[str, Any]]:
        """Every whole line of standard error, each one JSON."""
        if self._application is not None:
            gate_guard.guard.refuse("reads the log of a server")
        return [msgspec.json.decode(line) for line in self.errors.read_bytes().split(b"\n")[:-1]]

    def wait_for(self, event: str, **fields: object) -> dict[str, Any]:
        """The first log line of an event with these fields, once it is there."""
        if self._application is not None:
            gate_guard.guard.refuse("reads the log of a server")
        while True:
            ended = self.process.poll() is not None
            text = self.errors.read_text(encoding="utf-8")
            if f'"event":"{event}"' in text:
                for line in self.log():
                    if {"event": event, **fields}.items() <= line.items():
                        return line
            assert not ended, f"the server ended with {self.process.returncode} and never said {event}: {text}"
            time.sleep(POLL_S)

    def stop(self) -> int:
        """Ask it to stop, wait, and return its exit code; kill it where it does not."""
        if self._application is not None:
            self._application.close()
            return 0
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def served(ledger: Path | str, *serve_args: str, module: str = "", logs: Path | None = None) -> Iterator[Served]:
    """Run a server over a ledger, and stop it at the end."""
    server = Served(ledger, *serve_args, module=module, logs=logs)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def serving(ledger: Path, *serve_args: str) -> Iterator[str]:
    """Run a server over a ledger file; the value is its base URL."""
    with served(ledger, *serve_args) as server:
        yield server.url
