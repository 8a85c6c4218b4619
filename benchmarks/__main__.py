"""`python -m benchmarks`: every figure of the README, measured side by side in one run."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.appending import batched, growing, single
from benchmarks.exporting import exporting
from benchmarks.grading import grading
from benchmarks.judging import judging
from benchmarks.measure import Measure, Report, machine
from benchmarks.replaying import replaying
from benchmarks.scoring import scoring
from benchmarks.verifying import verifying
from benchmarks.viewing import viewing


def sections(scale: float) -> dict[str, Callable[[Path], Iterator[Measure]]]:
    """The benchmarks by name; `scale` shortens the histories for a try-out."""
    million = max(2_000, int(1_000_000 * scale))
    return {
        "single": single,
        "batched": batched,
        "replaying": lambda folder: replaying(folder, million, million // 100),
        "viewing": lambda folder: viewing(folder, million // 10, million),
        "growing": lambda folder: growing(folder, million // 10, 5 * million),
        "exporting": lambda folder: exporting(folder, million),
        "verifying": lambda folder: verifying(folder, million),
        "scoring": scoring,
        "grading": lambda folder: grading(folder, max(2, int(500 * scale))),
        "judging": lambda folder: judging(folder, max(2, int(200 * scale))),
    }


def main() -> int:
    """Run the benchmarks; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = " ".join(sections(1.0))
    parser.add_argument("names", nargs="*", help=f"which to run: {names} (default all)")
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is a million events; 0.01 for a try-out")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="where the report goes")
    parser.add_argument("--markdown", action="store_true", help="print the table as README.md has it")
    arguments = parser.parse_args()
    known = sections(arguments.scale)
    if unknown := [name for name in arguments.names if name not in known]:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose of {', '.join(known)}")
    console = Console(stderr=True)
    measures: list[Measure] = []
    for name in arguments.names or known:
        console.print(f"{name} ...")
        with tempfile.TemporaryDirectory(prefix="tallystick-bench-") as folder:
            for measure in known[name](Path(folder)):
                measures.append(measure)
                console.print(f"  {measure.name}: {measure.ratio:.2f} (target {measure.target})")
    report = Report(machine=machine(), measures=measures)
    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    if arguments.markdown:
        print(markdown(report))
    else:
        show(report)
    return 0 if all(measure.holds is not False for measure in measures) else 1


def show(report: Report) -> None:
    """The report as a table."""
    where = report.machine
    title = f"{where.cpu}, {where.cores} cores, {where.memory_gib} GiB; Python {where.python}, SQLite {where.sqlite}"
    table = Table(title=title)
    for heading in ("what", "ours", "other", "unit", "against", "ratio", "target", ""):
        table.add_column(heading, justify="right" if heading in ("ours", "other", "ratio") else "left")
    for row in report.measures:
        verdict = "" if row.holds is None else "holds" if row.holds else "MISSED"
        figures = _figure(row.ours), _figure(row.other), row.unit, row.against, f"{row.ratio:.2f}", row.target
        table.add_row(row.name, *figures, verdict)
    Console(width=160 if not sys.stdout.isatty() else None).print(table)


def markdown(report: Report) -> str:
    """The report as README.md has it."""
    where = report.machine
    software = f"Python {where.python}, SQLite {where.sqlite}"
    lines = [
        f"Measured on {where.cpu}, {where.cores} cores, {where.memory_gib} GiB; {software}.",
        "",
        "|what|ours|the other|unit|against|ratio|target|",
        "|-|-|-|-|-|-|-|",
    ]
    for row in report.measures:
        missed = " (missed)" if row.holds is False else ""
        figures = f"{_figure(row.ours)}|{_figure(row.other)}|{row.unit}|{row.against}"
        lines.append(f"|{row.name}|{figures}|{row.ratio:.2f}|{row.target}{missed}|")
    return "\n".join(lines)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
