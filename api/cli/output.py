"""What the command line shows: tables for people, JSON for programs, progress of long work on standard error."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from api.progress import Report
from api.text import to_json

if TYPE_CHECKING:
    from projections.stats.intervals import Interval

QUIET_S = 0.5
"""Work that ends sooner shows no progress."""

WIDTH_PIPED = 160
"""Columns of a table that does not go to a terminal."""


def out(*, stderr: bool = False) -> Console:
    """Where answers go. Colours only on a terminal, and none under NO_COLOR; words are printed as they are."""
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if (sys.stderr if stderr else sys.stdout).isatty() else WIDTH_PIPED,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def print_json(value: object) -> None:
    """A value as one line of JSON, in the bytes that the HTTP door would send."""
    print_line(to_json(value))


def print_line(line: bytes) -> None:
    """Bytes and a line feed, at once."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """A word beside the answer, on standard error."""
    print(text, file=sys.stderr)


def table(*columns: str, right: Sequence[str] = (), wrap: Sequence[str] = ()) -> Table:
    """An empty table; numbers stand on the right. In a narrow terminal columns that may wrap give way first."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column not in wrap)
    return made


def cut(text: str) -> Text:
    """A text on one line, cut where its column, one that may wrap, ends."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def figure(value: float | None, sign: str = "") -> str:
    """Three decimals; a dash where there is nothing."""
    return "-" if value is None else f"{value:{sign}.3f}"


def span(interval: "Interval | None", sign: str = "") -> str:
    """Both ends of an interval; a dash where there is none."""
    return "-" if interval is None else f"{figure(interval.low, sign)} to {figure(interval.high, sign)}"


def chance(p: float) -> str:
    """A p-value with its relation, three decimals."""
    return "< 0.001" if p < 0.001 else f"= {figure(p)}"


class _Rate(ProgressColumn):
    """How much is done a second; a minute, where that is less than one."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.0f} {self._unit}/s" if speed >= 1 else f"{speed * 60:,.1f} {self._unit}/min")


@contextmanager
def progress(label: str, unit: str) -> Iterator[Report]:
    """A bar with rate and time left while the work lasts; nothing where standard error is no terminal."""
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
    began = time.monotonic()
    shown = False

    def report(done: int, total: int) -> None:
        nonlocal shown
        if not shown and time.monotonic() - began > QUIET_S:
            bar.start()
            shown = True
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if shown:
            bar.stop()
