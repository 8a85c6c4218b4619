"""Print tables for people and JSON for programs, and show the progress of long work on standard error."""

import os
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from api.cli.table import FittedTable
from api.escaped_text import escape_controls, escape_json
from api.progress import ReportProgress
from api.text_format import to_json

if TYPE_CHECKING:
    from projections.stats.intervals import Interval

PROGRESS_DELAY_S = 0.5
"""Seconds before a progress bar appears, so that short work shows none."""

SMALLEST_P = 0.001
"""P-values below this one are printed as `< 0.001`."""

SHORTEST_S = 0.001
"""Work that took less time is printed as if it took this long, seconds."""

WIDTH_PIPED = 160
"""Width of a table that is not printed on a terminal, in columns."""


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text without markup, in colour only on a terminal without NO_COLOR."""
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if (sys.stderr if stderr else sys.stdout).isatty() else WIDTH_PIPED,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def print_json(value: object) -> None:
    """Print a value as one line of JSON: what HTTP sends, with control characters escaped."""
    _write_line(escape_json(to_json(value)))


def print_line(line: bytes) -> None:
    """Print stored lines of JSON and a line feed, and flush; on a terminal with control characters escaped."""
    _write_line(escape_json(line) if sys.stdout.isatty() else line)


def _write_line(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def print_note(text: str) -> None:
    """Print a remark on standard error, beside the answer on standard output."""
    print(escape_controls(text), file=sys.stderr)


def make_table(
    *columns: str, right: Collection[str] = (), wrap: Collection[str] = (), drop: Sequence[str] = ()
) -> FittedTable:
    """Return an empty table.

    Columns in `right` are right-aligned, those in `wrap` shrink, and those in `drop` are left out in this order if the
    terminal is too narrow.
    """
    return FittedTable(columns, right=right, wrap=wrap, drop=drop)


def make_facts() -> FittedTable:
    """Return an empty table of labels and texts, without a header. A long text continues on the next line."""
    table = make_table("label", "text", wrap=("text",))
    table.show_header = False
    return table


def truncate(text: str) -> Text:
    """Return a free text that ends with an ellipsis if it is wider than its column; anything else continues below."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def format_figure(value: float | None, sign: str = "") -> str:
    """Return a number with three decimals, or a dash for None."""
    return "-" if value is None else f"{value:{sign}.3f}"


def format_interval(interval: "Interval | None", sign: str = "") -> str:
    """Return both ends of an interval, or a dash for None."""
    return "-" if interval is None else f"{format_figure(interval.low, sign)} to {format_figure(interval.high, sign)}"


def format_p(p: float) -> str:
    """Return a p-value with its relation: `= 0.042` or `< 0.001`."""
    return f"< {SMALLEST_P:g}" if p < SMALLEST_P else f"= {format_figure(p)}"


def format_speed(items: int, elapsed_ms: int, unit: str) -> str:
    """Return the duration of some work and its rate: `1.2 s, 4,000 rows/s`."""
    elapsed_s = max(elapsed_ms / 1000, SHORTEST_S)
    return f"{elapsed_s:.1f} s, {items / elapsed_s:,.0f} {unit}/s"


class _Rate(ProgressColumn):
    """The rate per second, or per minute if it is below one per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.0f} {self._unit}/s" if speed >= 1 else f"{speed * 60:,.1f} {self._unit}/min")


@contextmanager
def show_progress(label: str, unit: str) -> Iterator[ReportProgress]:
    """Show a bar with rate and remaining time, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        _Rate(unit),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=0)
    began_s = time.monotonic()
    is_shown = False

    def report(done: int, total: int) -> None:
        nonlocal is_shown
        if not is_shown and time.monotonic() - began_s > PROGRESS_DELAY_S:
            bar.start()
            is_shown = True
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if is_shown:
            bar.stop()
