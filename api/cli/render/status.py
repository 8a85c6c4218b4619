"""Print the status of a ledger."""

from collections.abc import Iterator

from api.cli.output import make_table, open_console, truncate
from api.service.status import CheckpointStatus, LedgerStatus
from api.text import count, many, moment, one_line

AGENTS_MAX = 10
"""Agents that are listed. The rest is counted."""

SPANS_S = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def print_status(found: LedgerStatus, name: str) -> None:
    """Print one line for each fact, and a table of agents."""
    console = open_console()
    console.print(name, style="bold", soft_wrap=True)
    shown = make_table("", "", wrap=("",))
    shown.show_header = False
    for label, text in _facts(found):
        shown.add_row(label, text)
    console.print(shown)
    if found.agents:
        agents = make_table("agent", "decisions", "reviewed", right=("decisions", "reviewed"), wrap=("agent",))
        for agent in found.agents[:AGENTS_MAX]:
            agents.add_row(truncate(one_line(agent.agent)), count(agent.decisions), count(agent.reviewed))
        console.print()
        console.print(agents)
    if len(found.agents) > AGENTS_MAX:
        console.print(f"and {many(len(found.agents) - AGENTS_MAX, 'more agent')}; --json prints all.")


def _facts(found: LedgerStatus) -> Iterator[tuple[str, str]]:
    if found.writer is None:
        yield "written by", "no process"
    else:
        address = f" at {found.writer.address}" if found.writer.address is not None else ""
        yield "written by", f"process {found.writer.pid}{address}"
    last = f", the last recorded {moment(found.head.time)} UTC" if found.head.time is not None else ""
    yield "events", f"{count(found.head.position)}{last}"
    yield "decisions", f"{count(found.decisions)}, {count(found.reviewed)} of them reviewed"
    registered = f"{count(found.models_registered)} registered"
    yield "discovery", f"{many(found.runs, 'run')}, {many(found.models, 'model')} seen, {registered}"
    yield "evaluations", count(found.evaluations)
    yield "evidence", many(found.evidence, "piece")
    yield "checkpoint", _checkpoint(found.checkpoint, found.head.position)
    disk = found.disk
    total = disk.log_bytes + disk.evidence_bytes + disk.views_bytes
    parts = f"log {_size(disk.log_bytes)}, evidence {_size(disk.evidence_bytes)}, views {_size(disk.views_bytes)}"
    yield "on disk", f"{_size(total)} ({parts})"
    yield "tokens", _tokens(found)
    behind = found.views.behind
    yield "views", "up to date" if behind == 0 else f"{many(behind, 'event')} not folded yet"


def _checkpoint(found: CheckpointStatus | None, events: int) -> str:
    if found is None:
        return "none: nothing is signed yet"
    later = f", {many(events - found.size, 'later event')}" if events > found.size else ""
    verdict = "valid" if found.valid else f"NOT VALID: {found.reason}"
    return f"of {many(found.size, 'event')}{later}, signed {_span(found.age_s)} ago as {found.origin}: {verdict}"


def _tokens(found: LedgerStatus) -> str:
    if not found.tokens.required:
        return "none: every local user may do everything"
    expired = f", {count(found.tokens.expired)} of them expired" if found.tokens.expired else ""
    return f"{count(found.tokens.count)}{expired}"


def _span(seconds: int) -> str:
    """Return a time span in its largest unit: `3 hours`."""
    for unit, length_s in SPANS_S:
        if seconds >= length_s:
            return many(seconds // length_s, unit)
    return "0 seconds"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:,.0f} kB"
