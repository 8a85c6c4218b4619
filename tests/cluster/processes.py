"""The processes of a cluster, found by their working directory.

Those of a node have the node's folder, or one in it: etcd, Patroni, PostgreSQL and the server. Processes of a terminal,
such as the shell of a person who looks around, do not count.

As a program it is a guard. It waits until the process that started it has ended or closes its standard input; then it
kills what is left of the cluster, and removes its network, which that process could not do if it was killed itself.
"""

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from tests.cluster.network import remove_network
from tests.support.postgres_processes import remove_shared_memory
from tests.support.process_signals import kill_all


def processes_in(folder: Path) -> list[int]:
    """The ids of the processes that work in a folder or below it, and have no terminal."""
    place = str(folder.resolve())
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            with suppress(OSError):  # it has ended meanwhile, or is another user's
                works_in = str(Path(entry.path, "cwd").readlink())
                if works_in == place or works_in.startswith(f"{place}/"):
                    stat = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace")
                    if stat.rpartition(")")[2].split()[4] == "0":  # the number of its terminal
                        found.append(int(entry.name))
    return found


def end_processes(folder: Path, *, keep: bool) -> None:
    """Kill the processes of all nodes, and remove the folder unless it is to be kept."""
    kill_all(lambda: processes_in(folder))
    for node in folder.glob("n*"):
        remove_shared_memory(node)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":  # the guard: it ends what a process left that was killed itself
    sys.stdin.buffer.read()
    end_processes(Path(sys.argv[1]), keep=sys.argv[2] == "keep")
    for prefix in sys.argv[3:]:
        remove_network(prefix)
