"""Print what was found of a ledger in a database."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from api.cli.output import make_facts, open_console
from api.text_format import format_count, one_line, pluralize

if TYPE_CHECKING:
    from ledger.postgres.check import DatabaseReport


def print_report(report: "DatabaseReport") -> None:
    """Print one line for each fact, then every problem and warning."""
    console = open_console()
    console.print(report.ledger, style="bold", soft_wrap=True)
    console.print(make_facts(_facts(report)))
    for label, texts in (("problem", report.problems), ("warning", report.warnings)):
        for text in texts:
            typer.echo(f"{label:<8} {one_line(text)}")


def _facts(report: "DatabaseReport") -> Iterator[tuple[str, str]]:
    yield "opens", _yes(report.opens)
    yield "primary", f"{report.primary}, PostgreSQL {report.version}"
    yield "durability", f"{report.promised} promised, {report.found or 'none'} found"
    yield "fsync", _on(report.fsync)
    yield "full_page_writes", _on(report.full_page_writes)
    yield "synchronous_standby_names", report.synchronous_standby_names or "empty: no commit waits for a standby"
    yield "standbys that stream", _standbys(report.streaming)
    yield "clock", _clock(report.clock_apart_ms)
    if report.head is not None and report.tiles is not None:
        yield "events", f"{format_count(report.head)}, {pluralize(report.tiles, 'tile')}"
    yield "role", f"{report.role}{', a superuser' if report.superuser else ''}"
    yield "may append", _yes(report.may_append)
    yield "may change events", _yes(report.may_change)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _on(value: bool) -> str:
    return "on" if value else "off"


def _standbys(streaming: int | None) -> str:
    return "not visible for this role: grant it pg_monitor" if streaming is None else format_count(streaming)


def _clock(apart_ms: int) -> str:
    return f"{abs(apart_ms) / 1000:,.3f} s {'later' if apart_ms > 0 else 'earlier'} than on this machine"
