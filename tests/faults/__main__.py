"""`python -m tests.faults`: faults at full dose, each from a seed, with the figures in benchmarks/FAULTS.md."""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from api.cli.output import show_progress
from tests.faults.report import markdown, merge
from tests.faults.row import Fault, Row
from tests.faults.table import FAULTS

SEED = 20261122


def measure(fault: Fault, dose: int, seed: int) -> Row:
    """Do one fault in an empty folder, and tell how it goes."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix=f"tallystick-{fault.name}-") as folder,
        show_progress(fault.name, "doses") as report_,
    ):
        held, figures = fault.run(Path(folder), dose, random.Random(seed), report_)
    return Row(
        name=fault.name, title=fault.title, must_hold=fault.must_hold, dose=dose, unit=fault.unit, seed=seed,
        held=held, figures=figures, elapsed_s=round(time.monotonic() - began, 1),
    )  # fmt: skip


def main() -> int:
    """Do the faults that are named; 1 where something did not hold, or could not be done here."""
    known = {fault.name: fault for fault in FAULTS}
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"which to do: {' '.join(known)} (default all); postgres and cluster are all of theirs"
    )
    parser.add_argument("--dose", type=int, help="how much of each (default: what the table says)")
    parser.add_argument("--seed", type=int, default=SEED, help=f"what they follow from (default {SEED})")
    parser.add_argument("--json", type=Path, default=Path("faults.json"), help="where rows are kept; others there stay")
    parser.add_argument("--markdown", type=Path, help="write the table to this file")
    arguments = parser.parse_args()
    chosen = [[name for name in known if name == asked or name.startswith(f"{asked}-")] for asked in arguments.names]
    if unknown := [asked for asked, names in zip(arguments.names, chosen, strict=True) if not names]:
        parser.error(f"there is no fault {unknown[0]!r}; choose of {', '.join(known)}")
    console, failed = Console(stderr=True), False
    for name in [name for names in chosen for name in names] or known:
        fault = known[name]
        if why := fault.unfit():
            console.print(f"{name}: cannot be done here: {why}")
            failed = True
            continue
        row = measure(fault, arguments.dose or fault.dose, arguments.seed)
        report = merge(arguments.json, [row], known)
        if arguments.markdown:
            arguments.markdown.write_text(markdown(report), encoding="utf-8")
        console.print(f"{name}: {'held' if row.held else 'DID NOT HOLD'} {row.figures} in {row.elapsed_s:.0f} s")
        failed = failed or not row.held
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
