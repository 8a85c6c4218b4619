"""`python -m benchmarks`: measure all documented figures in one run, each next to what it is compared with."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.append import measure_batches, measure_growth, measure_single
from benchmarks.calibration import measure_calibration
from benchmarks.evaluation_scores import measure_evaluation_scores
from benchmarks.export import measure_export
from benchmarks.log_size import measure_log_size
from benchmarks.measure import FULL_EFFORT, TRIAL_EFFORT, Measure, Report, describe_machine
from benchmarks.pages import measure_pages
from benchmarks.peers import PEERS_PYTHON, measure_peers
from benchmarks.postgres_log import measure_postgres
from benchmarks.probe_scores import measure_probe_scores
from benchmarks.replay import measure_replay
from benchmarks.scoreboard import measure_scoreboard
from benchmarks.start import measure_start
from benchmarks.verify import measure_verify

_VERDICTS = {None: "", True: "holds", False: "MISSED"}


def sections(scale: float, peers: Path = PEERS_PYTHON) -> dict[str, Callable[[Path], Iterator[Measure]]]:
    """Return the benchmarks by name; `scale` shortens the histories, `peers` is the peers' Python."""
    million = max(2_000, int(1_000_000 * scale))
    effort = FULL_EFFORT if scale >= 0.1 else TRIAL_EFFORT
    return {
        "append_single": measure_single,
        "append_batches": measure_batches,
        "replay": lambda folder: measure_replay(folder, million, million // 100),
        "calibration": lambda folder: measure_calibration(folder, million // 10, million),
        "append_growth": lambda folder: measure_growth(folder, million // 10, 5 * million),
        "export": lambda folder: measure_export(folder, million),
        "verify": lambda folder: measure_verify(folder, million),
        "probe_scores": measure_probe_scores,
        "evaluation_scores": lambda folder: measure_evaluation_scores(folder, max(2, int(500 * scale))),
        "scoreboard": lambda folder: measure_scoreboard(folder, max(2, int(200 * scale))),
        "pages": lambda folder: measure_pages(folder, million, million // 100, max(2, int(200 * scale))),
        "start": measure_start,
        "postgres": lambda folder: measure_postgres(folder, peers, million // 10, 5 * million, effort),
        "peers": lambda folder: measure_peers(folder, peers, effort),
        "log_size": lambda folder: measure_log_size(folder, million // 10, 10 * million, million, effort),
    }


def main() -> int:
    """Run the benchmarks; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = " ".join(sections(1.0))
    parser.add_argument("names", nargs="*", help=f"benchmarks to run: {names} (default: all)")
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is a million events; 0.01 for a trial run")
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON, help="Python of the peers' environment")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), help="file of the report")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments = parser.parse_args()
    benchmarks = sections(arguments.scale, arguments.peers)
    if unknown := [name for name in arguments.names if name not in benchmarks]:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(benchmarks)}")
    console = Console(stderr=True)
    measures: list[Measure] = []
    for name in arguments.names or benchmarks:
        console.print(f"{name} ...")
        with tempfile.TemporaryDirectory(prefix="tallystick-bench-") as folder:
            for measure in benchmarks[name](Path(folder)):
                measures.append(measure)
                console.print(f"  {measure.name}: {measure.ratio:.2f} (target {measure.target or 'none'})")
    report = Report(machine=describe_machine(), measures=measures)
    arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    if arguments.markdown:
        print(render_markdown(report))
    else:
        print_table(report)
    return 0 if all(measure.holds is not False for measure in measures) else 1


def print_table(report: Report) -> None:
    """Print the report as a table."""
    machine = report.machine
    software = f"Python {machine.python}, SQLite {machine.sqlite}"
    table = Table(title=f"{machine.cpu}, {machine.cores} cores, {machine.memory_gib} GiB; {software}")
    for heading in ("what", "ours", "other", "unit", "against", "ratio", "target", ""):
        table.add_column(heading, justify="right" if heading in ("ours", "other", "ratio") else "left")
    for row in report.measures:
        figures = (
            _format_figure(row.ours),
            _format_figure(row.other),
            row.unit,
            row.against,
            f"{row.ratio:.2f}",
            row.target,
        )
        table.add_row(row.name, *figures, _VERDICTS[row.holds])
    Console(width=160 if not sys.stdout.isatty() else None).print(table)


def render_markdown(report: Report) -> str:
    """Render the report as a Markdown table."""
    machine = report.machine
    software = f"Python {machine.python}, SQLite {machine.sqlite}"
    lines = [
        f"Measured on {machine.cpu}, {machine.cores} cores, {machine.memory_gib} GiB; {software}.",
        "",
        "|what|ours|the other|unit|against|ratio|target|",
        "|-|-|-|-|-|-|-|",
    ]
    for row in report.measures:
        missed = " (missed)" if row.holds is False else ""
        figures = f"{_format_figure(row.ours)}|{_format_figure(row.other)}|{row.unit}|{row.against}"
        lines.append(f"|{row.name}|{figures}|{row.ratio:.2f}|{row.target}{missed}|")
    return "\n".join(lines)


def _format_figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


if __name__ == "__main__":
    sys.exit(main())
