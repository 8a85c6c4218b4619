"""Print what sessions of coding agents did."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from api.cli.output import make_table, open_console, print_note
from api.cli.render.adopt import print_git_preview
from api.cli.table import FittedTable
from api.text_format import format_count, one_line, pluralize
from tallystick.shapes.sessions import ModelAnswers, ProgramSessions, SessionsAnswer, ToolCalls

if TYPE_CHECKING:
    from api.importers.adopt.overview import AdoptPreview
    from api.importers.adopt.sessions import RecordedSessions, SessionsPreview

TOOLS_MAX = 10
"""Tools that are printed; --json has all."""

NOTHING = "No session of a coding agent is here. Name a folder with some: tallystick adopt sessions DIR"


CALIBRATION = """\
To see whether an agent knows how sure it may be, let it record decisions with a confidence:
  Claude Code  claude mcp add tallystick -- tallystick --ledger "$PWD/agents.db" mcp
  Codex        codex mcp add tallystick -- tallystick --ledger "$PWD/agents.db" mcp
  any other    a client of MCP runs: tallystick --ledger FILE mcp"""
"""How the first confidence comes into a ledger."""


def print_overview(preview: "AdoptPreview") -> None:
    """Print what is in repositories, then what is in sessions, then how to get calibration."""
    if not preview.git.repositories:
        print_note("No git repository is here. Name a folder with some: tallystick adopt PATH")
    print_git_preview(preview.git)
    print_sessions(preview.sessions)
    open_console().print(f"\n{CALIBRATION}", soft_wrap=True)


def print_sessions(preview: "SessionsPreview") -> None:
    """Print the figures of each program, and what limits them."""
    console = open_console()
    if not preview.programs:
        print_note(NOTHING)
    for fault in preview.faults:
        print_note(f"error: {fault.detail} {fault.advice}")
    _print_figures(console, preview)
    if preview.programs:
        read = f"{pluralize(preview.files, 'file')}, {pluralize(preview.lines, 'line')}"
        console.print(f"Read: {read}, {format_count(preview.repaired)} repaired.", style="dim")
    if preview.recorded is not None:
        _print_new(console, preview.recorded)


def print_recorded(answer: SessionsAnswer) -> None:
    """Print the figures of each program that was recorded, and what limits them."""
    if not answer.programs:
        print_note("No session was recorded: tallystick adopt sessions --record")
    _print_figures(open_console(), answer)


def _print_figures(console: Console, found: "SessionsPreview | SessionsAnswer") -> None:
    for program in found.programs:
        _print_program(console, program)
        console.print()
    if found.programs:
        console.print(found.coverage, soft_wrap=True)
        for caveat in found.caveats:
            console.print(caveat, style="dim", soft_wrap=True)


def _print_new(console: Console, recorded: "RecordedSessions") -> None:
    new = ", ".join(
        pluralize(count, noun)
        for count, noun in (
            (recorded.sessions, "session"),
            (recorded.answers, "answer"),
            (recorded.calls, "call"),
            (recorded.decisions, "decision"),
        )
        if count or noun != "decision"
    )
    unchanged = f"; {pluralize(recorded.unchanged, 'session')} unchanged" if recorded.unchanged else ""
    console.print(f"Recorded: {new}, {recorded.evidence_bytes / 1e6:,.1f} MB of evidence{unchanged}.", soft_wrap=True)
    for secret in recorded.secrets:
        found = f"{secret.kind} ({secret.number:,}) in {one_line(secret.file)}"
        erase = f'tallystick evidence erase {secret.evidence} --reason "it has a secret"'
        print_note(f"warning: {found}. Replace it where it is used. To erase the evidence: {erase}")
    if recorded.erased:
        erased = f"{pluralize(recorded.erased, 'session')}: the evidence is erased, or that of a session it copied."
        console.print(f"Not read again: {erased}", style="dim", soft_wrap=True)
    if recorded.differing:
        differing = f"{recorded.differing:,} answers or calls are read in another way now: they stay as recorded."
        console.print(differing, style="dim", soft_wrap=True)
    if recorded.unfinished:
        later = f"Answers and calls that may still change, to be recorded later: {recorded.unfinished:,}."
        console.print(later, style="dim", soft_wrap=True)


def _print_program(console: Console, program: ProgramSessions) -> None:
    times = ""
    if program.first is not None and program.last is not None:
        times = f" from {program.first:%Y-%m-%d} to {program.last:%Y-%m-%d}"
    sessions = pluralize(program.sessions, "session")
    console.print(f"{program.program}: {sessions}{times}", style="bold", soft_wrap=True)
    counts = {
        "headless": program.headless, "files of sub-agents": program.subagents, "prompts": program.prompts,
        "interrupted by a person": program.interruptions, "errors of the provider": program.api_errors,
        "models changed": program.model_changes, "histories shortened": program.compactions,
        "pull requests": program.pull_requests, "commits": program.commits,
    }  # fmt: skip
    console.print("; ".join(f"{name} {count:,}" for name, count in counts.items() if count), soft_wrap=True)
    if program.models:
        console.print(model_table(program.models))
    for line in _changes(program):
        console.print(line, soft_wrap=True)
    if program.tools:
        console.print(_tool_table(program.tools[:TOOLS_MAX]))
    if len(program.tools) > TOOLS_MAX:
        console.print(f"{pluralize(len(program.tools) - TOOLS_MAX, 'more tool')}: --json has all.", style="dim")
    if program.denials:
        who = ", ".join(f"{one.by} {one.calls:,} ({one.basis})" for one in program.denials)
        console.print(f"Denied by: {who}.", soft_wrap=True)


def _changes(program: ProgramSessions) -> Iterator[str]:
    """Yield what changed of the served models."""
    found = {
        name: sum(getattr(model.switches, name) for model in program.models)
        for name in ("announced", "explained", "unexplained")
    }
    if any(found.values()):
        counts = ", ".join(f"{name} {count:,}" for name, count in found.items() if count)
        yield f"Another model answered than before: {counts}."
    for change in program.mix_changes:
        mixes = (_mix(change.before), _mix(change.since))
        yield f"The mix of served models changed about {change.first[:10]}: {mixes[0]} before, {mixes[1]} since."


def _mix(sessions: Mapping[str, int]) -> str:
    """Format the models that answered most of each session."""
    total = sum(sessions.values())
    return ", ".join(f"{one_line(name)} {count / total:.0%}" for name, count in sessions.items())


def model_table(models: Sequence[ModelAnswers]) -> FittedTable:
    """Return a table of the models that answered in sessions."""
    numbers = ("answers", "share (95%)", "input", "from cache", "to cache", "output")
    table = make_table(
        "served", "requested", *numbers,
        right=numbers, wrap=("served", "requested"), drop=("to cache", "from cache", "input"),
    )  # fmt: skip
    for model in models:
        tokens = model.tokens
        table.add_row(
            one_line(model.served),
            one_line(model.requested),
            format_count(model.answers),
            f"{model.share:.0%} ({100 * model.interval.low:.0f}-{100 * model.interval.high:.0f})",
            *map(format_count, (tokens.input, tokens.cache_read, tokens.cache_write, tokens.output)),
        )
    return table


def _tool_table(tools: Sequence[ToolCalls]) -> FittedTable:
    numbers = ("calls", "failed", "denied", "interrupted", "no result")
    table = make_table("tool", *numbers, right=numbers, wrap=("tool",), drop=("no result", "interrupted"))
    for tool in tools:
        counts = (tool.calls, tool.failed, tool.denied, tool.interrupted, tool.without_result)
        table.add_row(one_line(tool.tool), *map(format_count, counts))
    return table
