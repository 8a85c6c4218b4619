"""A process of a node, started again when it ends, as its unit of systemd says."""

import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.example_files import FILES


def restart_s(unit: str) -> float:
    """The seconds after which a unit of the examples starts its process again."""
    text = (FILES / "systemd" / f"{unit}.service").read_text(encoding="utf-8")
    (found,) = re.findall(r"^RestartSec=(\d+)$", text, re.MULTILINE)
    return float(found)


class Service:
    """A process that a unit of the examples describes. `options` are those of `subprocess.Popen` for its user."""

    def __init__(
        self,
        unit: str,
        command: Sequence[str | Path],
        folder: Path,
        environment: Mapping[str, str],
        options: Mapping[str, Any],
    ) -> None:
        self.unit = unit
        self.log = folder / f"{unit}.log"
        self.wanted = False
        self._command, self._folder, self._environment, self._options = command, folder, environment, options
        self._restart_s = restart_s(unit)
        self._ended_s: float | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the process, 0 before the first start."""
        return 0 if self._process is None else self._process.pid

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return 0 if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start it, and from now on again when it ends."""
        self.wanted = True
        self._ended_s = None
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, **self._options,
            )  # fmt: skip

    def supervise(self) -> None:
        """Start it again if it has ended for long enough."""
        if not self.wanted or self.poll() is None:
            return
        now_s = time.monotonic()
        self._ended_s = self._ended_s or now_s
        if now_s - self._ended_s >= self._restart_s:
            self.start()

    def stop(self) -> None:
        """Ask it to end (SIGTERM), and do not start it again."""
        self.wanted = False
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()

    def kill(self) -> None:
        """Kill it (SIGKILL). It is started again if it is wanted."""
        if self._process is not None:
            self._process.kill()

    def wait(self, until_s: float) -> bool:
        """Whether it has ended by a moment of the monotonic clock."""
        if self._process is None:
            return True
        try:
            self._process.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True
