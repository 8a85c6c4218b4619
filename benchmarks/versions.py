"""`python -m benchmarks.versions OTHER`: our figures in this checkout and in another one, in turns.

Each checkout runs its own benchmarks, with the Python that runs this. A figure is compared by its median ratio over the
rounds. Without names of benchmarks: those of appends, replay, export and verification on SQLite.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.load import ROOT
from benchmarks.measure import Measure, Report

NAMES = ("append_single", "append_batches", "replay", "export", "verify")

RATIO_MIN = 0.97
"""Below this, a figure is worse than that of the other checkout."""

RATES = frozenset({"events/s"})
"""Units of which more is better; of every other one, less is."""

Row = tuple[str, str]
"""The name of a measurement, and what it is compared with."""


def main() -> int:
    """Run both checkouts in turns and print a line for each figure; return 1 if one is worse here."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.versions", description=__doc__)
    parser.add_argument("other", type=Path, help="folder of another checkout")
    parser.add_argument("names", nargs="*", help=f"benchmarks to run (default: {' '.join(NAMES)})")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", default="0.2", help="1.0 is a million events")
    arguments = parser.parse_args()
    here: dict[Row, list[Measure]] = {}
    there: dict[Row, list[Measure]] = {}
    for _ in range(arguments.rounds):
        for checkout, found in ((arguments.other.absolute(), there), (ROOT, here)):
            for measure in _run(checkout, arguments.names or NAMES, arguments.scale):
                found.setdefault((measure.name, measure.against), []).append(measure)
    worse = 0
    for row in [row for row in here if row in there]:
        ratio = median([_ratio(ours, other) for ours, other in zip(here[row], there[row], strict=True)])
        ours, other = (median([measure.ours for measure in found[row]]) for found in (here, there))
        worse += ratio < RATIO_MIN
        verdict = "WORSE" if ratio < RATIO_MIN else ""
        print(f"{row[0]:<55}{ours:>14,.3f}{other:>14,.3f} {here[row][0].unit:<10}{ratio:>8.3f} {verdict}")
    return 1 if worse else 0


def _run(checkout: Path, names: list[str] | tuple[str, ...], scale: str) -> list[Measure]:
    with tempfile.TemporaryDirectory(prefix="tallystick-versions-") as folder:
        report = Path(folder, "report.json")
        command = [sys.executable, "-m", "benchmarks", *names, "--scale", scale, "--json", str(report)]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, check=False)
        if not report.exists():
            raise SystemExit(f"The benchmarks of {checkout} failed:\n{done.stderr.decode()}")
        return msgspec.json.decode(report.read_bytes(), type=Report).measures


def _ratio(ours: Measure, other: Measure) -> float:
    """Return how many times as good as the other figure ours is."""
    return ours.ours / other.ours if ours.unit in RATES else other.ours / ours.ours


if __name__ == "__main__":
    sys.exit(main())
