"""What commands take on a small ledger, most of it for imports: beside a bare Python, and `import typer, rich`.

The time is the shortest of several rounds, in turns: other programs on the machine only make it longer.
"""

import os
import subprocess
import sys
import time
from asyncio import run
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ledgers import make_ledger
from benchmarks.measure import Measure, expect_at_most

DECISIONS = 100
ROUNDS = 15
LIBRARIES_MAX = 2.0
"""The largest multiple of importing the two libraries that parse a command's words and print its tables."""

LIMITS_S = {"log": 0.35, "decisions": 0.35, "status": 0.35, "calibration": 0.5}
COMPARED = ("log", "decisions", "status")
BARE = "python -c pass"
LIBRARIES = "python -c 'import typer, rich'"


def measure_start(folder: Path) -> Iterator[Measure]:
    """Measure each command in processes of its own: the shortest of several rounds, which others disturbed least."""
    path = folder / "ledger.db"
    run(make_ledger(path, 2 * DECISIONS))
    verb = [sys.executable, "-m", "tallystick", "--ledger", str(path)]
    commands = {name: [*verb, name] for name in LIMITS_S}
    commands[BARE] = [sys.executable, "-c", "pass"]
    commands[LIBRARIES] = [sys.executable, "-c", "import typer, rich"]
    times_ms = {name: min(times) * 1e3 for name, times in _time_in_turns(commands).items()}
    bare_ms, libraries_ms = times_ms[BARE], times_ms[LIBRARIES]
    yield Measure(
        name=LIBRARIES, ours=libraries_ms, other=bare_ms, unit="ms", against=BARE, ratio=libraries_ms / bare_ms,
        target="", holds=None,
    )  # fmt: skip
    for name, limit_s in LIMITS_S.items():
        title, ours_ms = f"tallystick {name}, {DECISIONS} decisions", times_ms[name]
        yield expect_at_most(title, ours_ms, limit_s * 1e3, "ms", "the limit", 1.0)
        if name in COMPARED:
            yield expect_at_most(title, ours_ms, libraries_ms, "ms", LIBRARIES, LIBRARIES_MAX)


def _time_in_turns(commands: dict[str, list[str]]) -> dict[str, list[float]]:
    """Return the times of each command, seconds. A first round, which compiles the modules, is left out."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(ROUNDS + 1):
        for name, command in commands.items():
            started_s = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=True)
            if number > 0:
                times[name].append(time.perf_counter() - started_s)
    return times
