"""Print the status of a ledger."""

from collections.abc import Iterator

from msgspec import UNSET

from api.cli.output import make_facts, open_console, table_of
from api.service.status import CheckpointStatus, LedgerStatus
from api.text_format import (
    format_count,
    format_time,
    pluralize,
)

AGENTS_MAX = 10
"""Agents that are listed. Of the others, only the number is printed."""

SPANS_S = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def print_status(status: LedgerStatus, name: str, *, shared: bool = False) -> None:
    """Print one line for each fact, and a table of agents. Any process may write a `shared` ledger."""
    console = open_console()
    console.print(name, style="bold", soft_wrap=True)
    console.print(make_facts(_facts(status, shared=shared)))
    if status.agents:
        agents = table_of(
            status.agents[:AGENTS_MAX],
            {"agent": "agent", "decisions": "decisions", "reviewed": "reviewed"},
            right=("decisions", "reviewed"), wrap=("agent",),
        )  # fmt: skip
        console.print()
        console.print(agents)
    if len(status.agents) > AGENTS_MAX:
        console.print(f"and {pluralize(len(status.agents) - AGENTS_MAX, 'more agent')}; --json prints all.")


def _facts(status: LedgerStatus, *, shared: bool) -> Iterator[tuple[str, str]]:
    if shared:
        yield "written by", "any process that may write the database"
    elif status.writer is None:
        yield "written by", "no process"
    else:
        address = f" at {status.writer.address}" if status.writer.address is not None else ""
        yield "written by", f"process {status.writer.pid}{address}"
    if status.durability is not UNSET:
        yield "durability", f"{status.durability} promised"
    last = f", the last recorded {format_time(status.head.time)} UTC" if status.head.time is not None else ""
    yield "events", f"{format_count(status.head.position)}{last}"
    retracted = "" if status.retracted is UNSET else f"; {format_count(status.retracted)} more retracted"
    yield "decisions", f"{format_count(status.decisions)}, {format_count(status.reviewed)} of them reviewed{retracted}"
    registered = f"{format_count(status.models_registered)} registered"
    yield (
        "discovery",
        f"{pluralize(status.runs, 'run')}, {pluralize(status.models, 'model')} seen, {registered}",
    )
    yield "evaluations", format_count(status.evaluations)
    yield "evidence", pluralize(status.evidence, "piece")
    yield "checkpoint", _checkpoint(status.checkpoint, status.head.position)
    disk = status.disk
    total = disk.log_bytes + disk.evidence_bytes + disk.views_bytes
    parts = f"log {_size(disk.log_bytes)}, evidence {_size(disk.evidence_bytes)}, views {_size(disk.views_bytes)}"
    yield "on disk", f"{_size(total)} ({parts})"
    yield "tokens", _tokens(status)
    behind = status.views.behind
    yield "views", "up to date" if behind == 0 else f"{pluralize(behind, 'event')} not folded yet"


def _checkpoint(checkpoint: CheckpointStatus | None, events: int) -> str:
    if checkpoint is None:
        return "none: nothing is signed yet"
    later = f", {pluralize(events - checkpoint.size, 'later event')}" if events > checkpoint.size else ""
    verdict = "valid" if checkpoint.valid else f"NOT VALID: {checkpoint.reason}"
    signed = f"signed {_span(checkpoint.age_s)} ago as {checkpoint.origin}"
    return f"of {pluralize(checkpoint.size, 'event')}{later}, {signed}: {verdict}"


def _tokens(status: LedgerStatus) -> str:
    if not status.tokens.required:
        return "none: every local user may do everything"
    expired = f", {format_count(status.tokens.expired)} of them expired" if status.tokens.expired else ""
    return f"{format_count(status.tokens.count)}{expired}"


def _span(seconds: int) -> str:
    """Return a time span in its largest unit: `3 hours`."""
    for unit, length_s in SPANS_S:
        if seconds >= length_s:
            return pluralize(seconds // length_s, unit)
    return "0 seconds"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:,.0f} kB"
