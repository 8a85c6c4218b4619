"""Print the scoreboard."""

from rich.console import Console

from api.cli.output import make_table, open_console
from api.cli.render.calibration import format_as_of
from api.cli.render.usage import print_usage_table
from api.reports.escape import one_line
from api.reports.format import (
    DASH,
    bracketed,
    pass_of,
    point_interval,
    points,
    rate,
)
from api.reports.judge_text import corrected_cell
from api.reports.report import BASELINES
from api.service.evaluation.queries import ScoreboardAnswer
from api.text_format import format_count, pluralize
from projections.evaluation.view_types import ScoreboardRow, SuiteScoreboard

NAMED_MAX = 10
"""Regressed scenarios of a version that are named. Of the others, only the number is printed."""


def print_scoreboard(board: ScoreboardAnswer, *, filtered: bool = False) -> None:
    """Print each suite: versions of agents, the best first, and the scenarios each lost since its previous version.

    `filtered` says that options selected suites or agents.
    """
    console = open_console()
    if not board.suites:
        no_match = "No evaluation matches. List all: tallystick eval list"
        console.print(no_match if filtered else "No evaluation yet: tallystick eval run FIXTURES")
    for suite in board.suites:
        _print_suite(console, suite)
    console.print(format_as_of(board.as_of), style="dim")


def _print_suite(console: Console, suite: SuiteScoreboard) -> None:
    scorer = " ".join(filter(None, (suite.scorer_id, suite.scorer_version)))
    scored_by = f", scored by {one_line(scorer)}" if scorer else ""
    console.print(
        f"{one_line(suite.suite)}: {pluralize(suite.scenarios, 'scenario')}{scored_by}", style="bold", soft_wrap=True
    )
    change = "since the one before"
    numbers: tuple[str, ...] = (
        "mean",
        "its interval",
        "pass rate",
        "errors",
        "stable",
        "flaky",
        "failing",
        "runs",
        change,
    )
    stated = any(row.stated is not None for row in suite.rows)
    judged = any(row.corrected is not None for row in suite.rows)
    numbers += ("corrected pass rate",) if judged else ()
    numbers += ("stated", "right minus stated") if stated else ()
    several = any(row.pass_of for row in suite.rows)
    numbers += ("several attempts",) if several else ()
    name = "model" if any(row.model is not None for row in suite.rows) else "agent"
    table = make_table(
        name, "version", *numbers, right=numbers, wrap=(name, "version"),
        drop=("several attempts", "runs", "failing", "flaky", "stable", "errors", "pass rate", "its interval"),
    )  # fmt: skip
    for row in suite.rows:
        counts = (row.errors, row.stable, row.flaky, row.failing + row.broken, row.runs)
        table.add_row(
            _agent(row),
            one_line(row.agent_version or DASH),
            points(row.mean),
            point_interval(row.mean_interval) or DASH,
            rate(row.pass_rate),
            *map(format_count, counts),
            f"{points(row.difference, '+')}{bracketed(point_interval(row.difference_interval, '+'))}",
            *((corrected_cell(row.corrected),) if judged else ()),
            *(_stated(row) if stated else ()),
            *((pass_of(row.pass_of) or DASH,) if several else ()),
        )
    console.print(table)
    if suite.left_out:
        console.print(f"and {pluralize(suite.left_out, 'older version')}: --versions", style="dim")
    versions = [((_agent(row), one_line(row.agent_version or DASH)), row.usage) for row in suite.rows]
    print_usage_table(console, (name, "version"), versions)
    for row in suite.rows:
        _print_lost(console, row)
    console.print()


def _stated(row: ScoreboardRow) -> tuple[str, str]:
    """Return the mean stated confidence and the gap to it, in per cent, with its interval."""
    if (stated := row.stated) is None:
        return DASH, DASH
    interval = stated.gap_interval
    shown = "" if interval is None else f" ({interval.low:+.0%} to {interval.high:+.0%})"
    return f"{stated.mean_confidence:.0%} of {format_count(stated.n)}", f"{stated.gap:+.0%}{shown}"


def _agent(row: ScoreboardRow) -> str:
    if row.baseline is not None:
        return BASELINES[row.baseline]
    return one_line(row.agent or row.model or "unnamed")


def _print_lost(console: Console, row: ScoreboardRow) -> None:
    version = f"{_agent(row)} {one_line(row.agent_version or DASH)}"
    if row.regressed:
        scenarios = ", ".join(row.regressed[:NAMED_MAX])
        more = f" and {len(row.regressed) - NAMED_MAX:,} more" if len(row.regressed) > NAMED_MAX else ""
        before = f" since {one_line(row.previous_version)}" if row.previous_version is not None else ""
        console.print(f"! {version} lost{before}: {scenarios}{more}", style="yellow", soft_wrap=True)
    if row.recorded_by:
        console.print(f"{version}: recorded by {one_line(', '.join(row.recorded_by))}.", style="dim", soft_wrap=True)
    if row.superseded:
        left_out = f"{pluralize(row.superseded, 'score')} left out: the scenario or the scorer has changed since"
        console.print(f"{version}: {left_out}.", style="dim", soft_wrap=True)
