"""Print tables for people and JSON for programs, and show the progress of long work on standard error."""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from api.escaped_text import escape_controls, escape_json
from api.progress import ReportProgress
from api.text_format import format_count, format_figure, format_rate, format_time, one_line, to_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from api.cli.table import FittedTable

PROGRESS_DELAY_S = 0.5
"""Seconds before a progress bar appears, so that short work shows none."""

LINE_INTERVAL_S = 10.0
"""Seconds between two lines of progress where standard error is not a terminal."""

SHORTEST_S = 0.001
"""Work that took less time is printed as if it took this long, seconds."""

WIDTH_PIPED = 160
"""Width of a table that is not printed on a terminal, in columns."""


def open_console(*, stderr: bool = False) -> "Console":
    """Return a console that prints text without markup, in colour only on a terminal without NO_COLOR."""
    from rich.console import Console

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
    print_bytes(escape_json(to_json(value)) + b"\n")


def print_line(line: bytes) -> None:
    """Print stored lines of JSON and a line feed, and flush; on a terminal with control characters escaped."""
    print_bytes((escape_json(line) if sys.stdout.isatty() else line) + b"\n")


def print_bytes(data: bytes) -> None:
    """Print bytes as they are, and flush."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_note(text: str) -> None:
    """Print a remark on standard error, beside the answer on standard output."""
    print(escape_controls(text), file=sys.stderr)


def make_table(
    *columns: str, right: Collection[str] = (), wrap: Collection[str] = (), drop: Sequence[str] = ()
) -> "FittedTable":
    """Return an empty table.

    Columns in `right` are right-aligned, those in `wrap` shrink, and those in `drop` are left out in this order if the
    terminal is too narrow.
    """
    from api.cli.table import FittedTable

    return FittedTable(columns, right=right, wrap=wrap, drop=drop)


def table_of(
    rows: Iterable[object],
    columns: Mapping[str, str | Callable[[Any], object]],
    *,
    right: Collection[str] = (),
    wrap: Collection[str] = (),
    cut: Collection[str] = (),
    drop: Sequence[str] = (),
) -> "FittedTable":
    """Return a table of structs of one kind.

    `columns` maps headings to the path of a field, such as `review.outcome`, or to a function of the row, whose text is
    printed as it is. The texts of columns in `cut` end with an ellipsis if they are too wide. For `right`, `wrap` and
    `drop` see `make_table`.
    """
    table = make_table(*columns, right=right, wrap=(*wrap, *cut), drop=drop)
    for row in rows:
        texts = {heading: _cell(row, value) for heading, value in columns.items()}
        table.add_row(*(truncate(text) if heading in cut else text for heading, text in texts.items()))
    return table


def _cell(row: Any, value: str | Callable[[Any], object]) -> Any:  # noqa: ANN401 - any row; a text or a `Text`
    if callable(value):
        found = value(row)
        return format_value(found) if found is None or isinstance(found, (int, datetime, list)) else found
    return format_value(_field(row, value))


def figure(path: str) -> Callable[[Any], str]:
    """Return a function that formats the number at a path of a row with decimals, also a whole one."""
    return lambda row: format_figure(_field(row, path))


def _field(row: Any, path: str) -> Any:  # noqa: ANN401 - any row and field
    for name in path.split("."):
        row = None if row is None else getattr(row, name)
    return row


def format_value(value: object) -> str:
    """Return the text of a field of an answer: on one line, and `-` for None or nothing."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format_count(value)
    if isinstance(value, datetime):
        return format_time(value)
    if value is None or isinstance(value, str):
        return one_line(value)
    assert isinstance(value, Collection), "a list of texts, or the names of a mapping"
    return one_line(", ".join(value))


def make_facts(facts: Iterable[tuple[str, object]] = ()) -> "FittedTable":
    """Return a table of labels and values, without a header and without those that are None.

    A long text continues on the next line.
    """
    table = make_table("label", "text", wrap=("text",))
    table.show_header = False
    for label, value in facts:
        if value is not None:
            table.add_row(label, format_value(value))
    return table


def truncate(text: str) -> "Text":
    """Return a free text that ends with an ellipsis if it is wider than its column; anything else continues below."""
    from rich.text import Text

    return Text(text, no_wrap=True, overflow="ellipsis")


def format_speed(items: int, elapsed_ms: int, unit: str) -> str:
    """Return the duration of some work and its rate: `1.2 s, 4,000 rows/s`."""
    elapsed_s = max(elapsed_ms / 1000, SHORTEST_S)
    return f"{elapsed_s:.1f} s, {items / elapsed_s:,.0f} {unit}/s"


@contextmanager
def show_progress(label: str, unit: str, *, piped: bool = True) -> Iterator[ReportProgress]:
    """Show progress on standard error: a bar with rate and remaining time on a terminal, otherwise a line at times.

    With `piped=False` there is only the bar, for verbs that print lines of their own.
    """
    if not sys.stderr.isatty():
        yield _line_reporter(label, unit) if piped else lambda done, total: None
        return
    from api.cli.progress_bar import make_bar

    bar = make_bar(unit)
    task = bar.add_task(label, total=0)
    began_s = time.monotonic()
    is_shown = False

    def report(done: int, total: int) -> None:
        nonlocal is_shown
        bar.update(task, completed=done, total=total)
        if not is_shown and time.monotonic() - began_s > PROGRESS_DELAY_S:
            bar.start()
            is_shown = True

    try:
        yield report
    finally:
        if is_shown:
            bar.stop()


def _line_reporter(label: str, unit: str) -> ReportProgress:
    """Return a reporter that prints a plain line every LINE_INTERVAL_S."""
    began_s = printed_s = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal printed_s
        now_s = time.monotonic()
        if now_s - printed_s < LINE_INTERVAL_S:
            return
        printed_s = now_s
        share = f" of {total:,} {unit} ({done / total:.0%})" if total else f" {unit}"
        print_note(f"{label}: {done:,}{share}, {format_rate(done / (now_s - began_s), unit) or 'waiting'}")
        sys.stderr.flush()

    return report
