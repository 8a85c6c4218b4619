"""End every process that a command has started, also those that left its process group. Linux only.

A process that starts a session of its own leaves its command's group, and one whose parent exits would become a child
of init. So this process asks the kernel to become the parent of such orphans (PR_SET_CHILD_SUBREAPER): whatever a
command starts stays below this process, and is found in /proc. An orphan belongs to a command if it is of its session,
or was below it before the command ended. If several commands run at once, an orphan that left its session early may
belong to any of them: it is ended when the commands that ran at its start have ended.

On other systems only the process group is ended. A chain of processes that each live a few milliseconds can be faster
than the reading of /proc, and goes on. Nothing here ends what another program starts on request, such as a
container.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

PR_SET_CHILD_SUBREAPER = 36
"""Source: linux/prctl.h."""

END_S = 5.0
"""Seconds for the end of killed processes; one that waits for a device may take longer."""

POLL_S = 0.005

_PROC = Path("/proc")

_lock = threading.RLock()
_running: dict[int, int] = {}  # the commands that run now: the start of each, in clock ticks after boot
_first_start: list[int] = []


class ProcessIdentity(NamedTuple):
    """A process: its id, which is used again later, and its start in clock ticks after boot."""

    pid: int
    started: int


class _Process(NamedTuple):
    identity: ProcessIdentity
    parent: int
    session: int
    is_zombie: bool


def start_command(
    words: Sequence[str], environment: Mapping[str, str] | None, descriptors: Sequence[int] = ()
) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own, with three pipes and the descriptors that are named. Errors: OSError."""
    pipe = subprocess.PIPE
    with _lock:
        _become_subreaper()
        process = subprocess.Popen(  # noqa: S603 - the user names the program to run; no shell
            words, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True,
            pass_fds=descriptors,
        )  # fmt: skip
        found = _read(process.pid)
        if found is not None:
            _running[process.pid] = found.identity.started
            if not _first_start:
                _first_start.append(found.identity.started)
    return process


def find_descendants(pid: int) -> set[ProcessIdentity]:
    """Return the processes below a process."""
    return {process.identity for process in _below({pid}, _read_all())}


def send_signal(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    """Send a signal to those of the processes that still run."""
    for process in processes:
        with suppress(OSError):
            _send_to_one(process, number)


def _send_to_one(process: ProcessIdentity, number: signal.Signals) -> None:
    """Send a signal to a process, and to no other one that has got its id. Errors: OSError."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except OSError:  # a kernel, or a sandbox, without descriptors of processes
        if _has_identity(process):
            os.kill(process.pid, number)
        return
    try:
        if _has_identity(process):
            signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _has_identity(process: ProcessIdentity) -> bool:
    found = _read(process.pid)
    return found is not None and found.identity == process


def end_tree(pid: int, seen: Iterable[ProcessIdentity]) -> None:
    """Kill what a command that has ended has left: what was seen below it, and the orphans that are its own."""
    known = set(seen)
    deadline_s = time.monotonic() + END_S
    with _lock:
        _running.pop(pid, None)
    while time.monotonic() < deadline_s:
        with _lock:
            left = _find_left(pid, known)
            is_new = not known.issuperset(process.identity for process in left)
            known |= {process.identity for process in left}
            send_signal((process.identity for process in left if not process.is_zombie), signal.SIGKILL)
            for process in left:
                if process.is_zombie and process.parent == os.getpid():
                    with suppress(ChildProcessError):
                        os.waitpid(process.identity.pid, os.WNOHANG)
        # A zombie that is new may have a child that began after this scan listed the processes.
        if not is_new and all(process.is_zombie for process in left):
            return
        time.sleep(POLL_S)


def _find_left(pid: int, known: set[ProcessIdentity]) -> list[_Process]:
    """Return the processes that a command has left."""
    processes = _read_all()
    own_session, own_pid = os.getsid(0), os.getpid()
    oldest_running = min(_running.values(), default=None)

    def is_left(process: _Process) -> bool:
        if process.identity in known:
            return True
        is_orphan = (
            process.parent == own_pid
            and process.session != own_session
            and process.identity.pid not in _running
            and bool(_first_start)
            and process.identity.started >= _first_start[0]
        )
        return is_orphan and (
            process.session == pid or oldest_running is None or process.identity.started < oldest_running
        )

    roots = [process for process in processes if is_left(process)]
    below = _below({process.identity.pid for process in roots}, processes)
    return [*roots, *(process for process in below if process not in roots)]


def _below(pids: set[int], processes: Sequence[_Process]) -> list[_Process]:
    """Return the processes whose parents, or the parents of these, are among some."""
    below: list[_Process] = []
    parents = set(pids)
    while parents:
        children = [process for process in processes if process.parent in parents and process not in below]
        below += children
        parents = {process.identity.pid for process in children}
    return below


def _read_all() -> list[_Process]:
    if not _is_linux():
        return []
    return [process for pid in _pids() if (process := _read(pid)) is not None]


def _pids() -> Iterator[int]:
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _read(pid: int) -> _Process | None:
    """Return a process as /proc describes it; None if it has ended, or there is no /proc."""
    try:
        status = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    state, parent, _, session, *rest = status.rpartition(b")")[2].split()
    return _Process(ProcessIdentity(pid, int(rest[15])), int(parent), int(session), state in {b"Z", b"X"})


@cache
def _become_subreaper() -> None:
    """Let orphans below this process become its children. Without it, only the process group is ended."""
    if _is_linux():
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _is_linux() -> bool:
    return sys.platform == "linux"
