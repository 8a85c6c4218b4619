"""Kill, stop and continue a group of processes, whose ids a function finds again each time: they may start others."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

POLL_S = 0.005

FindProcesses = Callable[[], Sequence[int]]
"""The ids of the processes of a group. A process that has ended is not in it."""


def kill_all(find: FindProcesses) -> None:
    """Kill these processes (SIGKILL), and wait until all have ended."""
    while pids := find():
        send(pids, signal.SIGKILL)
        time.sleep(POLL_S)


def freeze_all(find: FindProcesses) -> None:
    """Stop these processes (SIGSTOP), and wait until each is stopped, also one that was started meanwhile."""
    while moving := [pid for pid in find() if _state(pid) not in "Tt"]:
        send(moving, signal.SIGSTOP)
        time.sleep(POLL_S)


def send(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to processes; one that has ended is left out."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _state(pid: int) -> str:
    """The state of a process, one letter: T is stopped. A process that has ended counts as stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "T"
