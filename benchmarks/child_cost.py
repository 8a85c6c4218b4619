"""Time a command, and measure its memory, from a small process.

A child inherits the peak memory of the process that starts it, so a large one would measure itself. Hence this module
imports only the standard library, and `measure_command` runs it as a process between the two.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class ChildCost(NamedTuple):
    """The seconds that a command took from its start to its end, and its peak memory in megabytes (10^6 bytes)."""

    elapsed_s: float
    peak_mb: float


def measure_command(command: list[str], folder: Path) -> ChildCost:
    """Run a command in a folder, without its output. It must succeed."""
    launcher = [sys.executable, "-I", "-S", __file__, *command]
    done = subprocess.run(launcher, cwd=folder, check=True, capture_output=True)
    return ChildCost(*json.loads(done.stdout))


def main() -> None:
    """Run the command of the arguments; print its cost as JSON."""
    started_s = time.perf_counter()
    subprocess.run(sys.argv[1:], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    elapsed_s = time.perf_counter() - started_s
    print(json.dumps([elapsed_s, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6]))


if __name__ == "__main__":
    main()
