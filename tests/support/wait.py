"""Wait for what another process does. A process that has ended will never do it: then the test fails, and says so."""

import time
from collections.abc import Callable
from typing import Protocol

POLL_S = 0.02


class Process(Protocol):
    """A process that can be asked whether it has ended: a `subprocess.Popen`, a warm one, a server's."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None:
        """The exit code; None while it runs."""


def wait_until(true: Callable[[], object], *processes: Process, every_s: float = POLL_S) -> None:
    """Wait until something is true, which these processes bring about. Fail where one of them ends before."""
    while True:
        codes = {process.pid: process.poll() for process in processes}
        if true():
            return
        ended = [f"process {pid} ended with {code}" for pid, code in codes.items() if code is not None]
        assert not ended, f"{', '.join(ended)} before what the test waits for"
        time.sleep(every_s)
