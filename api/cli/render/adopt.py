"""Print what was found in what people have already."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from api.cli.output import make_table, open_console, print_note
from api.cli.table import FittedTable
from api.importers.adopt.git_changes import GitPreview, RepositoryChanges
from api.importers.adopt.pull_requests import RecordedRequests, RequestPreview
from api.text_format import format_count, format_figure, format_interval, format_time, one_line, pluralize
from tallystick.shapes.changes import (
    ChangeOutcomes,
    ChangesAnswer,
    KeptShares,
    RepositoryOutcomes,
    RepositoryRequests,
    RequestOutcomes,
)

AGENTS_MAX = 20
"""Agents that are printed; --json has all."""

ID_CHARS = 12
"""Characters of the id of a change."""


def print_git_preview(preview: GitPreview) -> None:
    """Print the figures of each repository, and the repositories that could not be read."""
    console = open_console()
    for repository in preview.repositories:
        _print_repository(console, repository)
        console.print()
    for fault in preview.faults:
        print_note(f"error: {fault.detail} {fault.advice}")
    if preview.recorded is not None:
        recorded = preview.recorded
        new = f"{pluralize(recorded.changes, 'change')}, {pluralize(recorded.outcomes, 'outcome')}"
        gone = f", {pluralize(recorded.gone, 'change')} that history no longer has" if recorded.gone else ""
        unchanged = f"; {recorded.unchanged:,} unchanged" if recorded.unchanged else ""
        console.print(f"Recorded: {new}{gone}{unchanged}.", soft_wrap=True)


def print_recorded_changes(answer: ChangesAnswer) -> None:
    """Print the figures of each repository that was recorded."""
    console = open_console()
    if not answer.repositories and not answer.requests:
        print_note("No change was recorded: tallystick adopt git --record")
    for repository in answer.repositories:
        gone = pluralize(repository.gone, "change")
        caveats = [f"{gone} that history no longer has: left out."] if repository.gone else []
        _print_figures(console, f"Repository {repository.repository}", repository, caveats)
        console.print()
    for found in answer.requests:
        _print_requests(console, f"Repository {found.repository}: ", found, ())
        console.print()


def _print_repository(console: Console, repository: RepositoryChanges) -> None:
    _print_figures(console, _from_here(repository.path), repository, repository.caveats)


def _print_figures(
    console: Console, name: str, repository: RepositoryChanges | RepositoryOutcomes, caveats: Iterable[str]
) -> None:
    since = "" if repository.since is None else f" since {repository.since:%Y-%m-%d}"
    landed = pluralize(repository.landed, "change")
    console.print(f"{one_line(name)}: {landed} landed{since}", style="bold", soft_wrap=True)
    agents = repository.agents[:AGENTS_MAX]
    if agents:
        console.print(_outcome_table(agents))
        for line in _remarks(agents):
            console.print(line, soft_wrap=True)
        if any(figures.lines_alive for figures in agents):
            console.print()
            console.print("Lines of code that still exist some days after their change landed", style="cyan")
            console.print(_line_table(agents))
    if len(repository.agents) > AGENTS_MAX:
        console.print(f"{pluralize(len(repository.agents) - AGENTS_MAX, 'more agent')}: --json has all.", style="dim")
    for caveat in caveats:
        console.print(caveat, style="dim", soft_wrap=True)
    through = f"{format_time(repository.seen_through)} UTC, {repository.head[:ID_CHARS]}"
    console.print(f"Seen through the newest change, {through}.", style="dim")


def _from_here(path: str) -> str:
    """Return a path from the working directory, if it is below that."""
    here = Path.cwd().resolve()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) and Path(path) != here else path


def _outcome_table(agents: Sequence[ChangeOutcomes]) -> FittedTable:
    numbers = ("landed", "with code", "of", "kept", "estimate", "reverted", "fixed", "pending")
    table = make_table(
        "agent", "landed", "with code", "kept", "of", "95% interval", "reverted", "fixed", "pending", "estimate",
        right=numbers, wrap=("agent",), drop=("estimate", "with code"),
    )  # fmt: skip
    for figures in agents:
        matured, estimated = figures.matured, figures.estimated
        table.add_row(
            one_line(figures.agent),
            format_count(figures.landed),
            format_count(figures.with_code),
            *_shares(matured),
            format_count(figures.pending),
            "-" if estimated is None or estimated.kept.interval is None else format_figure(estimated.kept.rate),
        )
    return table


def _shares(matured: KeptShares | None) -> Sequence[str]:
    if matured is None:
        return "-", "0", "-", "-", "-"
    return (
        format_figure(matured.kept.rate),
        format_count(matured.kept.n),
        format_interval(matured.kept.interval),
        format_count(matured.reverted.count),
        format_count(matured.fixed.count),
    )


def _line_table(agents: Iterable[ChangeOutcomes]) -> FittedTable:
    days = [alive.days for figures in agents for alive in figures.lines_alive]
    columns = {day: f"day {day}" for day in sorted(set(days))}
    table = make_table("agent", "lines", *columns.values(), right=("lines", *columns.values()), wrap=("agent",))
    for figures in agents:
        rates = {alive.days: format_figure(alive.rate) for alive in figures.lines_alive}
        if rates:
            lines = format_count(figures.lines_alive[0].lines)
            table.add_row(one_line(figures.agent), lines, *(rates.get(day, "-") for day in columns))
    return table


def _remarks(agents: Iterable[ChangeOutcomes]) -> Iterable[str]:
    for figures in agents:
        name = one_line(figures.agent)
        if figures.recognised_by:
            models = f"; models: {_counts(figures.models)}" if figures.models else ""
            yield f"{name}: recognised by {_counts(figures.recognised_by)}{models}."
        if figures.too_large:
            yield f"{name}: {pluralize(figures.too_large, 'change')} of over 3,000 lines left out."
        if figures.matured is None and figures.with_code:
            yield f"{name}: {_so_far(figures)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{one_line(name)} {count:,}" for name, count in counts.items())


def _so_far(figures: ChangeOutcomes) -> str:
    text = "No change has completed its 14 days: no rate yet."
    if figures.first_due is not None:
        text += f" First due {figures.first_due:%Y-%m-%d}."
    if figures.so_far is not None:
        kept = figures.so_far.kept
        text += (
            f" Of the {kept.n:,} that are at least {pluralize(figures.so_far.days, 'day')} old, {kept.count:,} were "
            f"kept for so long ({format_figure(kept.rate)}, {format_interval(kept.interval)})."
        )
    return f"{text} Failed so far: {figures.failed_early:,}. Pending: {figures.pending:,}."


def print_request_preview(preview: RequestPreview) -> None:
    """Print the figures of requests, and of the changes that they landed."""
    console = open_console()
    _print_requests(console, "", preview, preview.caveats)
    for repository in preview.repositories:
        console.print()
        _print_repository(console, repository)
    if preview.recorded is not None:
        for line in _recorded_requests(preview.recorded):
            console.print(line, soft_wrap=True)


def _print_requests(
    console: Console, name: str, found: RequestPreview | RepositoryRequests, caveats: Iterable[str]
) -> None:
    console.print(f"{name}{pluralize(found.requests, 'pull request')}", style="bold")
    if found.agents:
        console.print(_request_table(found.agents))
        for figures in found.agents:
            marks = {kind: count for kind, count in figures.recognised_by.items() if kind != "stated"}
            known = (("recognised by", marks), ("reviews", figures.reviews), ("checks", figures.checks))
            parts = [f"{label} {_counts(counts)}" for label, counts in known if counts]
            if parts:
                console.print(f"{one_line(figures.agent)}: {'; '.join(parts)}.", soft_wrap=True)
    for caveat in caveats:
        console.print(caveat, style="dim", soft_wrap=True)
    console.print(f"Seen through {format_time(found.seen_through)} UTC.", style="dim")


def _recorded_requests(recorded: RecordedRequests) -> Iterator[str]:
    yield f"Recorded: {pluralize(recorded.requests, 'request')}, {pluralize(recorded.outcomes, 'outcome')}."
    if recorded.without_number:
        yield f"Not recorded: {pluralize(recorded.without_number, 'request')} without a number."
    if recorded.missing:
        missing = pluralize(recorded.missing, "request")
        yield f"The lists lack {missing} of the ledger: what they do not show is not known."
    elif not recorded.is_whole and recorded.without_number < recorded.listed:
        listed = pluralize(recorded.listed, "request")
        yield f"{listed} may be one page of several: if these are all, say when they were listed with --seen-through."


def _request_table(agents: Sequence[RequestOutcomes]) -> FittedTable:
    days = [merged.days for merged in agents[0].merged_by]
    shares = [name for day in days for name in (f"by day {day}", f"estimate {day}")]
    numbers = ("requests", "merged", "closed", "pending", *shares)
    table = make_table(
        "agent", "requests", "merged", "closed", "pending", *shares, "95% interval",
        right=numbers, wrap=("agent",), drop=shares[-3::-1],
    )  # fmt: skip
    for figures in agents:
        rates = []
        for merged in figures.merged_by:
            rates += ["-" if merged.matured is None else format_figure(merged.matured.rate)]
            rates += ["-" if merged.estimated is None else format_figure(merged.estimated.rate)]
        last = figures.merged_by[-1].estimated
        table.add_row(
            one_line(figures.agent),
            *map(format_count, (figures.requests, figures.merged, figures.closed, figures.pending)),
            *rates,
            format_interval(None if last is None else last.interval),
        )
    return table
