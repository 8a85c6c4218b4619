"""The processes of a PostgreSQL server: found by their command lines, which anyone may read.

PostgreSQL gives each process the title `postgres: CLUSTER_NAME: ...`. Ours have a cluster name that no other has. Until
a new process has its title, its command line is that of the server, with the folder of its data.

As a program it is a guard. It waits until the process that started it has ended or closes its standard input; then it
kills the servers of that process and removes their folders, which that process could not do if it was killed itself.
"""

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.process_signals import freeze_all, kill_all, send


def processes_of(cluster_name: str) -> list[int]:
    """The ids of the processes of each server whose cluster name begins so. A process that has ended is not in it."""
    return [pid for pid, command in _commands() if _belongs(command, cluster_name.encode())]


def kill_processes(cluster_name: str) -> None:
    """Kill these processes (SIGKILL), and wait until all have ended."""
    kill_all(lambda: processes_of(cluster_name))


def freeze_processes(cluster_name: str) -> None:
    """Stop these processes (SIGSTOP), and wait until each is stopped, also one that was started meanwhile."""
    freeze_all(lambda: processes_of(cluster_name))


def thaw_processes(cluster_name: str) -> None:
    """Continue processes that were stopped (SIGCONT)."""
    send(processes_of(cluster_name), signal.SIGCONT)


def _commands() -> Iterator[tuple[int, bytes]]:
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):  # it has ended meanwhile
                yield int(entry.name), Path(entry.path, "cmdline").read_bytes()


def _belongs(command: bytes, cluster_name: bytes) -> bool:
    """Whether a command line is one of a server's: with its title, or before it has one, `-c cluster_name=NAME`."""
    return command.startswith(b"postgres: " + cluster_name) or b"\0cluster_name=" + cluster_name in command


def _guard(cluster_name: str, folders: Sequence[Path]) -> None:
    sys.stdin.buffer.read()
    kill_processes(cluster_name)
    for folder in folders:
        remove_shared_memory(folder)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def remove_shared_memory(folder: Path) -> None:
    """Remove the segments that killed servers leave, by the files postmaster.pid in the folders of a folder."""
    for file in folder.glob("*/postmaster.pid"):
        lines = file.read_text(encoding="utf-8").splitlines()
        if len(lines) >= 7:  # the 7th has key and id of the segment
            ctypes.CDLL(None).shmctl(int(lines[6].split()[1]), 0, None)  # 0 is IPC_RMID


if __name__ == "__main__":
    _guard(sys.argv[1], [Path(folder) for folder in sys.argv[2:]])
